//! The command line: each flag is defined once and yields parser, help and completion.
//!
//! Groups that several commands share (connecting, schema, headers) are structs of their own and flattened in.

mod call;
mod connect;
mod demo;
mod r#gen;
mod inspect;
mod schema;
mod value;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub(crate) use call::CallArgs;
pub(crate) use connect::{ConnectArgs, HeaderArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use r#gen::{CodecChoice, GenArgs};
pub(crate) use inspect::{DescribeArgs, HealthArgs, ListArgs};
pub(crate) use schema::SchemaArgs;

use crate::exit;

/// gRPC from the shell: call services, look at them, generate their code
#[derive(Debug, Parser)]
#[command(
    name = "peregrine",
    version,
    max_term_width = 110,
    after_long_help = exit::TABLE,
    disable_help_subcommand = false,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What holds for every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct GlobalArgs {
    /// Form of reports and listings; a failed call's report goes to stderr in this form too
    #[arg(long, short = 'o', value_enum, default_value_t = OutputFormat::Text, global = true, value_name = "FORM")]
    pub(crate) output: OutputFormat,

    /// No colours (as when NO_COLOR is set or the output is not a terminal)
    #[arg(long, global = true)]
    pub(crate) no_color: bool,

    /// Show headers, trailers, status and timing on stderr
    #[arg(long, short, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
}

/// How listings and errors are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a server with every kind of call, and show a call of each
    Demo(DemoArgs),
    /// Call a method; without one, list the services
    Call(Box<CallArgs>),
    /// List services, or the methods of one
    List(ListArgs),
    /// Show a service, method, message, enum or field as proto text
    Describe(DescribeArgs),
    /// Ask the standard health service
    Health(HealthArgs),
    /// Generate Rust code from .proto files (also a protoc and buf plug-in)
    Gen(GenArgs),
    /// Print the completion script of a shell
    Completions {
        /// The shell to complete for
        shell: CompletionShell,
    },
}

/// Shells with a completion script.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum CompletionShell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    PowerShell,
    Zsh,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_may_follow_positionals() {
        let cli = Cli::try_parse_from([
            "peregrine",
            "call",
            "localhost:1",
            "a.B/C",
            "-d",
            "{}",
            "-H",
            "x: y",
            "-v",
            "--output",
            "json",
        ])
        .unwrap();
        assert_eq!((cli.global.verbose, cli.global.output), (1, OutputFormat::Json));
        let Command::Call(call) = cli.command else { panic!("call expected") };
        assert_eq!(call.method.as_deref(), Some("a.B/C"));
        assert_eq!(call.data, ["{}"]);
    }

    #[test]
    fn the_long_help_has_the_table_of_exit_codes() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("64  plus the status code"), "{help}");
    }
}
