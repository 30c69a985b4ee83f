//! From a descriptor set to the text of the generated file. Touches nothing outside of its arguments.

use prost_types::FileDescriptorProto;

use crate::backend::{self, RustNames};
use crate::config::{GeneratedFile, Options};
use crate::descriptor::{Input, is_well_known};
use crate::error::{Error, Result};
use crate::service;
use crate::tree::{self, Parts};
use crate::verbatim::Verbatim;

/// What a run gives.
pub(crate) struct Output {
    pub(crate) files: Vec<GeneratedFile>,
    pub(crate) warnings: Vec<String>,
    /// The descriptor set as embedded: with imports, without source info.
    pub(crate) descriptor_set: Vec<u8>,
}

/// What one module is made of.
#[derive(Default)]
struct Part {
    /// The version check and the descriptors, or the well-known types.
    items: Vec<syn::Item>,
    /// Messages as the codec's generator wrote them. Two packages can share a module (prost changes their case).
    texts: Vec<String>,
    /// Indices of the files with services.
    files: Vec<usize>,
}

/// `descriptor_set` is an encoded `google.protobuf.FileDescriptorSet` with all imports.
pub(crate) fn generate(descriptor_set: &[u8], options: &Options) -> Result<Output> {
    let input = Input::decode(descriptor_set)?;
    let options = &with_renamed_paths(options, &input);
    let mut verbatim = Verbatim::default();
    let messages = backend::generate(&input, options, &mut verbatim)?;
    let types = messages.types;

    let mut parts: Parts<Part> = Parts::new();
    parts.entry(Vec::new()).or_default().items = head(options);
    if let Some((path, items)) = backend::well_known_types(&input, options) {
        parts.entry(path).or_default().items = items;
    }
    for package in messages.packages {
        parts.entry(package.module).or_default().texts.push(package.text);
    }
    for (index, file) in input.renamed.files.iter().enumerate() {
        if !is_well_known(file) && !backend::is_extern(file.package(), options) && !file.service.is_empty() {
            parts.entry(types.module(file.package())).or_default().files.push(index);
        }
    }
    let mut unused = options.view_requests.clone();
    let mut fill = |_: &Vec<String>, part: Part, items: &mut Vec<syn::Item>| {
        fill(part, items, &input, &types, options, &mut unused)
    };
    let text = tree::written(parts, &mut fill, &verbatim)?;
    no_path_without_rpcs(&unused)?;

    let sources: Vec<&str> =
        input.files.iter().filter(|file| !is_well_known(file)).map(FileDescriptorProto::name).collect();
    let content = format!(
        "// Made by peregrine-build from {}. Do not edit: change the protos.\n\n{}",
        sources.join(", "),
        text.replacen(DESCRIPTORS, &byte_string(&input.stripped), 1)
    );
    let file = GeneratedFile { name: format!("{}.rs", options.name), content };
    Ok(Output { files: vec![file], warnings: messages.warnings, descriptor_set: input.stripped })
}

/// The options with paths into packages that are called otherwise in the input's renamed files.
fn with_renamed_paths(options: &Options, input: &Input) -> Options {
    let mut options = options.clone();
    for paths in [&mut options.extern_paths, &mut options.type_attributes, &mut options.field_attributes] {
        for (path, _) in paths.iter_mut() {
            *path = input.renamed.path(path);
        }
    }
    options
}

/// A path of `view_requests` that means nothing is a slip: its handlers would go on taking owned messages.
fn no_path_without_rpcs(unused: &[String]) -> Result {
    let Some(path) = unused.first() else { return Ok(()) };
    let path = path.trim_start_matches('.');
    Err(Error::new(format!("view_requests({path:?}) means no rpc of these protos"))
        .with_next("name a package, a service or an rpc as my.package.Service.Rpc"))
}

/// Adds what `part` is made of to the items that its module has already. Paths of `view_requests` that mean one of its
/// rpcs are taken out of `unused`.
fn fill(
    part: Part,
    items: &mut Vec<syn::Item>,
    input: &Input,
    types: &RustNames,
    options: &Options,
    unused: &mut Vec<String>,
) -> Result {
    items.extend(part.items);
    for text in part.texts {
        items.extend(backend::items(&text, input, options)?);
    }
    let mut taken = tree::type_names(items);
    for index in part.files {
        for service in service::services(input, index, types, &mut taken)? {
            unused.retain(|path| !service.methods.iter().any(|method| method.is_under(path)));
            items.extend(service::items(&service, options)?);
        }
    }
    Ok(())
}

/// Stands for the descriptors until the text is finished: megabytes that nobody needs to parse.
const DESCRIPTORS: &str = "b\"descriptors\"";

/// The version check and the descriptors for reflection.
fn head(options: &Options) -> Vec<syn::Item> {
    const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");
    const MINOR: &str = env!("CARGO_PKG_VERSION_MINOR");

    let rt = &options.runtime;
    let (major, minor) = (syn::LitInt::new(MAJOR, span()), syn::LitInt::new(MINOR, span()));
    let file: syn::File = syn::parse_quote! {
        const _: () = #rt::assert_generated_version(#major, #minor);

        /// The descriptors of every file and its imports: an encoded `google.protobuf.FileDescriptorSet`, as reflection
        /// serves it.
        pub const FILE_DESCRIPTOR_SET: &[::core::primitive::u8] = b"descriptors";
    };
    file.items
}

fn span() -> proc_macro2::Span {
    proc_macro2::Span::call_site()
}

/// `bytes` as a literal.
fn byte_string(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";

    let mut out = String::with_capacity(bytes.len() * 2);
    out.push_str("b\"");
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            // A digit behind `\0` would look like an octal escape.
            0 if !bytes.get(at + 1).is_some_and(|next| (b'0'..=b'7').contains(next)) => out.push_str("\\0"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(byte.into()),
            _ => {
                out.push_str("\\x");
                out.push(HEX[usize::from(byte >> 4)].into());
                out.push(HEX[usize::from(byte & 15)].into());
            }
        }
    }
    out.push('"');
    out
}
