//! A client that means no harm: one small call after another, timed, on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use peregrine_testkit::peer::{Ending, message};
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Peer, PeerConfig};
use tokio::net::TcpStream;

/// Pause between two calls.
const PAUSE: Duration = Duration::from_millis(2);

/// A call that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(5);

/// A canary that sings.
#[derive(Debug)]
pub(crate) struct Canary {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<Song>>,
}

/// What a canary went through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Song {
    pub(crate) calls: usize,
    /// Calls without the right answer in time.
    pub(crate) failed: usize,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
}

impl Canary {
    /// Begins with a connection of its own to the server on this machine.
    pub(crate) fn begin(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(sing(port, &stopped))
        });
        Self { stop, thread }
    }

    pub(crate) fn end(self) -> anyhow::Result<Song> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_panic| anyhow!("the canary died"))?
    }
}

async fn sing(port: u16, stop: &AtomicBool) -> anyhow::Result<Song> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let mut peer = Peer::new(stream, PeerConfig::default());
    peer.start().await;
    let (mut times, mut failed) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let call = async {
            let stream = peer.request(UNARY, &[("script", "send alive")], &message(b""), true).await;
            peer.reply(stream).await
        };
        match tokio::time::timeout(LONGEST, call).await {
            Ok(reply) if reply.ending == Some(Ending::Stream) && reply.texts() == ["alive"] => {}
            _ => {
                failed += 1;
                break;
            }
        }
        times.push(begun.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    Ok(Song { calls: times.len(), failed, median: at(50), p99: at(99) })
}
