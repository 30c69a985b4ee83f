//! The `peregrine` command.
//!
//! `main` reads the command line, runs one command and turns what it returns into output and an exit code.
//! Commands write to the [`console::Console`] they are given and never end the process themselves.

mod args;
mod command;
mod connect;
mod console;
mod exit;
mod header;
mod json;
mod report;
mod runtime;
mod schema;
mod style;
mod suggest;
mod target;
#[cfg(test)]
mod testing;

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::{ColorChoice, CommandFactory, FromArgMatches};

use crate::{
    args::{Cli, OutputFormat},
    console::Console,
    exit::Exit,
    report::Report,
};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = command::r#gen::arguments(std::env::args_os());
    let exit = run(&arguments);
    ExitCode::from(exit.code())
}

fn run(arguments: &[OsString]) -> Exit {
    let early = Early::scan(arguments);
    let colour = if early.no_color { ColorChoice::Never } else { ColorChoice::Auto };
    let matches = Cli::command().color(colour).try_get_matches_from(arguments);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, early),
    };
    let mut console = Console::of_process(cli.global.no_color, cli.global.output);
    let result = command::run(cli, &mut console);
    let flushed = console.out.flush().map_err(Report::from);
    match result.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => exit,
        Err(report) => {
            report.print(&mut console.err, console.format);
            report.exit()
        }
    }
}

/// Help and version go to stdout and are no failure; everything else is a usage error.
fn refuse(error: &clap::Error, early: Early) -> Exit {
    if !error.use_stderr() {
        // A reader that has gone is no failure here either.
        let _ = error.print();
        return Exit::Ok;
    }
    if early.json {
        let mut console = Console::of_process(true, OutputFormat::Json);
        let text = error.render().to_string();
        let mut lines = text.lines();
        let headline = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let rest: Vec<_> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
        let report = Report::usage(headline).fact("detail", rest.join("\n"));
        report.print(&mut console.err, console.format);
    } else {
        let _ = error.print();
    }
    Exit::Usage
}

/// Flags that matter even when the command line cannot be read.
#[derive(Clone, Copy)]
struct Early {
    json: bool,
    no_color: bool,
}

impl Early {
    fn scan(arguments: &[OsString]) -> Self {
        let has = |wanted: &str| arguments.iter().any(|argument| argument == wanted);
        let pair = |flag: &str| arguments.windows(2).any(|two| two[0] == flag && two[1] == "json");
        Self {
            json: has("--output=json") || has("-ojson") || pair("--output") || pair("-o"),
            no_color: has("--no-color"),
        }
    }
}
