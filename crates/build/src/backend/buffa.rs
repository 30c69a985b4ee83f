//! Messages by buffa-codegen.

use buffa::DecodeOptions;
use buffa_codegen::context::CodeGenContext;
use buffa_codegen::generated::descriptor::{FileDescriptorProto, FileDescriptorSet};
use buffa_codegen::{BytesRepr, CodeGenConfig, GeneratedFileKind, idents};

use super::{Messages, Package, RustNames, guarded, is_extern, paths, rpc_type_names};
use crate::config::Options;
use crate::descriptor::{Input, is_well_known};
use crate::doc;
use crate::error::{Error, Result};
use crate::verbatim::Verbatim;

/// The crates that generated code names; the facade's hidden module holds all of them.
const CRATES: &[&str] = &["buffa", "buffa_types", "buffa_descriptor"];

pub(super) fn generate(input: &Input, options: &Options, verbatim: &mut Verbatim) -> Result<Messages> {
    guarded("buffa", || run(input, options, verbatim))
}

fn run(input: &Input, options: &Options, verbatim: &mut Verbatim) -> Result<Messages> {
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

    let runtime = options.runtime.to_string().replace(' ', "");
    let mut packages = Vec::new();
    for file in generated.into_iter().filter(|file| file.kind == GeneratedFileKind::PackageMod) {
        let text = adapted(&file.content, &runtime, verbatim);
        packages.push(Package { module: module(&file.package), text });
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

/// The text of one package with paths that lead through the facade, and without its comments. It is laid out: a doc
/// comment has its lines for itself.
fn adapted(text: &str, runtime: &str, verbatim: &mut Verbatim) -> String {
    const COMMENT: &str = "///";

    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut comment: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(words) = line.trim_start().strip_prefix(COMMENT) {
            comment.push(words.trim_end());
            continue;
        }
        // buffa overlooks code in quotes and lists.
        let lines = doc::not_run(comment.drain(..));
        if let Some(place) = verbatim.keep(lines.iter().map(String::as_str)) {
            out.push_str(COMMENT);
            out.push_str(&place);
            out.push('\n');
        }
        paths::through_runtime(line, CRATES, runtime, &mut out);
    }
    out
}

/// Puts the original proto names into the constants of a message that was renamed.
pub(super) fn restore_names(item: &mut syn::Item, input: &Input) {
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
    if !["PACKAGE", "FULL_NAME", "TYPE_URL", "PROTO_FQN"].iter().any(|name| constant.ident == name) {
        return;
    }
    if let Some(original) = input.renamed.original(&format!(".{full_name}")) {
        *text = syn::LitStr::new(&format!("{prefix}{}", original.trim_start_matches('.')), text.span());
    }
}

fn rust_names(input: &Input, context: &CodeGenContext<'_>, options: &Options) -> Result<RustNames> {
    let runtime = options.runtime.to_string().replace(' ', "");
    let mut names = RustNames::default();
    for file in &input.renamed.files {
        names.modules.insert(file.package().to_owned(), module(file.package()));
    }
    for (package, full_name) in rpc_type_names(input) {
        let path = context.rust_type_relative(&full_name, &package, 0).ok_or_else(|| unknown(&full_name))?;
        // `self::` keeps a message named like a generic parameter of ours apart from it.
        let global = ["::", "crate::", "super::"].iter().any(|start| path.starts_with(start));
        let path = if global { path } else { format!("self::{path}") };
        let mut through = String::new();
        paths::through_runtime(&path, CRATES, &runtime, &mut through);
        let ty = syn::parse_str(&through).map_err(|_| unknown(&full_name))?;
        names.types.insert((package, full_name), ty);
    }
    Ok(names)
}

fn unknown(full_name: &str) -> Error {
    Error::new(format!("{full_name} is no message that Rust code was generated for"))
        .with_next("map it with extern_path, or compile the file that declares it as well")
}
