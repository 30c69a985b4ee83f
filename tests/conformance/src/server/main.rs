//! `conformance-server`: the server under test of connectconformance.
//!
//! Reads from standard input how to serve, listens on a free port of loopback, writes where to standard output, and
//! serves until SIGTERM.

mod service;
mod settings;
mod streams;
mod view;

use std::process::ExitCode;

use anyhow::{Context, Result};
use peregrine_conformance::frames;
use peregrine_conformance::pb::{ConformanceServiceServer, ServerCompatRequest};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use self::service::Conformance;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

async fn run() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let request: ServerCompatRequest =
        frames::read(&mut tokio::io::stdin()).await?.context("the runner did not say how to serve")?;
    let listener = TcpListener::bind("127.0.0.1:0").await.context("could not listen on loopback")?;
    let (server, response) = settings::apply(&request, listener.local_addr()?)?;
    frames::write(&mut tokio::io::stdout(), &response).await?;
    let stop = async move {
        terminate.recv().await;
    };
    server
        .add_service(ConformanceServiceServer::new(Conformance))
        // The runner allows 5 seconds.
        .shutdown_grace(std::time::Duration::from_secs(2))
        .serve_with_shutdown(listener, stop)
        .await?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("conformance-server: {error:#}");
    ExitCode::FAILURE
}
