//! Messages: what the codecs' own code generators make, fitted into our module tree.
//!
//! Each codec has its generator, and neither is ours. Both are run on the same descriptors. Their text comes out with
//! paths that lead through the facade ([`paths`]) and without its comments ([`Verbatim`]); [`items`] parses it. The
//! answer to "what is this message called in Rust" is kept for the services.

#[cfg(feature = "buffa")]
mod buffa;
#[cfg(feature = "buffa")]
mod paths;
#[cfg(feature = "prost")]
mod prost;

use std::collections::HashMap;

use crate::config::{Codec, Options};
use crate::descriptor::{Input, is_well_known};
use crate::error::{Error, Result};
use crate::verbatim::Verbatim;

/// Generated messages and enums.
pub(crate) struct Messages {
    /// One entry per proto package that has any.
    pub(crate) packages: Vec<Package>,
    /// What rpcs may name.
    pub(crate) types: RustNames,
    /// Complaints that do not stop the build.
    pub(crate) warnings: Vec<String>,
}

/// What one proto package holds.
pub(crate) struct Package {
    pub(crate) module: ModulePath,
    /// For [`items`].
    pub(crate) text: String,
}

/// Module names from the root of the output, as in source (`r#type`).
pub(crate) type ModulePath = Vec<String>;

/// How the generator for messages spells packages and the request and response types of rpcs.
#[derive(Default)]
pub(crate) struct RustNames {
    modules: HashMap<String, ModulePath>,
    /// By package of the service and full name (`.pkg.Message`) of the type.
    types: HashMap<(String, String), syn::Type>,
}

impl RustNames {
    /// The module of `package`, which must be one of the input's.
    pub(crate) fn module(&self, package: &str) -> ModulePath {
        self.modules.get(package).cloned().unwrap_or_default()
    }

    /// The type that a service in `package` names by `full_name`.
    pub(crate) fn rpc_type(&self, package: &str, full_name: &str) -> Result<&syn::Type> {
        let key = (package.to_owned(), full_name.to_owned());
        self.types.get(&key).ok_or_else(|| Error::new(format!("no Rust type is known for {full_name}")))
    }
}

/// Runs the generator of the chosen codec. Comments are kept back in `verbatim`.
pub(crate) fn generate(input: &Input, options: &Options, verbatim: &mut Verbatim) -> Result<Messages> {
    match options.codec {
        #[cfg(feature = "buffa")]
        Codec::Buffa => buffa::generate(input, options, verbatim),
        #[cfg(feature = "prost")]
        Codec::Prost => prost::generate(input, options, verbatim),
        #[cfg(not(all(feature = "buffa", feature = "prost")))]
        other => Err(Error::new(format!("this peregrine-build was made without the codec {other}"))
            .with_next(format!("add features = [\"{other}\"] to peregrine-build in Cargo.toml"))),
    }
}

/// The items in the text of a package, with the names of the original protos in them.
pub(crate) fn items(text: &str, input: &Input, options: &Options) -> Result<Vec<syn::Item>> {
    let codec = options.codec;
    let mut file = syn::parse_file(text)
        .map_err(|cause| Error::new(format!("{codec} generated text that is no Rust: {cause}")))?;
    if input.renamed.any() {
        let restore: fn(&mut syn::Item, &Input) = match codec {
            #[cfg(feature = "buffa")]
            Codec::Buffa => buffa::restore_names,
            #[cfg(feature = "prost")]
            Codec::Prost => prost::restore_names,
            #[cfg(not(all(feature = "buffa", feature = "prost")))]
            _ => |_, _| {},
        };
        file.items.iter_mut().for_each(|item| restore(item, input));
    }
    Ok(file.items)
}

/// Runs somebody else's generator. Its panics, which a strange but legal proto can cause, become errors.
fn guarded<T>(name: &str, generate: impl FnOnce() -> Result<T>) -> Result<T> {
    use std::panic;

    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(generate));
    panic::set_hook(hook);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
        Err(Error::new(format!("the code generator of {name} gave up: {text}")))
    })
}

/// Every pair of a package with a service and a type that its rpcs name, both after renaming.
#[cfg(feature = "buffa")]
fn rpc_type_names(input: &Input) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (file, renamed) in input.files.iter().zip(&input.renamed.files) {
        for method in file.service.iter().flat_map(|service| &service.method) {
            for full_name in [method.input_type(), method.output_type()] {
                names.push((renamed.package().to_owned(), input.renamed.of(full_name).to_owned()));
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The well-known types under their proto path, `google::protobuf::Timestamp`, so that users can name them. Only those
/// that the input imports something of.
pub(crate) fn well_known_types(input: &Input, options: &Options) -> Option<(ModulePath, Vec<syn::Item>)> {
    let rt = &options.runtime;
    let imports = |file: &str| input.files.iter().any(|imported| imported.name() == file);
    if is_extern("google.protobuf", options) || !input.files.iter().any(is_well_known) {
        return None;
    }
    let types: syn::Item = match options.codec {
        Codec::Buffa => syn::parse_quote!(pub use #rt::buffa_types::google::protobuf::*;),
        Codec::Prost => syn::parse_quote!(pub use #rt::prost_types::*;),
    };
    let mut items = vec![types];
    if options.codec == Codec::Buffa && imports("google/protobuf/descriptor.proto") {
        items.push(syn::parse_quote!(pub use #rt::buffa_descriptor::generated::descriptor::*;));
    }
    Some((["google", "protobuf"].map(str::to_owned).to_vec(), items))
}

/// Whether a mapping of `extern_path` covers everything in `package`.
pub(crate) fn is_extern(package: &str, options: &Options) -> bool {
    options.extern_paths.iter().any(|(proto, _)| {
        let proto = proto.trim_start_matches('.');
        !proto.is_empty()
            && (package == proto || package.strip_prefix(proto).is_some_and(|rest| rest.starts_with('.')))
    })
}
