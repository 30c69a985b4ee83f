//! When calls of a connection have to be over: one heap, one timer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use peregrine_http2::StreamKey;

/// Deadlines of calls, earliest first. Entries of calls that ended before are skipped when they come due.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<Entry>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    at: Instant,
    key: StreamKey,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at).then_with(|| self.key.id().value().cmp(&other.key.id().value()))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Deadlines {
    /// Stale entries tolerated before they are swept out, beside one per live call.
    const SLACK: usize = 64;

    /// Adds a deadline. `live` says which calls still run; it is asked only when stale entries have piled up.
    pub(super) fn push(
        &mut self,
        at: Instant,
        key: StreamKey,
        open: usize,
        live: impl Fn(StreamKey) -> bool,
    ) {
        if self.heap.len() > 2 * open + Self::SLACK {
            self.heap.retain(|Reverse(entry)| live(entry.key));
        }
        self.heap.push(Reverse(Entry { at, key }));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub(super) fn pop_due(&mut self, now: Instant) -> Option<StreamKey> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.key)
    }
}
