//! Flags of `peregrine list`, `describe` and `health`.

use std::time::Duration;

use clap::Args;

use super::{ConnectArgs, HeaderArgs, SchemaArgs, value};

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Server to ask (host:port, http://.., unix:path); leave out with --proto or --protoset
    pub(crate) target: Option<String>,

    /// List the methods of this service
    pub(crate) service: Option<String>,

    #[command(flatten)]
    pub(crate) headers: HeaderArgs,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub(crate) struct DescribeArgs {
    /// Server to ask (host:port, http://.., unix:path); leave out with --proto or --protoset
    pub(crate) target: Option<String>,

    /// Full name of a service, method, message, enum or field; without it every service is shown
    pub(crate) symbol: Option<String>,

    /// Print JSON to fill in and send instead: of a message, or of a method's request
    #[arg(long)]
    pub(crate) template: bool,

    #[command(flatten)]
    pub(crate) headers: HeaderArgs,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub(crate) struct HealthArgs {
    /// Server to ask (host:port, http://.., unix:path)
    pub(crate) target: String,

    /// The service to ask about; default: the server as a whole
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) service: String,

    /// Stay and print each change
    #[arg(long)]
    pub(crate) watch: bool,

    /// Give up after this long (`--deadline` and `--max-time` are the same)
    #[arg(long, aliases = ["max-time", "deadline"], value_name = "TIME", value_parser = value::duration)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) headers: HeaderArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}
