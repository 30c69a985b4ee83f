//! A client that means no harm, on a connection of its own, while the server is attacked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use peregrine_testkit::Peer;
use peregrine_testkit::service::UNARY;
use tokio::task::JoinHandle;

/// Makes a call each millisecond of virtual time, less often once it has made many.
pub(crate) struct Canary {
    stop: Arc<AtomicBool>,
    calls: JoinHandle<usize>,
}

impl Canary {
    pub(crate) fn begin(peer: Peer) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let calls = tokio::spawn(sing(peer, Arc::clone(&stop)));
        Self { stop, calls }
    }

    /// How many calls it made. Every one was answered, and none had to wait for a timer.
    pub(crate) async fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.calls.await.expect("the canary lives")
    }
}

async fn sing(mut peer: Peer, stop: Arc<AtomicBool>) -> usize {
    let mut calls = 0;
    loop {
        let begun = tokio::time::Instant::now();
        let reply = peer.call(UNARY, &[("script", "send alive")], b"").await;
        assert_eq!((reply.code(), reply.texts()), (0, vec!["alive"]));
        assert_eq!(begun.elapsed(), Duration::ZERO, "call {calls} of the canary waited");
        calls += 1;
        if stop.load(Ordering::Relaxed) {
            return calls;
        }
        let pause = match calls {
            0..2_000 => Duration::from_millis(1),
            2_000..4_000 => Duration::from_millis(100),
            _ => Duration::from_secs(10),
        };
        tokio::time::sleep(pause).await;
    }
}
