//! What handlers did, as the test sees it, and what the test lets them do.

use std::sync::{Condvar, Mutex, PoisonError};

use tokio::sync::{Semaphore, watch};

/// Counts of everything that the calls of a [`TestService`](super::TestService) did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handlers that began.
    pub started: usize,
    /// Handlers that came to their end, with a status or without.
    pub ended: usize,
    /// Handlers that were dropped before their end: the call was cancelled.
    pub cancelled: usize,
    /// Handlers that panicked.
    pub panicked: usize,
    /// The most handlers that ran at once.
    pub most: usize,
    /// Request messages that handlers took.
    pub read: usize,
    /// Response messages that handlers made.
    pub made: usize,
}

/// Shared by a service and the test that watches it.
#[derive(Debug)]
pub struct Journal {
    counts: watch::Sender<Counts>,
    gate: Semaphore,
    held: Mutex<bool>,
    let_go: Condvar,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            counts: watch::Sender::new(Counts::default()),
            gate: Semaphore::new(0),
            held: Mutex::new(true),
            let_go: Condvar::new(),
        }
    }
}

impl Counts {
    /// Handlers that run now.
    pub fn running(&self) -> usize {
        self.started.saturating_sub(self.ended + self.cancelled + self.panicked)
    }
}

impl Journal {
    /// The counts as they are now.
    pub fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    /// Waits until the counts are as they should be, and returns them.
    pub async fn until(&self, condition: impl Fn(&Counts) -> bool) -> Counts {
        let mut receiver = self.counts.subscribe();
        *receiver.wait_for(|counts| condition(counts)).await.expect("the journal holds the sender")
    }

    /// Lets so many handlers pass their `gate`, now or later.
    pub fn open_gate(&self, times: usize) {
        self.gate.add_permits(times);
    }

    /// Lets all handlers go on that `hold` their threads, now or later.
    pub fn let_go(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.let_go.notify_all();
    }

    pub(super) fn hold(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.let_go.wait_while(held, |held| *held));
    }

    pub(super) async fn pass_gate(&self) {
        self.gate.acquire().await.expect("the gate is never closed for good").forget();
    }

    pub(super) fn note(&self, change: impl FnOnce(&mut Counts)) {
        self.counts.send_modify(|counts| {
            change(counts);
            counts.most = counts.most.max(counts.running());
        });
    }
}
