//! `conformance-client`: the client under test of connectconformance.
//!
//! Reads calls to make from standard input until its end, makes them side by side, since most of them wait for
//! something, and writes how each came out to standard output in the order in which they end.

mod call;
mod channels;
mod conversation;
mod outcome;
mod single;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use peregrine_conformance::frames;
use peregrine_conformance::pb::client_compat_response::Result as Outcome;
use peregrine_conformance::pb::{ClientCompatRequest, ClientCompatResponse, ClientErrorResult};
use tokio::sync::{Semaphore, mpsc};

use self::channels::Channels;

/// Calls in progress at once. More would make the deadlines of the cases depend on the machine.
const SIDE_BY_SIDE: usize = 32;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

async fn run() -> Result<()> {
    let (outcomes, mut finished) = mpsc::channel::<ClientCompatResponse>(SIDE_BY_SIDE);
    let writer = tokio::spawn(async move {
        let mut output = tokio::io::stdout();
        while let Some(outcome) = finished.recv().await {
            frames::write(&mut output, &outcome).await?;
        }
        anyhow::Ok(())
    });
    let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let channels = Arc::new(Channels::default());
    let mut input = tokio::io::stdin();
    while let Some(case) = frames::read::<ClientCompatRequest>(&mut input).await? {
        let place = Arc::clone(&room).acquire_owned().await?;
        let (channels, outcomes) = (Arc::clone(&channels), outcomes.clone());
        tokio::spawn(async move {
            let outcome = answer(&case, &channels).await;
            // If the writer is gone, its own error is the one to report.
            let _ = outcomes.send(outcome).await;
            drop(place);
        });
    }
    drop(outcomes);
    writer.await.context("the writer failed")?
}

async fn answer(case: &ClientCompatRequest, channels: &Channels) -> ClientCompatResponse {
    let result = match call::make(case, channels).await {
        Ok(outcome) => Outcome::Response(Box::new(outcome)),
        Err(error) => {
            let error = ClientErrorResult { message: format!("{error:#}"), ..Default::default() };
            Outcome::Error(Box::new(error))
        }
    };
    ClientCompatResponse { test_name: case.test_name.clone(), result: Some(result), ..Default::default() }
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("conformance-client: {error:#}");
    ExitCode::FAILURE
}
