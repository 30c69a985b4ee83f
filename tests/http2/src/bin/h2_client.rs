//! `h2-client [--cacert F] URL`: one connection by prior knowledge or over TLS, one GET, for suites such as h2spec's
//! client half.
//!
//! Stays until the server closes or 2.2 s have passed; exits 0 if the answer was a whole one with a status of 2xx.

use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use peregrine_tests_http2::{Answer, Asking, PATIENCE};
use peregrine_transport::driver::{self, Closed};
use peregrine_transport::net::{Security, Target, connect};
use peregrine_transport::tls::ClientTls;
use tokio::time::Instant;

const USAGE: &str = "usage: h2-client [--cacert FILE] URL (http://host:port/, or https:// with --cacert)";

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
    let (tls, url) = match &words[..] {
        [url] => (None, url),
        [flag, file, url] if flag == "--cacert" => (Some(ClientTls::with_ca_file(file)?), url),
        _ => bail!(USAGE),
    };
    let target = Target::parse(url).context(USAGE)?;
    let start = Instant::now();
    let (stream, _peer) = connect(&target, PATIENCE).await?;
    let seed = RandomState::new().hash_one(url);
    let scheme = if target.security() == Security::Tls { "https" } else { "http" };
    let mut asking = Asking::new(scheme, &target.authority(), seed, Instant::now().into_std())?;
    let asked = async {
        Ok(match (target.security(), tls) {
            (Security::Tls, Some(tls)) => {
                let stream = tls.for_host(&target.host())?.connect(stream).await?;
                driver::drive(stream, &mut asking).await
            }
            (Security::Tls, None) => bail!("https:// needs --cacert"),
            _ => driver::drive(stream, &mut asking).await,
        })
    };
    // Past the limit the connection is dropped as it is.
    let closed = match tokio::time::timeout_at(start + LIMIT, asked).await {
        Ok(closed) => Some(closed?),
        Err(_) => None,
    };
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
