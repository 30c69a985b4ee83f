//! Messages by prost-build.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prost_build::{Module, Service, ServiceGenerator};
use prost_types::source_code_info::Location;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto, SourceCodeInfo};
use syn::visit_mut::VisitMut;

use super::{Messages, Package, RustNames, guarded, is_extern};
use crate::config::Options;
use crate::descriptor::{Input, is_well_known};
use crate::doc;
use crate::error::{Error, Result};
use crate::verbatim::Verbatim;

pub(super) fn generate(input: &Input, options: &Options, verbatim: &mut Verbatim) -> Result<Messages> {
    guarded("prost", || run(input, options, verbatim))
}

fn run(input: &Input, options: &Options, verbatim: &mut Verbatim) -> Result<Messages> {
    if let Some(file) = input.files.iter().find(|file| file.syntax() == "editions") {
        return Err(Error::new(format!("{} uses an edition, which prost does not know", file.name()))
            .with_next("use the codec buffa for it"));
    }
    let types = Arc::new(Mutex::new(HashMap::new()));
    let mut config = config(options);
    config.service_generator(Box::new(TypeCollector { types: types.clone() }));

    let modules = config
        .generate(requests(input, verbatim))
        .map_err(|cause| Error::new(format!("messages cannot be generated: {cause}")).with_cause(cause))?;
    let mut modules: Vec<(Module, String)> = modules.into_iter().collect();
    modules.sort();

    let left_out: Vec<Module> = packages_left_out(input, options);
    let packages = modules.into_iter().filter(|(module, _)| !left_out.contains(module));
    let packages = packages
        .map(|(module, text)| Package { module: module.parts().map(str::to_owned).collect(), text })
        .collect();
    let modules = input.renamed.files.iter().map(|file| {
        let module = Module::from_protobuf_package_name(file.package());
        (file.package().to_owned(), module.parts().map(str::to_owned).collect())
    });
    let types = std::mem::take(&mut *types.lock().unwrap_or_else(PoisonError::into_inner));
    let types = types.into_iter().map(|(key, path)| Ok((key, rust_type(&path)?))).collect::<Result<_>>()?;
    Ok(Messages { packages, types: RustNames { modules: modules.collect(), types }, warnings: Vec::new() })
}

fn config(options: &Options) -> prost_build::Config {
    let runtime = options.runtime.to_string().replace(' ', "");
    let mut config = prost_build::Config::new();
    config
        .bytes(["."])
        // What an `Any` calls a message.
        .enable_type_names()
        .prost_path(format!("{runtime}::prost"))
        .prost_types_path(format!("{runtime}::prost_types"));
    for (proto, rust) in &options.extern_paths {
        config.extern_path(proto, rust);
    }
    for (path, attribute) in &options.type_attributes {
        config.type_attribute(path, attribute);
    }
    for (path, attribute) in &options.field_attributes {
        config.field_attribute(path, attribute);
    }
    config
}

/// All files, since prost looks up every type that a field names. Comments are kept back: prost would look through each
/// line with regular expressions, for what [`doc`] has done already.
fn requests(input: &Input, verbatim: &mut Verbatim) -> Vec<(Module, FileDescriptorProto)> {
    let mut requests = Vec::with_capacity(input.files.len());
    for (original, renamed) in input.files.iter().zip(&input.renamed.files) {
        let mut file = renamed.clone();
        file.source_code_info =
            original.source_code_info.as_ref().map(|info| comments(original, info, verbatim));
        for (service, of_original) in file.service.iter_mut().zip(&original.service) {
            for (method, of_original) in service.method.iter_mut().zip(&of_original.method) {
                method.input_type = Some(input.renamed.of(of_original.input_type()).to_owned());
                method.output_type = Some(input.renamed.of(of_original.output_type()).to_owned());
            }
        }
        requests.push((Module::from_protobuf_package_name(file.package()), file));
    }
    requests
}

/// What stands for the comments. prost panics where an element has no location, and a descriptor set may lack some, so
/// each gets one.
fn comments(file: &FileDescriptorProto, info: &SourceCodeInfo, verbatim: &mut Verbatim) -> SourceCodeInfo {
    let mut given = HashMap::with_capacity(info.location.len());
    for location in &info.location {
        given.entry(location.path.as_slice()).or_insert(location);
    }
    let mut keep = |comment: Option<&str>| {
        let lines = doc::lines(comment?);
        verbatim.keep(lines.iter().map(String::as_str))
    };
    let mut locations = Vec::new();
    each_element(file, &mut |path| {
        let given = given.get(path);
        locations.push(Location {
            path: path.to_vec(),
            leading_comments: keep(given.and_then(|location| location.leading_comments.as_deref())),
            trailing_comments: keep(given.and_then(|location| location.trailing_comments.as_deref())),
            ..Location::default()
        });
    });
    SourceCodeInfo { location: locations }
}

/// Calls `visit` with the descriptor path of everything in `file` that can have a comment in Rust.
fn each_element(file: &FileDescriptorProto, visit: &mut dyn FnMut(&[i32])) {
    const MESSAGE: i32 = 4;
    const ENUM: i32 = 5;
    const SERVICE: i32 = 6;
    const METHOD: i32 = 2;

    for (message, at) in file.message_type.iter().zip(0..) {
        each_in_message(message, &mut vec![MESSAGE, at], visit);
    }
    for (item, at) in file.enum_type.iter().zip(0..) {
        each_in_enum(item, &mut vec![ENUM, at], visit);
    }
    for (service, at) in file.service.iter().zip(0..) {
        visit(&[SERVICE, at]);
        (0..).zip(&service.method).for_each(|(method, _)| visit(&[SERVICE, at, METHOD, method]));
    }
}

