//! The commands, one a module. Each takes its own flags, the flags of all, and the console to write to.

mod call;
mod completions;
mod demo;
mod describe;
pub(crate) mod r#gen;
mod health;
mod list;

use crate::{
    args::{Cli, Command, ConnectArgs, GlobalArgs, HeaderArgs, SchemaArgs},
    connect::ConnectPlan,
    console::Console,
    exit::Exit,
    report::Report,
    runtime,
    schema::source::Source,
};

/// Runs the command of the command line.
pub(crate) fn run(cli: Cli, console: &mut Console) -> Result<Exit, Report> {
    let global = &cli.global;
    match cli.command {
        Command::Call(args) => call::run(&args, global, console),
        Command::Completions { shell } => completions::run(shell, console),
        Command::Describe(args) => runtime::block_on(describe::run(args, global, console)),
        Command::Health(args) => runtime::block_on(health::run(args, global, console)),
        Command::Gen(args) => r#gen::run(&args, console),
        Command::Demo(args) => demo::run(&args, global, console),
        Command::List(args) => runtime::block_on(list::run(args, global, console)),
    }
}

/// What `list` and `describe` are about: a schema, and a name in it.
struct Subject {
    source: Source,
    name: Option<String>,
    /// How the user would name the same schema in the next command.
    origin: String,
}

/// Opens the schema. With files no server is needed, so the first positional may already be the name.
async fn subject(
    positionals: (Option<String>, Option<String>),
    schema: &SchemaArgs,
    connect: &ConnectArgs,
    headers: &HeaderArgs,
) -> Result<Subject, Report> {
    if schema.names_files() {
        let name = positionals.1.or(positionals.0);
        return Ok(Subject { source: Source::from_files(schema)?, name, origin: files_origin(schema) });
    }
    let Some(address) = positionals.0 else {
        return Err(Report::usage("neither a server nor a schema was named")
            .next("name a server (localhost:50051), or --proto FILE, or --protoset FILE"));
    };
    let connection = ConnectPlan::new(&address, connect, headers)?.connect(None).await?;
    Ok(Subject { source: Source::from_server(&connection), name: positionals.1, origin: address })
}

fn files_origin(schema: &SchemaArgs) -> String {
    let flag = |flag: &str, paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| format!("{flag} {}", path.display())).collect::<Vec<_>>()
    };
    let mut words = flag("--proto", &schema.proto);
    words.extend(flag("-I", &schema.import_path));
    words.extend(flag("--protoset", &schema.protoset));
    words.join(" ")
}

/// Whether listings are wanted as data.
fn wants_json(global: &GlobalArgs) -> bool {
    global.output == crate::args::OutputFormat::Json
}

/// The command as the user started it, so that the lines to try next work when they are copied.
fn program() -> String {
    let name = std::env::args().next().unwrap_or_default();
    if name.contains('/') { name } else { "peregrine".to_owned() }
}
