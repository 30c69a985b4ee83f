//! Flags for connecting and for headers: the same for every command that talks to a server.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::value;

/// Whom to talk to and how.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Connecting")]
pub(crate) struct ConnectArgs {
    /// No TLS, whatever the address
    #[arg(long, conflicts_with = "tls")]
    pub(crate) plaintext: bool,

    /// TLS, whatever the address
    #[arg(long)]
    pub(crate) tls: bool,

    /// Certificates of the authorities to trust instead of the system's, PEM; means TLS
    #[arg(long, value_name = "FILE", conflicts_with = "plaintext")]
    pub(crate) cacert: Option<PathBuf>,

    /// Our certificate chain, for servers that ask for one, PEM; means TLS
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "plaintext")]
    pub(crate) cert: Option<PathBuf>,

    /// Key of our certificate, PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,

    /// The `:authority` to send instead of the address
    #[arg(long, value_name = "NAME")]
    pub(crate) authority: Option<String>,

    /// The name that the server's certificate must have, if not the host's; means TLS
    #[arg(long, value_name = "NAME", conflicts_with = "plaintext")]
    pub(crate) server_name: Option<String>,

    /// Give up connecting after this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::duration)]
    pub(crate) connect_timeout: Duration,
}

/// Request headers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Headers")]
pub(crate) struct HeaderArgs {
    /// A request header, `name: value`; `${VAR}` is replaced from the environment, the value of a `-bin` name
    /// is base64
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// A header for the reflection calls only
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) reflect_header: Vec<String>,
}
