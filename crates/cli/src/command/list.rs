//! `peregrine list`: the services of a server or schema, or the methods of one service.

use std::io::Write;

use prost_reflect::{MethodDescriptor, ServiceDescriptor};
use serde_json::{Value, json};

use super::{Subject, subject, wants_json};
use crate::{
    args::{GlobalArgs, ListArgs},
    console::Console,
    exit::Exit,
    report::Report,
    schema::source::Source,
};

pub(super) async fn run(args: ListArgs, global: &GlobalArgs, console: &mut Console) -> Result<Exit, Report> {
    let Subject { mut source, name, .. } =
        subject((args.target, args.service), &args.schema, &args.connect, &args.headers).await?;
    match name {
        None => services(&mut source, global, console).await,
        Some(name) => methods(&mut source, &name, global, console).await,
    }
}

/// Prints the services, one a line; `call` without a method does the same.
pub(super) async fn services(
    source: &mut Source,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let names = source.service_names().await?;
    if wants_json(global) {
        writeln!(console.out, "{}", json!({"services": names}))?;
        return Ok(Exit::Ok);
    }
    for name in &names {
        writeln!(console.out, "{name}")?;
    }
    if names.is_empty() {
        console.note("there are no services")?;
    }
    Ok(Exit::Ok)
}

async fn methods(
    source: &mut Source,
    name: &str,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    source.load(name).await?;
    let Some(service) = source.schema().service(name) else {
        return Err(source.no_service(name, None).await);
    };
    if wants_json(global) {
        let methods: Vec<Value> = service.methods().map(|method| method_json(&method)).collect();
        writeln!(console.out, "{}", json!({"service": service.full_name(), "methods": methods}))?;
        return Ok(Exit::Ok);
    }
    for method in service.methods() {
        write!(console.out, "{}", path(&service, &method))?;
        if global.verbose > 0 {
            let style = console.out.style();
            write!(console.out, "  {}", style.dim(signature(&method)))?;
        }
        writeln!(console.out)?;
    }
    Ok(Exit::Ok)
}

/// `package.Service/Method`, the form that `call` takes.
pub(super) fn path(service: &ServiceDescriptor, method: &MethodDescriptor) -> String {
    format!("{}/{}", service.full_name(), method.name())
}

fn signature(method: &MethodDescriptor) -> String {
    let stream = |yes: bool| if yes { "stream " } else { "" };
    format!(
        "({}{}) returns ({}{})",
        stream(method.is_client_streaming()),
        method.input().full_name(),
        stream(method.is_server_streaming()),
        method.output().full_name()
    )
}

fn method_json(method: &MethodDescriptor) -> Value {
    json!({
        "name": method.name(),
        "path": path(method.parent_service(), method),
        "input": method.input().full_name(),
        "output": method.output().full_name(),
        "client_streaming": method.is_client_streaming(),
        "server_streaming": method.is_server_streaming(),
    })
}
