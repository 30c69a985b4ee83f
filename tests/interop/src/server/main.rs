//! `interop-server --port=N [--use_tls=true --tls_cert_file=F --tls_key_file=F]`: the test service of the interop specification.
//!
//! Ends gracefully on SIGTERM and on Ctrl-C.

mod service;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use peregrine::orca::Orca;
use peregrine::{Server, ServerTls};
use peregrine_interop::flags::Flags;
use peregrine_interop::pb;
use tokio::signal::unix::{SignalKind, signal};

use self::service::TestService;

const FLAGS: &[&str] = &["port", "use_tls", "tls_cert_file", "tls_key_file", "use_alts", "host"];

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

async fn run() -> Result<()> {
    let flags = Flags::parse(std::env::args().skip(1), FLAGS)?;
    let port = u16::try_from(flags.number("port", 0)?).context("--port is a port number")?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    let mut server = Server::builder();
    if flags.is_set("use_tls")? {
        let certificate = flags.file("tls_cert_file", "server1.pem")?;
        server = server.tls(ServerTls::from_files(certificate, flags.file("tls_key_file", "server1.key")?)?);
    }
    // The cases ask for a report a second.
    let orca = Orca::new().shortest_interval(Duration::from_secs(1));
    server
        .add_service(orca.service())
        .add_service(pb::TestServiceServer::new(TestService::new(orca)))
        // very_large_request and the soak cases of other stacks send more than the default allows.
        .max_receive_message_size(64 << 20)
        .serve_with_shutdown(format!("127.0.0.1:{port}"), stop)
        .await?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("interop-server: {error:#}");
    ExitCode::FAILURE
}
