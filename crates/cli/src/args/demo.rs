//! Flags of `peregrine demo`.

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Port to listen on at 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 50051)]
    pub(crate) port: u16,

    /// Port to listen on with TLS; 0 takes a free one [default: the next one, or a free one]
    #[arg(long, value_name = "PORT", conflicts_with = "once")]
    pub(crate) tls_port: Option<u16>,

    /// End after the four calls instead of serving until Ctrl-C; takes a free port when the port is in use
    #[arg(long)]
    pub(crate) once: bool,
}
