//! `peregrine health`: the standard health service, once or for as long as it is watched.

use std::io::Write;

use bytes::Bytes;
use peregrine_core::{BytesCodec, Code, MethodDescriptor, Request, Status};
use prost::Message;
use serde_json::json;

use super::wants_json;
use crate::{
    args::{GlobalArgs, HealthArgs},
    connect::{ConnectPlan, Connection},
    console::Console,
    exit::Exit,
    report::{self, Report},
    schema::wire::{HealthRequest, HealthResponse, ServingStatus},
};

const SERVICE: &str = "grpc.health.v1.Health";

pub(super) async fn run(
    args: HealthArgs,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let plan = ConnectPlan::new(&args.target, &args.connect, &args.headers)?;
    let connection = plan.connect(args.timeout).await?;
    if args.watch {
        watch(&connection, &args.service, global, console).await
    } else {
        check(&connection, &args.service, global, console).await
    }
}

async fn check(
    connection: &Connection,
    service: &str,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let method = method("/grpc.health.v1.Health/Check", "Check", false);
    let response = peregrine_client::unary::<BytesCodec, Bytes, Bytes>(
        connection.channel(),
        &method,
        request(connection, service),
    )
    .await
    .map_err(|status| failed(&status, service))?;
    show(&response.into_inner(), service, global, console)
}

/// Prints each change. The last one decides the exit code when the server ends the stream.
async fn watch(
    connection: &Connection,
    service: &str,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let method = method("/grpc.health.v1.Health/Watch", "Watch", true);
    let mut changes = peregrine_client::server_streaming::<BytesCodec, Bytes, Bytes>(
        connection.channel(),
        &method,
        request(connection, service),
    )
    .await
    .map_err(|status| failed(&status, service))?;
    let mut exit = Exit::Finding;
    while let Some(change) = changes.message().await.map_err(|status| failed(&status, service))? {
        exit = show(&change, service, global, console)?;
        console.out.flush()?;
    }
    Ok(exit)
}

fn method(path: &'static str, name: &'static str, server_streaming: bool) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service: SERVICE,
        name,
        client_streaming: false,
        server_streaming,
        file_descriptor_set: &[],
    }
}

fn request(connection: &Connection, service: &str) -> Request<Bytes> {
    let message = HealthRequest { service: service.to_owned() };
    let mut request = Request::new(Bytes::from(message.encode_to_vec()));
    *request.metadata_mut() = connection.call_metadata().clone();
    request.set_deadline(connection.deadline());
    request
}

fn show(message: &Bytes, service: &str, global: &GlobalArgs, console: &mut Console) -> Result<Exit, Report> {
    let response = HealthResponse::decode(message.as_ref()).map_err(|error| {
        failed(&Status::internal(format!("the answer is no health response: {error}")), service)
    })?;
    let name = match response.status() {
        ServingStatus::Unknown => "UNKNOWN",
        ServingStatus::Serving => "SERVING",
        ServingStatus::NotServing => "NOT_SERVING",
        ServingStatus::ServiceUnknown => "SERVICE_UNKNOWN",
    };
    let serving = response.status() == ServingStatus::Serving;
    if wants_json(global) {
        writeln!(console.out, "{}", json!({"service": service, "status": name}))?;
    } else {
        let style = console.out.style();
        if serving {
            writeln!(console.out, "{}", style.good(name))?;
        } else {
            writeln!(console.out, "{}", style.error(name))?;
        }
    }
    Ok(if serving { Exit::Ok } else { Exit::Finding })
}

fn failed(status: &Status, service: &str) -> Report {
    let report = report::status(status, "asking for the health");
    match status.code() {
        Code::Unimplemented => {
            report.fact("cause", "the server has no health service (grpc.health.v1.Health)")
        }
        Code::NotFound if !service.is_empty() => report.next(format!(
            "the health service knows no `{service}`; leave the name out to ask about the server"
        )),
        _ => report,
    }
}
