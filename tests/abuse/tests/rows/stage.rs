//! A server under attack: what it needed meanwhile, what is left afterwards.

use std::sync::{Arc, Mutex};

use peregrine_abuse::{Attack, Ground, Line};
use peregrine_server::Server;
use peregrine_testkit::{CountingAllocator, Journal, Served, TestService, serve, settle, virtual_time};

use crate::canary::Canary;

/// Runs an attack beside a canary; the server must answer as it has to, with the handlers and the memory that it may
/// use, go on serving others, and give everything back.
pub(crate) fn withstand(attack: &Attack) {
    virtual_time(async {
        let journal = Arc::new(Journal::default());
        let service = TestService::new(Arc::clone(&journal));
        let served = Arc::new(Mutex::new(serve((attack.server)(Server::builder().add_service(service)))));
        let canary_peer = lock(&served).connect();
        let canary = Canary::begin(started(canary_peer).await);
        // One round first, so that what the canary needs is not counted.
        settle().await;

        let memory = Memory::begin();
        let place = Arc::clone(&served);
        let ground = Ground::new(move || {
            let line: Line = Box::pin(lock(&place).connect());
            Box::pin(std::future::ready(line))
        });
        let seen = (attack.run)(&ground).await;
        let peak = memory.peak();
        drop(ground);
        // A connection that the attacker has left ends at its next turn; a spawned call at the one after.
        settle().await;
        settle().await;
        let left = memory.left();
        let calls = canary.end().await;
        let counts = journal.counts();

        assert!(attack.accepts(&seen), "{seen}\n  instead of {}", attack.reply);
        // The canary's own handler may run among those of the attack.
        assert!(counts.most <= attack.handlers + 1, "{} handlers at once", counts.most);
        assert_eq!(counts.running(), 0, "{counts:?}");
        assert!(calls > 1, "the canary made {calls} calls");
        assert!(peak <= attack.memory * 1_024, "{} KiB of memory meanwhile", peak / 1_024);
        assert!(left <= LEFT, "{} KiB of memory left", left / 1_024);
        let served = Arc::into_inner(served).and_then(|served| served.into_inner().ok());
        let report = served.expect("nobody else has the server").stop().await;
        assert_eq!(report.cut_connections, 0, "{report}");
    });
}

/// A peer on a pipe.
async fn started(line: peregrine_testkit::PipeEnd) -> peregrine_testkit::Peer {
    let mut peer = peregrine_testkit::Peer::new(line, peregrine_testkit::PeerConfig::default());
    peer.start().await;
    peer
}

fn lock(served: &Mutex<Served>) -> std::sync::MutexGuard<'_, Served> {
    served.lock().expect("nothing panics while it holds the server")
}

/// Bytes that may stay after an attack: read buffers that the thread keeps for others, 64 KiB each and 16 of them,
/// and tables of the runtime and the registry that have grown.
const LEFT: usize = 16 * 64 * 1_024 + 128 * 1_024;

/// This thread's memory from here on.
struct Memory {
    before: isize,
}

impl Memory {
    fn begin() -> Self {
        CountingAllocator::restart_thread_peak();
        Self { before: CountingAllocator::thread_live_bytes() }
    }

    fn peak(&self) -> usize {
        (CountingAllocator::thread_peak_bytes() - self.before).max(0) as usize
    }

    fn left(&self) -> usize {
        (CountingAllocator::thread_live_bytes() - self.before).max(0) as usize
    }
}
