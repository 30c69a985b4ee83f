//! The deadlines of a connection's calls, for one timer.
//!
//! A timer per call would be armed and disarmed for each call that never needs it. Here a call costs one push; the
//! entries of calls that ended are dropped when they reach the front or when they are the majority.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::calls::CallId;

/// Entries that may be stale before a sweep is worth its while.
const SLACK: usize = 64;

/// Instants at which calls run out of time.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, CallId)>>,
}

impl Deadlines {
    /// Adds a call. `live` tells how many calls the connection has, `is_live` which; both serve the sweep.
    pub(super) fn push(&mut self, at: Instant, id: CallId, live: usize, is_live: impl Fn(CallId) -> bool) {
        if self.heap.len() > 2 * live + SLACK {
            self.heap.retain(|Reverse((_, id))| is_live(*id));
        }
        self.heap.push(Reverse((at, id)));
    }

    /// The earliest deadline of a call that is still live.
    pub(super) fn next(&mut self, is_live: impl Fn(CallId) -> bool) -> Option<Instant> {
        while let Some(Reverse((at, id))) = self.heap.peek() {
            if is_live(*id) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes out a call whose deadline is not after `now`; it may have ended already.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<CallId> {
        let Reverse((at, _)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, id))| id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_earliest_live_call_is_next_and_due_calls_come_in_order() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let ids: Vec<CallId> = (0..3).map(|index| CallId::from_parts(index, 0)).collect();
        let mut deadlines = Deadlines::default();
        for (id, seconds) in ids.iter().zip([3, 1, 2]) {
            deadlines.push(after(seconds), *id, 3, |_| true);
        }
        assert_eq!(deadlines.next(|id| id != ids[1]), Some(after(2)));
        assert_eq!(deadlines.pop_due(after(1)), None);
        assert_eq!(deadlines.pop_due(after(3)), Some(ids[2]));
        assert_eq!(deadlines.pop_due(after(3)), Some(ids[0]));
        assert_eq!(deadlines.pop_due(after(3)), None);
    }

    #[test]
    fn entries_of_ended_calls_do_not_pile_up() {
        let start = Instant::now();
        let mut deadlines = Deadlines::default();
        for index in 0..10_000 {
            deadlines.push(start, CallId::from_parts(index, 0), 1, |_| false);
        }
        assert!(deadlines.heap.len() <= SLACK + 4, "{}", deadlines.heap.len());
    }
}
