//! What a connection and a stream hold while nothing happens on them: bytes asked of the allocator and not given back,
//! and the process's resident set, which also knows what the allocator adds.
//!
//! The other end is a script that is shared by all connections, so that what is counted is the server's.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use peregrine::{Server, unfold};
use peregrine_bench_echo::service;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::HEAP;
use crate::frames::{self, END_HEADERS, END_STREAM, HEADERS};

/// `idle CONNECTIONS`: connections after one call each. `streams CONNECTIONS STREAMS`: streams a connection, on each of
/// which one message was echoed. Prints bytes for each connection, or for each stream, once they have rested, and
/// before.
pub(crate) async fn run(mut words: impl Iterator<Item = String>) -> anyhow::Result<String> {
    let usage = "usage: call-cost memory idle CONNECTIONS | streams CONNECTIONS STREAMS";
    let what = words.next().context(usage)?;
    let mut number = || anyhow::Ok(words.next().context(usage)?.parse::<usize>()?);
    let connections = number()?;
    let (script, units) = match what.as_str() {
        "idle" => (script("/bench.Bench/Echo", 1, END_STREAM), connections),
        "streams" => {
            let streams = number()?;
            (script("/bench.Bench/Bidi", streams, 0), connections * streams)
        }
        _ => anyhow::bail!(usage),
    };
    // One by itself first: what a process needs once is not counted.
    open(1, &script).await?;
    let all = open(connections, &script).await?;
    // An error has no message in its answer.
    ensure!(all.written > units * MESSAGE, "not every call was answered: {} bytes for {units}", all.written);
    let at_once = HEAP.live_bytes();
    tokio::time::sleep(REST).await;
    let a_unit = |now: usize, before: usize| now.saturating_sub(before) as f64 / units as f64;
    Ok(format!(
        "{what}={units} bytes={:.0} resident={:.0} before_rest={:.0}",
        a_unit(HEAP.live_bytes(), all.live),
        a_unit(resident()?, all.resident),
        a_unit(at_once, all.live)
    ))
}

/// A server with connections on which nothing happens any more. It lives as long as the process.
struct Opened {
    /// By the server, on all connections.
    written: usize,
    /// Before the first connection.
    live: usize,
    resident: usize,
}

async fn open(connections: usize, script: &Arc<[u8]>) -> anyhow::Result<Opened> {
    let written = Arc::new(AtomicUsize::new(0));
    let io = Scripted { script: Arc::clone(script), read: 0, written: Arc::clone(&written) };
    let incoming = unfold((io, connections), |(io, left)| async move {
        if left == 0 {
            // The end of the connections would be the end of the server.
            std::future::pending::<()>().await;
        }
        let next = io.clone();
        Some((Ok::<_, io::Error>(io), (next, left - 1)))
    });
    // All connections are accepted before the first one is served.
    let server = Server::builder().max_concurrent_streams(u32::MAX >> 1).pending_handshakes(usize::MAX);
    let server = service::mount_buffa(server, false);
    let (live, resident) = (HEAP.live_bytes(), resident()?);
    tokio::spawn(server.serve_incoming(incoming));
    let mut before = 0;
    // All is in memory, so that a pause without output is the end, unless the machine is busy beyond measure.
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = written.load(Ordering::Relaxed);
        if now == before && now > 0 {
            break;
        }
        before = now;
    }
    Ok(Opened { written: before, live, resident })
}

/// What a client sends on one connection.
fn script(path: &str, streams: usize, flags: u8) -> Arc<[u8]> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "cost/1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let [head] = frames::blocks([&fields]);
    let message = frames::message(&frames::echo(MESSAGE));
    let mut script = frames::PREFACE.to_vec();
    frames::opening(&mut script);
    for number in 0..streams {
        let id = 2 * number as u32 + 1;
        frames::frame(&mut script, HEADERS, END_HEADERS, id, head.at(number));
        frames::data(&mut script, flags, id, &message);
    }
    script.into()
}

/// Plays a client that says what it has to say, takes every answer, and falls silent.
#[derive(Clone)]
struct Scripted {
    script: Arc<[u8]>,
    read: usize,
    written: Arc<AtomicUsize>,
}

impl AsyncRead for Scripted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = &self.script[self.read..];
        if left.is_empty() {
            // Nothing comes any more, so nobody has to be woken.
            return Poll::Pending;
        }
        let count = left.len().min(buf.remaining());
        buf.put_slice(&left[..count]);
        self.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Scripted {
    fn poll_write(self: Pin<&mut Self>, _cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.written.fetch_add(buf.len(), Ordering::Relaxed);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Bytes of this process that are in memory.
fn resident() -> anyhow::Result<usize> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<usize>()? << 10)
}

/// Bytes of a message's payload.
const MESSAGE: usize = 256;
/// After this time a connection has given back what it keeps for reuse.
const REST: Duration = Duration::from_secs(12);
/// How long nothing is written once everything was.
const PAUSE: Duration = Duration::from_millis(500);
