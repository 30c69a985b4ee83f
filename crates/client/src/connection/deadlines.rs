//! The deadlines of a connection's calls, for one timer.
//!
//! A timer per call would be armed and disarmed for each call that never needs it. Here a call costs one push; the
//! entries of calls that ended are dropped when they reach an end of the queue, or when they are the majority.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

use super::calls::CallId;

/// Entries that may be stale before a sweep is worth its while.
const SLACK: usize = 64;

/// Instants at which calls run out of time.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// In order. Most calls have the same timeout as the call before, so they come behind it.
    queue: VecDeque<(Instant, CallId)>,
    /// Those that come before one that is in the queue.
    heap: BinaryHeap<Reverse<(Instant, CallId)>>,
}

impl Deadlines {
    /// Adds a call. `live` tells how many calls the connection has, `is_live` which; both serve the sweep.
    pub(super) fn push(&mut self, at: Instant, id: CallId, live: usize, is_live: impl Fn(CallId) -> bool) {
        if self.len() > 2 * live + SLACK {
            self.queue.retain(|(_, id)| is_live(*id));
            self.heap.retain(|Reverse((_, id))| is_live(*id));
        }
        while self.queue.back().is_some_and(|(_, id)| !is_live(*id)) {
            self.queue.pop_back();
        }
        if self.queue.back().is_none_or(|(last, _)| *last <= at) {
            self.queue.push_back((at, id));
        } else {
            self.heap.push(Reverse((at, id)));
        }
    }

    /// The earliest deadline of a call that is still live.
    pub(super) fn next(&mut self, is_live: impl Fn(CallId) -> bool) -> Option<Instant> {
        while self.queue.front().is_some_and(|(_, id)| !is_live(*id)) {
            self.queue.pop_front();
        }
        while self.heap.peek().is_some_and(|Reverse((_, id))| !is_live(*id)) {
            self.heap.pop();
        }
        self.earliest()
    }

    /// Takes out a call whose deadline is not after `now`; it may have ended already.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<CallId> {
        let at = self.earliest().filter(|at| *at <= now)?;
        match self.queue.front() {
            Some((front, _)) if *front == at => self.queue.pop_front().map(|(_, id)| id),
            _ => self.heap.pop().map(|Reverse((_, id))| id),
        }
    }

    fn earliest(&self) -> Option<Instant> {
        let queued = self.queue.front().map(|(at, _)| *at);
        match self.heap.peek() {
            Some(Reverse((at, _))) => Some(queued.map_or(*at, |queued| queued.min(*at))),
            None => queued,
        }
    }

    fn len(&self) -> usize {
        self.queue.len() + self.heap.len()
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
        for index in 0..10_000_u32 {
            // Each before the one that came first, and that one goes on.
            let at = start + Duration::from_secs(if index == 0 { 20_000 } else { u64::from(10_000 - index) });
            deadlines.push(at, CallId::from_parts(index, 0), 1, |id| id == CallId::from_parts(0, 0));
        }
        assert!(deadlines.len() <= SLACK + 4, "{}", deadlines.len());
    }

    #[test]
    fn calls_of_one_timeout_wait_in_a_queue_and_give_their_places_back() {
        let start = Instant::now();
        let mut deadlines = Deadlines::default();
        for index in 0..10_000_u32 {
            let at = start + Duration::from_millis(u64::from(index));
            deadlines.push(at, CallId::from_parts(index, 0), 8, |id| id.index + 8 > index);
            assert!(deadlines.heap.is_empty());
            assert!(deadlines.next(|id| id.index + 8 > index).is_some());
            assert!(deadlines.len() <= 8, "{}", deadlines.len());
        }
    }

    #[test]
    fn deadlines_in_any_order_come_out_in_theirs() {
        let start = Instant::now();
        let mut deadlines = Deadlines::default();
        let order = [7, 3, 9, 9, 1, 12, 4, 9, 0, 30, 2];
        for (index, second) in order.iter().enumerate() {
            let at = start + Duration::from_secs(*second);
            deadlines.push(at, CallId::from_parts(index as u32, 0), order.len(), |_| true);
        }
        let mut sorted = order;
        sorted.sort_unstable();
        let late = start + Duration::from_mins(1);
        for second in sorted {
            assert_eq!(deadlines.next(|_| true), Some(start + Duration::from_secs(second)));
            let id = deadlines.pop_due(late).unwrap();
            assert_eq!(order[id.index as usize], second);
        }
        assert_eq!(deadlines.pop_due(late), None);
    }
}
