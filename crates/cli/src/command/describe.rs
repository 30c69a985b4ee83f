//! `peregrine describe`: definitions as proto text, or JSON to fill in and send.

use std::io::Write;

use prost_reflect::MessageDescriptor;
use serde_json::json;

use super::{Subject, subject, wants_json};
use crate::{
    args::{DescribeArgs, GlobalArgs},
    console::Console,
    exit::Exit,
    json::{template::template, write::Layout},
    report::Report,
    schema::{
        find::{self, Symbol},
        print,
        source::Source,
    },
    style::Style,
};

pub(super) async fn run(
    args: DescribeArgs,
    global: &GlobalArgs,
    console: &mut Console,
) -> Result<Exit, Report> {
    let Subject { mut source, name, origin } =
        subject((args.target, args.symbol), &args.schema, &args.connect, &args.headers).await?;
    let symbols = match name {
        Some(name) => vec![symbol(&mut source, &name, &origin).await?],
        None if args.template => {
            return Err(Report::usage("--template needs the name of a message or method"));
        }
        None => all_services(&mut source).await?,
    };
    if args.template {
        return print_template(&symbols[0], console);
    }
    let mut first = true;
    for symbol in with_messages(symbols) {
        if wants_json(global) {
            let (kind, name, file) = print::headline(&symbol);
            let text = print::print(&symbol, Style::PLAIN);
            writeln!(
                console.out,
                "{}",
                json!({"kind": kind, "name": name, "file": file.name(), "text": text})
            )?;
            continue;
        }
        if !std::mem::take(&mut first) {
            writeln!(console.out)?;
        }
        let text = print::print(&symbol, console.out.style());
        console.out.write_all(text.as_bytes())?;
    }
    Ok(Exit::Ok)
}

async fn symbol(source: &mut Source, name: &str, origin: &str) -> Result<Symbol, Report> {
    source.load(name).await?;
    if let Some(symbol) = find::symbol(source.schema(), name) {
        return Ok(symbol);
    }
    let mut report = Report::schema(format!("there is no definition named `{name}`"));
    // Reflection tells only what it is asked for: services are the names to compare with.
    let near = match find::nearest_symbol(source.schema(), name) {
        Some(near) => Some(near),
        None => find::nearest_service(name, &source.service_names().await?).map(str::to_owned),
    };
    report = match near {
        Some(near) => report.next(format!("did you mean {near}?")),
        None => report
            .next(format!("`peregrine list {origin}` shows the services; names are full, package included")),
    };
    Err(report)
}

async fn all_services(source: &mut Source) -> Result<Vec<Symbol>, Report> {
    let mut symbols = Vec::new();
    for name in source.service_names().await? {
        source.load(&name).await?;
        symbols.extend(source.schema().service(&name).map(Symbol::Service));
    }
    Ok(symbols)
}

/// A method is shown with its messages, since nothing can be sent without knowing them.
fn with_messages(symbols: Vec<Symbol>) -> Vec<Symbol> {
    let mut shown = Vec::new();
    for symbol in symbols {
        let mut messages: Vec<MessageDescriptor> = Vec::new();
        if let Symbol::Method(method) = &symbol {
            messages.push(method.input());
            if method.output() != method.input() {
                messages.push(method.output());
            }
        }
        shown.push(symbol);
        shown.extend(messages.into_iter().map(Symbol::Message));
    }
    shown
}

fn print_template(symbol: &Symbol, console: &mut Console) -> Result<Exit, Report> {
    let message = match symbol {
        Symbol::Message(message) => message.clone(),
        Symbol::Method(method) => method.input(),
        other => {
            let (kind, name, _) = print::headline(other);
            return Err(Report::usage(format!(
                "--template takes a message or a method; {name} is of kind {kind}"
            )));
        }
    };
    let layout = Layout { pretty: true, style: console.out.style() };
    writeln!(console.out, "{}", template(&message, layout))?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        args::{Cli, Command},
        console::testing::captured,
    };

    const PROTO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proto/everything.proto");

    /// Runs `peregrine describe` on the proto of the tests.
    fn describe(arguments: &[&str]) -> Result<String, Report> {
        let line = [&["peregrine", "describe", "--proto", PROTO], arguments].concat();
        let cli = Cli::try_parse_from(line).unwrap();
        let Command::Describe(args) = cli.command else { panic!("describe expected") };
        let (mut console, out, _) = captured();
        crate::runtime::block_on(run(args, &cli.global, &mut console))?;
        Ok(out.text())
    }

    #[test]
    fn a_method_comes_with_its_messages() {
        let text = describe(&["test.v1.Everything/Count"]).unwrap();
        assert!(text.contains("rpc Count(test.v1.Number)") && text.contains("message Number {"), "{text}");
        assert_eq!(text.matches("message Number").count(), 1);
    }

    #[test]
    fn without_a_name_all_services_are_shown() {
        assert!(describe(&[]).unwrap().contains("service Everything {"));
    }

    #[test]
    fn a_template_is_pretty_json() {
        let text = describe(&["test.v1.Everything.Sum", "--template"]).unwrap();
        assert_eq!(text, "{\n  \"value\": 0\n}\n");
        assert!(
            format!("{:?}", describe(&["test.v1.Color", "--template"]).unwrap_err()).contains("of kind enum")
        );
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let report = describe(&["test.v1.Scalrs"]).unwrap_err();
        assert!(format!("{report:?}").contains("did you mean test.v1.Scalars?"), "{report:?}");
        assert_eq!(report.exit(), Exit::Usage);
    }

    #[test]
    fn json_has_the_same_text() {
        let text = describe(&["test.v1.Number", "--output", "json"]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["kind"], "message");
        assert!(value["text"].as_str().unwrap().contains("int32 value = 1;"));
    }
}
