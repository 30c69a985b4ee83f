//! Flags of `peregrine call`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{ConnectArgs, HeaderArgs, SchemaArgs, value};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  peregrine call localhost:50051                                   what is there
  peregrine call localhost:50051 demo.v1.Demo/Greet -d '{\"name\": \"Ada\"}'
  peregrine call localhost:50051 demo.v1.Demo/Summarize -d '{\"celsius\": 8} {\"celsius\": 9}'
  generate-json | peregrine call localhost:50051 demo.v1.Demo/Chat -d @")]
pub(crate) struct CallArgs {
    /// host:port, http://host:port, https://host:port or unix:path; a bare host:port means plaintext on
    /// loopback and TLS elsewhere
    pub(crate) target: String,

    /// package.Service/Method (package.Service.Method works too); without it the services are listed
    pub(crate) method: Option<String>,

    /// A file with the JSON of the request
    #[arg(value_name = "FILE", conflicts_with = "data")]
    pub(crate) file: Option<PathBuf>,

    /// The request as JSON; `@` reads stdin, `@FILE` a file; several messages may follow each other, in one
    /// text or in several -d
    #[arg(long, short, value_name = "JSON")]
    pub(crate) data: Vec<String>,

    /// Skip fields of the request that the schema does not know, with a note, instead of refusing them
    #[arg(long)]
    pub(crate) allow_unknown_fields: bool,

    /// Show fields that have their default value too
    #[arg(long)]
    pub(crate) emit_defaults: bool,

    /// Give the call this much time in all, connecting included (`--deadline` and `--max-time` are the same)
    #[arg(long, aliases = ["max-time", "deadline"], value_name = "TIME", value_parser = value::duration)]
    pub(crate) timeout: Option<Duration>,

    /// Largest reply message accepted
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = value::size)]
    pub(crate) max_message_size: usize,

    #[command(flatten)]
    pub(crate) headers: HeaderArgs,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}
