//! `h2-server PORT`: bare HTTP/2 on loopback, prior knowledge, for suites such as h2spec.

use std::hash::{BuildHasher as _, RandomState};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use peregrine_tests_http2::Replying;
use peregrine_transport::driver;
use peregrine_transport::net::{AcceptError, Listener, Stream};
use tokio::net::TcpListener;
use tokio::time::{Duration, Instant, sleep};

const USAGE: &str = "usage: h2-server PORT";

/// Pause after the system ran out of descriptors; the backlog keeps what waits.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await;
    complain(&error)
}

async fn run() -> Result<std::convert::Infallible> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port] = &words[..] else { bail!(USAGE) };
    let port: u16 = port.parse().with_context(|| format!("{port} is no port; {USAGE}"))?;
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = Listener::from(socket.with_context(|| format!("could not listen on port {port}"))?);
    let seeds = RandomState::new();
    let mut opened = 0_u64;
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => {
                opened += 1;
                tokio::spawn(serve(stream, seeds.hash_one(opened)));
            }
            Err(AcceptError::Connection(_)) => {}
            Err(AcceptError::Exhausted(_)) => sleep(EXHAUSTED_PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn serve(stream: Stream, seed: u64) {
    let mut replying = Replying::new(seed, Instant::now().into_std());
    driver::drive(stream, &mut replying).await;
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("h2-server: {error:#}");
    ExitCode::FAILURE
}
