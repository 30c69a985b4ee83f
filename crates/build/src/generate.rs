//! From a descriptor set to the text of the generated file. Touches nothing outside of its arguments.

use std::collections::HashMap;

use prost_types::FileDescriptorProto;

use crate::backend;
use crate::config::{GeneratedFile, Options};
use crate::descriptor::{Input, is_well_known};
use crate::error::Result;
use crate::service::{self, TakenNames};
use crate::tree::{self, Module};

/// What a run gives.
pub(crate) struct Output {
    pub(crate) files: Vec<GeneratedFile>,
    pub(crate) warnings: Vec<String>,
    /// The descriptor set as embedded: with imports, without source info.
    pub(crate) descriptor_set: Vec<u8>,
}

/// `descriptor_set` is an encoded `google.protobuf.FileDescriptorSet` with all imports.
pub(crate) fn generate(descriptor_set: &[u8], options: &Options) -> Result<Output> {
    let input = Input::decode(descriptor_set)?;
    let messages = backend::generate(&input, options)?;

    let mut root = Module::default();
    root.push(head(&input, options));
    for package in messages.packages {
        root.at(&package.module).push(package.items);
    }
    // Two packages can share a module (prost changes their case), so names are taken by module.
    let mut taken: HashMap<Vec<String>, TakenNames> = HashMap::new();
    for (index, file) in input.renamed.files.iter().enumerate() {
        if is_well_known(file) || backend::is_extern(file.package(), options) || file.service.is_empty() {
            continue;
        }
        let path = messages.types.module(file.package());
        let module = root.at(&path);
        let taken = taken.entry(path).or_insert_with(|| module.type_names());
        for service in service::services(&input, index, &messages.types, taken)? {
            module.push(service::items(&service, options)?);
        }
    }

    let text = tree::formatted(root.into_items()?);
    let sources: Vec<&str> =
        input.files.iter().filter(|file| !is_well_known(file)).map(FileDescriptorProto::name).collect();
    let content = format!(
        "// Made by peregrine-build from {}. Do not edit: change the protos.\n\n{text}",
        sources.join(", ")
    );
    let file = GeneratedFile { name: format!("{}.rs", options.name), content };
    Ok(Output { files: vec![file], warnings: messages.warnings, descriptor_set: input.stripped })
}

/// The version check and the descriptors for reflection.
fn head(input: &Input, options: &Options) -> Vec<syn::Item> {
    const MAJOR: &str = env!("CARGO_PKG_VERSION_MAJOR");
    const MINOR: &str = env!("CARGO_PKG_VERSION_MINOR");

    let rt = &options.runtime;
    let (major, minor) = (syn::LitInt::new(MAJOR, span()), syn::LitInt::new(MINOR, span()));
    let set = syn::LitByteStr::new(&input.stripped, span());
    let file: syn::File = syn::parse_quote! {
        const _: () = #rt::assert_generated_version(#major, #minor);

        /// The descriptors of every file and its imports: an encoded `google.protobuf.FileDescriptorSet`, as reflection
        /// serves it.
        pub const FILE_DESCRIPTOR_SET: &[::core::primitive::u8] = #set;
    };
    file.items
}

fn span() -> proc_macro2::Span {
    proc_macro2::Span::call_site()
}
