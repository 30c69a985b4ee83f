//! Services as the descriptors describe them, with the names that they get in Rust.

use std::collections::HashSet;

use proc_macro2::Ident;
use prost_types::source_code_info::Location;
use prost_types::{
    FileDescriptorProto, MethodDescriptorProto, MethodOptions, ServiceDescriptorProto, ServiceOptions,
};

use crate::backend::RustNames;
use crate::descriptor::Input;
use crate::doc;
use crate::error::{Error, Place, Result};
use crate::ident::{ident, snake_case, type_case};

/// A service to write code for.
pub(crate) struct Service {
    /// `greeter.v1.Greeter`.
    pub(crate) full_name: String,
    pub(crate) names: Names,
    pub(crate) docs: Vec<String>,
    pub(crate) deprecated: bool,
    pub(crate) methods: Vec<Method>,
    /// How many modules deep its package lies.
    pub(crate) depth: usize,
}

/// The identifiers of a service's items.
pub(crate) struct Names {
    /// The trait's name as text, without `r#`.
    pub(crate) unescaped: String,
    pub(crate) service: Ident,
    pub(crate) server: Ident,
    pub(crate) client: Ident,
}

/// One rpc.
pub(crate) struct Method {
    /// `SayHello`.
    pub(crate) wire_name: String,
    /// `/greeter.v1.Greeter/SayHello`.
    pub(crate) path: String,
    /// The method of trait and client.
    pub(crate) name: Ident,
    /// The client's method that hands out a sender; used for rpcs with a stream of requests.
    pub(crate) sender_name: Ident,
    pub(crate) docs: Vec<String>,
    pub(crate) deprecated: bool,
    pub(crate) input: syn::Type,
    pub(crate) output: syn::Type,
    pub(crate) client_streaming: bool,
    pub(crate) server_streaming: bool,
}

impl Method {
    /// Whether `path`, with a dot in front, is that of the rpc, its service or a package around it.
    pub(crate) fn is_under(&self, path: &str) -> bool {
        let own = self.path.replace('/', ".");
        path == "." || own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Names of types and modules that a module has already.
pub(crate) type TakenNames = HashSet<String>;

/// Methods that every client has, and `Clone::clone`, which an rpc of that name would hide.
const OWN_METHODS: &[&str] = &["clone", "connect", "new"];

/// Descriptor paths: `FileDescriptorProto.service`, `ServiceDescriptorProto.method`.
const SERVICE: i32 = 6;
const METHOD: i32 = 2;

/// The services of the file at `index`, in order. Their names are added to `taken`.
pub(crate) fn services(
    input: &Input,
    index: usize,
    rust: &RustNames,
    taken: &mut TakenNames,
) -> Result<Vec<Service>> {
    let file = &input.files[index];
    let package = input.renamed.files[index].package();
    // Traits first: of two services `Foo` and `FooServer` each keeps its own name for the trait.
    let traits: Vec<String> = file.service.iter().map(|service| trait_name(service.name(), taken)).collect();
    let mut services = Vec::with_capacity(file.service.len());
    for (at, (service, trait_name)) in file.service.iter().zip(traits).enumerate() {
        let stem = type_stem(service.name());
        let names = Names {
            service: ident(&trait_name),
            server: ident(&unique(&format!("{stem}Server"), taken)),
            client: ident(&unique(&format!("{stem}Client"), taken)),
            unescaped: trait_name,
        };
        let full_name = if file.package().is_empty() {
            service.name().to_owned()
        } else {
            format!("{}.{}", file.package(), service.name())
        };
        services.push(Service {
            methods: methods(input, file, (at, service), (package, &full_name), rust)?,
            depth: rust.module(package).len(),
            names,
            docs: comment(file, &[SERVICE, at as i32]),
            deprecated: service.options.as_ref().is_some_and(ServiceOptions::deprecated),
            full_name,
        });
    }
    Ok(services)
}

fn type_stem(name: &str) -> String {
    let stem = type_case(name);
    if stem.is_empty() { "Underscore".to_owned() } else { stem }
}

fn trait_name(name: &str, taken: &mut TakenNames) -> String {
    let stem = type_stem(name);
    let escaped = ident(&stem).to_string();
    unique(escaped.trim_start_matches("r#"), taken)
}

/// `name`, with underscores added until it is free; takes it.
fn unique(name: &str, taken: &mut TakenNames) -> String {
    let mut name = name.to_owned();
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

fn methods(
    input: &Input,
    file: &FileDescriptorProto,
    (service_at, service): (usize, &ServiceDescriptorProto),
    (package, full_name): (&str, &str),
    rust: &RustNames,
) -> Result<Vec<Method>> {
    let names = method_names(file, service_at, service)?;
    let mut taken: TakenNames =
        names.iter().cloned().chain(OWN_METHODS.iter().map(|&name| name.to_owned())).collect();
    let mut methods = Vec::with_capacity(names.len());
    for (at, (method, name)) in service.method.iter().zip(&names).enumerate() {
        let rpc_type = |full_name| rust.rpc_type(package, input.renamed.of(full_name)).cloned();
        let sender = if method.client_streaming() {
            unique(&format!("{name}_sender"), &mut taken)
        } else {
            String::from("_")
        };
        methods.push(Method {
            wire_name: method.name().to_owned(),
            path: format!("/{full_name}/{}", method.name()),
            name: ident(name),
            sender_name: ident(&sender),
            docs: comment(file, &[SERVICE, service_at as i32, METHOD, at as i32]),
            deprecated: method.options.as_ref().is_some_and(MethodOptions::deprecated),
            input: rpc_type(method.input_type())?,
            output: rpc_type(method.output_type())?,
            client_streaming: method.client_streaming(),
            server_streaming: method.server_streaming(),
        });
    }
    Ok(methods)
}

/// The rpcs' names in Rust, each of its own (wire-rules G2).
fn method_names(
    file: &FileDescriptorProto,
    service_at: usize,
    service: &ServiceDescriptorProto,
) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::with_capacity(service.method.len());
    for (at, method) in service.method.iter().enumerate() {
        let name = method_name(method);
        if let Some(first) = names.iter().position(|other| *other == name) {
            let error = Error::new(format!(
                "rpcs {} and {} of service {} both become the Rust method {name}",
                service.method[first].name(),
                method.name(),
                service.name(),
            ));
            let places = [first, at].map(|at| place(file, &[SERVICE, service_at as i32, METHOD, at as i32]));
            let error = places.into_iter().flatten().fold(error, Error::with_place);
            return Err(error.with_next("rename one of them in the proto"));
        }
        names.push(name);
    }
    Ok(names)
}

fn method_name(method: &MethodDescriptorProto) -> String {
    let name = snake_case(method.name());
    if name.is_empty() {
        "underscore".to_owned()
    } else if OWN_METHODS.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

fn location<'a>(file: &'a FileDescriptorProto, path: &[i32]) -> Option<&'a Location> {
    file.source_code_info.as_ref()?.location.iter().find(|location| location.path == path)
}

/// The comment above an element, or else the one behind it.
fn comment(file: &FileDescriptorProto, path: &[i32]) -> Vec<String> {
    let location = location(file, path);
    let text = location.and_then(|at| at.leading_comments.as_deref().or(at.trailing_comments.as_deref()));
    doc::lines(text.unwrap_or_default())
}

fn place(file: &FileDescriptorProto, path: &[i32]) -> Option<Place> {
    let span = &location(file, path)?.span;
    let (line, column) = (*span.first()?, *span.get(1)?);
    Some(Place::from_line(file.name(), line as usize, column as usize))
}