fn each_in_message(message: &DescriptorProto, path: &mut Vec<i32>, visit: &mut dyn FnMut(&[i32])) {
    const FIELD: i32 = 2;
    const NESTED: i32 = 3;
    const ENUM: i32 = 4;
    const ONEOF: i32 = 8;

    visit(path);
    let depth = path.len();
    let members = (0..).zip(&message.field).map(|(at, _)| [FIELD, at]);
    for member in members.chain((0..).zip(&message.oneof_decl).map(|(at, _)| [ONEOF, at])) {
        path.extend(member);
        visit(path);
        path.truncate(depth);
    }
    for (nested, at) in message.nested_type.iter().zip(0..) {
        path.extend([NESTED, at]);
        each_in_message(nested, path, visit);
        path.truncate(depth);
    }
    for (item, at) in message.enum_type.iter().zip(0..) {
        path.extend([ENUM, at]);
        each_in_enum(item, path, visit);
        path.truncate(depth);
    }
}

fn each_in_enum(item: &EnumDescriptorProto, path: &mut Vec<i32>, visit: &mut dyn FnMut(&[i32])) {
    const VALUE: i32 = 2;

    visit(path);
    let depth = path.len();
    for (at, _) in (0..).zip(&item.value) {
        path.extend([VALUE, at]);
        visit(path);
        path.truncate(depth);
    }
}

/// Modules that hold nothing of ours: well-known types and packages mapped away.
fn packages_left_out(input: &Input, options: &Options) -> Vec<Module> {
    let files = input.renamed.files.iter();
    let left_out = files.filter(|file| is_well_known(file) || is_extern(file.package(), options));
    left_out.map(|file| Module::from_protobuf_package_name(file.package())).collect()
}

/// prost-build resolves type names only for services, so it is asked for services, and only their types are kept.
struct TypeCollector {
    types: Arc<Mutex<HashMap<(String, String), String>>>,
}

impl ServiceGenerator for TypeCollector {
    fn generate(&mut self, service: Service, _text: &mut String) {
        let mut types = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        for method in service.methods {
            let package = &service.package;
            types.insert((package.clone(), method.input_proto_type), method.input_type);
            types.insert((package.clone(), method.output_proto_type), method.output_type);
        }
    }
}

/// Puts the original proto name into the `Name` of a message that was renamed.
pub(super) fn restore_names(item: &mut syn::Item, input: &Input) {
    match item {
        syn::Item::Mod(module) => {
            let items = module.content.iter_mut().flat_map(|(_, items)| items);
            items.for_each(|item| restore_names(item, input));
        }
        syn::Item::Impl(block) => {
            let is_name = block
                .trait_
                .as_ref()
                .is_some_and(|(_, path, _)| path.segments.last().is_some_and(|last| last.ident == "Name"));
            if is_name {
                restore_name(block, input);
            }
        }
        _ => {}
    }
}

fn restore_name(block: &mut syn::ItemImpl, input: &Input) {
    let mut full_names = FullNames { input, original: None };
    full_names.visit_item_impl_mut(block);
    let Some(original) = full_names.original else { return };
    let parts: Vec<&str> = original.split('.').collect();
    for item in &mut block.items {
        let syn::ImplItem::Const(constant) = item else { continue };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &mut constant.expr else {
            continue;
        };
        // Renaming leaves the number of parts as it is; prost calls a nested message by its last one.
        let in_package = text.value().split('.').filter(|part| !part.is_empty()).count();
        let restored = if constant.ident == "NAME" {
            parts.last().copied().unwrap_or_default().to_owned()
        } else {
            parts[..in_package.min(parts.len())].join(".")
        };
        *text = syn::LitStr::new(&restored, text.span());
    }
}

/// Puts the original full name, which may follow a slash, into the functions of a `Name`.
struct FullNames<'a> {
    input: &'a Input,
    original: Option<String>,
}

impl VisitMut for FullNames<'_> {
    fn visit_impl_item_const_mut(&mut self, _constant: &mut syn::ImplItemConst) {}

    fn visit_lit_str_mut(&mut self, text: &mut syn::LitStr) {
        let value = text.value();
        let (domain, full_name) = value.split_at(value.rfind('/').map_or(0, |slash| slash + 1));
        if let Some(original) = self.input.renamed.original(&format!(".{full_name}")) {
            let original = original.trim_start_matches('.');
            *text = syn::LitStr::new(&format!("{domain}{original}"), text.span());
            self.original = Some(original.to_owned());
        }
    }
}

/// prost maps some well-known types to primitives and `()`; other names are relative to the service's module.
fn rust_type(path: &str) -> Result<syn::Type> {
    const PRIMITIVES: &[&str] = &["bool", "f32", "f64", "i32", "i64", "u32", "u64"];

    let source = if PRIMITIVES.contains(&path) {
        format!("::core::primitive::{path}")
    } else if path.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !path.starts_with("super::")
        && !path.starts_with("crate::")
    {
        // `self::` keeps a message named like a generic parameter of ours apart from it.
        format!("self::{path}")
    } else {
        path.to_owned()
    };
    syn::parse_str(&source)
        .map_err(|_| Error::new(format!("prost names a type {path:?}, which is no Rust type")))
}
