//! `interop-raw-server --port=N --test_case=CASE`: the test service written on bare frames, for what no packaged server
//! offers.
//!
//! CASE is one of the negative HTTP/2 cases (`goaway`, `rst_after_header`, `rst_during_data`, `rst_after_data`, `ping`,
//! `max_streams`), in which the server breaks off, or interrupts, as the case says. With any other it answers in good
//! order, compresses as it is asked to, and sees by the messages' flags whether the client did. In every case it looks
//! at the form of the requests. Asked to end (SIGTERM) it prints what the client did wrong and ends with 1 if it did.

mod connection;
mod judge;
mod service;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use peregrine_interop::flags::Flags;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use self::connection::Connection;
use self::judge::Judge;

const FLAGS: &[&str] = &["port", "test_case", "use_tls"];

/// What the server does to its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// GOAWAY before the reply to a connection's first call.
    GoAway,
    /// RST_STREAM(NO_ERROR) behind the head of the response.
    RstAfterHeader,
    /// The same in the middle of the message.
    RstDuringData,
    /// The same behind the message, in place of the trailers.
    RstAfterData,
    /// PINGs between the frames of the response.
    Ping,
    /// MAX_CONCURRENT_STREAMS 1 from the first call on.
    MaxStreams,
    /// None of these.
    Orderly,
}

impl Case {
    fn of(name: Option<&str>) -> Self {
        match name {
            Some("goaway") => Self::GoAway,
            Some("rst_after_header") => Self::RstAfterHeader,
            Some("rst_during_data") => Self::RstDuringData,
            Some("rst_after_data") => Self::RstAfterData,
            Some("ping") => Self::Ping,
            Some("max_streams") => Self::MaxStreams,
            _ => Self::Orderly,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(faults) => say(&faults),
        Err(error) => say(&[format!("{error:#}")]),
    }
}

/// What the clients did wrong until the server was asked to end.
async fn run() -> Result<Vec<String>> {
    let flags = Flags::parse(std::env::args().skip(1), FLAGS)?;
    anyhow::ensure!(!flags.is_set("use_tls")?, "bare frames are sent in plaintext only");
    let port = u16::try_from(flags.number("port", 0)?).context("--port is a port number")?;
    let name = flags.text("test_case").unwrap_or_default().to_owned();
    let case = Case::of(Some(&name));
    let judge = Arc::new(Judge::default());
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(judge.verdict(case, &name)),
            accepted = listener.accept() => serve(accepted?.0, case, &judge),
        }
    }
}

fn serve(socket: TcpStream, case: Case, judge: &Arc<Judge>) {
    let judge = Arc::clone(judge);
    tokio::spawn(async move {
        // Somebody who connects and leaves without a word only looks whether the port is open.
        if matches!(socket.peek(&mut [0]).await, Ok(0) | Err(_)) || socket.set_nodelay(true).is_err() {
            return;
        }
        let number = judge.next_connection();
        let running = tokio::spawn(Connection::new(socket, case, number, Arc::clone(&judge)).run());
        // A frame that cannot be read ends the peer by a panic, whose text is in the output already.
        if running.await.is_err() {
            judge.blame(format!("connection {number} could not be followed to its end"));
        }
    });
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn say(faults: &[String]) -> ExitCode {
    for fault in faults {
        eprintln!("interop-raw-server: {fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
