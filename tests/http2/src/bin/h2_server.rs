//! `h2-server PORT [--cert F --key F]`: bare HTTP/2 on loopback, by prior knowledge or over TLS, for suites such as
//! h2spec.

use std::hash::{BuildHasher as _, RandomState};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use peregrine_tests_http2::Replying;
use peregrine_transport::driver;
use peregrine_transport::net::{AcceptError, Listener, Stream};
use peregrine_transport::tls::ServerTls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::{Duration, Instant, sleep, timeout};

const USAGE: &str = "usage: h2-server PORT [--cert FILE --key FILE]";

/// Pause after the system ran out of descriptors; the backlog keeps what waits.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);
/// Time for the TLS handshake of one client.
const HANDSHAKE: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await;
    complain(&error)
}

async fn run() -> Result<std::convert::Infallible> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (port, tls) = match words[..] {
        [port] => (port, None),
        [port, "--cert", certificate, "--key", key] => (port, Some(ServerTls::from_files(certificate, key)?)),
        _ => bail!(USAGE),
    };
    let port: u16 = port.parse().with_context(|| format!("{port} is no port; {USAGE}"))?;
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = Listener::from(socket.with_context(|| format!("could not listen on port {port}"))?);
    let seeds = RandomState::new();
    let mut opened = 0_u64;
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => {
                opened += 1;
                tokio::spawn(serve(stream, tls.clone(), seeds.hash_one(opened)));
            }
            Err(AcceptError::Connection(_)) => {}
            Err(AcceptError::Exhausted(_)) => sleep(EXHAUSTED_PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn serve(stream: Stream, tls: Option<ServerTls>, seed: u64) {
    let Some(tls) = tls else { return reply(stream, seed).await };
    // A handshake that failed has been answered; there is nobody else to tell.
    if let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await {
        reply(stream, seed).await;
    }
}

async fn reply(stream: impl AsyncRead + AsyncWrite, seed: u64) {
    let mut replying = Replying::new(seed, Instant::now().into_std());
    driver::drive(stream, &mut replying).await;
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("h2-server: {error:#}");
    ExitCode::FAILURE
}
