//! Messages by buffa-codegen.

use buffa::DecodeOptions;
use buffa_codegen::context::CodeGenContext;
use buffa_codegen::generated::descriptor::{FileDescriptorProto, FileDescriptorSet};
use buffa_codegen::{BytesRepr, CodeGenConfig, GeneratedFileKind, idents};

use super::{Messages, Package, RustNames, guarded, is_extern, paths, rpc_type_names};
use crate::config::Options;
use crate::descriptor::{Input, is_well_known};
use crate::error::{Error, Result};

/// The crates that generated code names; the facade's hidden module holds all of them.
const CRATES: &[&str] = &["buffa", "buffa_types", "buffa_descriptor"];

pub(super) fn generate(input: &Input, options: &Options) -> Result<Messages> {
    guarded("buffa", || run(input, options))
}

fn run(input: &Input, options: &Options) -> Result<Messages> {
    let files = decoded(input)?;
    let config = config(options);
    let wanted: Vec<String> = input
        .renamed
        .files
        .iter()
        .filter(|file| !is_well_known(file) && !is_extern(file.package(), options))
        .map(|file| file.name().to_owned())
        .collect();
    let (generated, warnings) = buffa_codegen::generate_with_diagnostics(&files, &wanted, &config)
        .map_err(|cause| Error::new(format!("messages cannot be generated: {cause}")))?;

    let mut packages = Vec::new();
    for file in generated.iter().filter(|file| file.kind == GeneratedFileKind::PackageMod) {
        packages
            .push(Package { module: module(&file.package), items: items(&file.content, input, options)? });
    }
    let context = CodeGenContext::for_generate(&files, &wanted, &config);
    Ok(Messages {
        packages,
        types: rust_names(input, &context, options)?,
        warnings: warnings.iter().map(ToString::to_string).collect(),
    })
}

/// The descriptors in buffa's own types, decoded from the original bytes: prost's types, which everything else uses,
/// know nothing of editions and their features.
fn decoded(input: &Input) -> Result<Vec<FileDescriptorProto>> {
    // The caller's own schemas are no hostile input, however large they are.
    let options = DecodeOptions::new().with_element_memory_limit(usize::MAX);
    let mut set: FileDescriptorSet = options
        .decode_from_slice(&input.descriptor_set)
        .map_err(|cause| Error::new(format!("the descriptor set cannot be decoded: {cause}")))?;
    input.renamed.rename(&mut set.file);
    Ok(set.file)
}

fn config(options: &Options) -> CodeGenConfig {
    let mut config = CodeGenConfig::default();
    config.generate_views = options.views;
    config.preserve_unknown_fields = options.unknown_fields;
    config.bytes_fields = vec![(".".to_owned(), BytesRepr::Bytes)];
    // A registry for `Any` in JSON and text format, neither of which is generated here.
    config.emit_register_fn = false;
    config.file_per_package = true;
    config.extern_paths.clone_from(&options.extern_paths);
    config.type_attributes.clone_from(&options.type_attributes);
    config.field_attributes.clone_from(&options.field_attributes);
    config
}

fn module(package: &str) -> Vec<String> {
    package.split('.').filter(|part| !part.is_empty()).map(idents::escape_mod_ident).collect()
}

/// The text of one package as items whose paths lead through the facade, with proto names as the user wrote them.
fn items(text: &str, input: &Input, options: &Options) -> Result<Vec<syn::Item>> {
    let invalid = |cause: String| Error::new(format!("buffa generated text that is no Rust: {cause}"));
    let tokens = text.parse().map_err(|cause: proc_macro2::LexError| invalid(cause.to_string()))?;
    let tokens = paths::through_runtime(tokens, CRATES, &options.runtime);
    let mut file: syn::File = syn::parse2(tokens).map_err(|cause| invalid(cause.to_string()))?;
    let restore = |item: &mut syn::Item| restore_names(item, input);
    file.items.iter_mut().for_each(restore);
    Ok(file.items)
}

/// Puts the original proto name into the constants of a message that was renamed.
fn restore_names(item: &mut syn::Item, input: &Input) {
    match item {
        syn::Item::Mod(module) => {
            let items = module.content.iter_mut().flat_map(|(_, items)| items);
            items.for_each(|item| restore_names(item, input));
        }
        syn::Item::Impl(block) => block.items.iter_mut().for_each(|item| restore_constant(item, input)),
        _ => {}
    }
}

fn restore_constant(item: &mut syn::ImplItem, input: &Input) {
    const TYPE_URL: &str = "type.googleapis.com/";

    let syn::ImplItem::Const(constant) = item else { return };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &mut constant.expr else { return };
    let value = text.value();
    let (prefix, full_name) = match value.strip_prefix(TYPE_URL) {
        Some(rest) => (TYPE_URL, rest),
        None => ("", value.as_str()),
    };
    if constant.ident != "FULL_NAME" && constant.ident != "TYPE_URL" {
        return;
    }
    if let Some(original) = input.renamed.original(&format!(".{full_name}")) {
        *text = syn::LitStr::new(&format!("{prefix}{}", original.trim_start_matches('.')), text.span());
    }
}

fn rust_names(input: &Input, context: &CodeGenContext<'_>, options: &Options) -> Result<RustNames> {
    let mut names = RustNames::default();
    for file in &input.renamed.files {
        names.modules.insert(file.package().to_owned(), module(file.package()));
    }
    for (package, full_name) in rpc_type_names(input) {
        let path = context.rust_type_relative(&full_name, &package, 0).ok_or_else(|| unknown(&full_name))?;
        let global = path.starts_with("::") || path.starts_with("crate::");
        let tokens = idents::rust_path_to_tokens(&path);
        // `self::` keeps a message named like a generic parameter of ours apart from it.
        let tokens =
            if global || path.starts_with("super::") { tokens } else { quote::quote!(self::#tokens) };
        let tokens = paths::through_runtime(tokens, CRATES, &options.runtime);
        let ty = syn::parse2(tokens).map_err(|_| unknown(&full_name))?;
        names.types.insert((package, full_name), ty);
    }
    Ok(names)
}

fn unknown(full_name: &str) -> Error {
    Error::new(format!("{full_name} is no message that Rust code was generated for"))
        .with_next("map it with extern_path, or compile the file that declares it as well")
}
