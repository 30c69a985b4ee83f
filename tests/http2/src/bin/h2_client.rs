//! `h2-client URL`: one connection by prior knowledge, one GET, for suites such as h2spec's client half.
//!
//! Stays until the server closes or 2.2 s have passed; exits 0 if the answer was a whole one with a status of 2xx.

use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use peregrine_tests_http2::{Answer, Asking, PATIENCE};
use peregrine_transport::driver::{self, Closed};
use peregrine_transport::net::{Target, connect};
use tokio::time::Instant;

const USAGE: &str = "usage: h2-client URL (http://host:port/)";

/// From the start to the end, whatever the server does: the farewell of the driver could take another second, and
/// suites give a client three.
const LIMIT: Duration = PATIENCE.saturating_add(Duration::from_millis(300));

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

async fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url] = &words[..] else { bail!(USAGE) };
    let target = Target::parse(url).context(USAGE)?;
    let start = Instant::now();
    let (stream, _peer) = connect(&target, PATIENCE).await?;
    let seed = RandomState::new().hash_one(url);
    let mut asking = Asking::new("http", &target.authority(), seed, Instant::now().into_std())?;
    // Past the limit the connection is dropped as it is.
    let closed = tokio::time::timeout_at(start + LIMIT, driver::drive(stream, &mut asking)).await.ok();
    judge(asking.answer(), closed)
}

fn judge(answer: Answer, closed: Option<Closed>) -> Result<()> {
    match (closed, answer) {
        (Some(Closed::Protocol(error)), _) => Err(error.into()),
        (_, Answer { status: Some(200..=299), complete: true }) => Ok(()),
        (_, Answer { status: Some(status), complete: true }) => bail!("the server answered {status}"),
        (Some(Closed::Io(error)), _) => Err(error).context("no whole answer came"),
        _ => bail!("no whole answer came"),
    }
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("h2-client: {error:#}");
    ExitCode::FAILURE
}
