//! `peregrine call`: one call of any shape, JSON in and JSON out.
//!
//! The order matters to the user: what can be wrong with the command line is found before anything is connected,
//! what can be wrong with the JSON before the call is made. [`input`] reads the messages, [`exchange`] makes the
//! call, [`show`] prints what comes back.

mod exchange;
mod input;
mod show;

use std::io::{IsTerminal, Write};

use prost_reflect::MethodDescriptor;

use self::{
    exchange::{Exchange, Requests},
    input::{Input, InputOptions},
};
use super::list;
use crate::{
    args::{CallArgs, GlobalArgs},
    connect::{ConnectPlan, Connection},
    console::Console,
    exit::Exit,
    json::{template::template, write::Layout},
    report::Report,
    runtime,
    schema::{find, source::Source},
    style::Style,
};

pub(super) fn run(args: &CallArgs, global: &GlobalArgs, console: &mut Console) -> Result<Exit, Report> {
    let plan = ConnectPlan::new(&args.target, &args.connect, &args.headers)?;
    let files = if args.schema.names_files() { Some(Source::from_files(&args.schema)?) } else { None };
    runtime::block_on(async {
        let Some(name) = &args.method else {
            return list_instead(plan, files, args, global, console).await;
        };
        if find::split_method(name).is_none() {
            return Err(Report::usage(format!("`{name}` is no method name"))
                .fact("expected", "package.Service/Method")
                .next(format!("`peregrine list {}` shows the services", args.target)));
        }
        let input = Input::new(&args.data, args.file.as_deref())?;
        let options = InputOptions { allow_unknown_fields: args.allow_unknown_fields };
        // With the schema at hand the request is checked before the server is troubled.
        if let Some(mut source) = files {
            let method = source.method(name).await?;
            let requests = requests(input, options, &method, &mut source, console).await?;
            let connection = plan.connect(args.timeout).await?;
            return Box::pin(exchange(&connection, source, method, requests, args, global, console)).await;
        }
        let connection = plan.connect(args.timeout).await?;
        let mut source = Source::from_server(&connection);
        let method = source.method(name).await?;
        let requests = requests(input, options, &method, &mut source, console).await?;
        Box::pin(exchange(&connection, source, method, requests, args, global, console)).await
    })
}

/// Reads the request messages; those of a streaming call from stdin are left to be read while the call runs.
async fn requests(
    input: Input,
    options: InputOptions,
    method: &MethodDescriptor,
    source: &mut Source,
    console: &mut Console,
) -> Result<Requests, Report> {
    let streaming = method.is_client_streaming();
    if input.reads_stdin() && std::io::stdin().is_terminal() {
        console.note("reading JSON from the terminal; Ctrl-D ends it")?;
    }
    if streaming && input.reads_stdin() {
        return Ok(Requests::Live(input, options));
    }
    let given = input.is_given();
    let mut input = input;
    let mut messages = Vec::new();
    while let Some(text) = input.next_text().await? {
        let message = text.decode(&method.input(), options, source).await?;
        for path in &message.ignored {
            console.note(skipped(path))?;
        }
        messages.push(message.bytes);
    }
    if !streaming {
        match messages.len() {
            1 => {}
            // A request without fields to fill in is the most common one to be left out.
            0 if !given => messages.push(bytes::Bytes::new()),
            0 => {
                return Err(
                    Report::input("the input holds no JSON message").next("an empty message is written {}")
                );
            }
            count => {
                return Err(Report::input(format!(
                    "{} takes one message, {count} were given",
                    method.full_name()
                ))
                .next("only a method with a client stream takes several"));
            }
        }
    }
    Ok(Requests::Ready(messages))
}

/// What is said about a field that `--allow-unknown-fields` left out.
fn skipped(path: &str) -> String {
    format!("the field `{path}` is not in the schema and was skipped")
}

async fn exchange(
    connection: &Connection,
    source: Source,
    method: MethodDescriptor,
    requests: Requests,
    args: &CallArgs,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let exchange = Exchange {
        connection,
        method,
        source,
        emit_defaults: args.emit_defaults,
        max_message_size: args.max_message_size,
        verbose: global.verbose,
    };
    exchange.run(requests, console).await
}

/// Without a method there is nothing to call: the services are listed, with the way on.
async fn list_instead(
    plan: ConnectPlan,
    files: Option<Source>,
    args: &CallArgs,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let mut source = match files {
        Some(source) => source,
        None => Source::from_server(&plan.connect(args.timeout).await?),
    };
    let exit = list::services(&mut source, global, console).await?;
    if console.err.is_terminal() {
        let style = console.err.style();
        writeln!(console.err, "\n{}", style.dim("next:"))?;
        for line in lines_to_try(&mut source, &args.target).await? {
            writeln!(console.err, "  {}", style.name(line))?;
        }
    }
    Ok(exit)
}

/// What to type next: the first method that is not part of gRPC's own services, with a request to fill in.
async fn lines_to_try(source: &mut Source, target: &str) -> Result<Vec<String>, Report> {
    let program = super::program();
    let names = source.service_names().await?;
    let Some(name) = names.iter().find(|name| !name.starts_with("grpc.")).or(names.first()) else {
        return Ok(Vec::new());
    };
    let mut lines = vec![format!("{program} list {target} {name}")];
    source.load(name).await?;
    if let Some(method) = source.schema().service(name).and_then(|service| service.methods().next()) {
        let layout = Layout { pretty: false, style: Style::PLAIN };
        let request = template(&method.input(), layout);
        let path = list::path(method.parent_service(), &method);
        lines.push(format!("{program} call {target} {path} -d '{request}'"));
    }
    Ok(lines)
}
