//! Calls that wait because the peer allows no more streams (wire-rules 82): first come, first served.
//!
//! Each stream that ends calls one waiting call up. A call that was called up and does not take its stream, because
//! it was dropped or its message cannot be sent, has the next one called.

use std::collections::VecDeque;
use std::task::Waker;

/// A place in the queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ticket(u64);

/// Waiting calls in order.
#[derive(Debug, Default)]
pub(super) struct StreamQueue {
    next: u64,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    /// `None` once called up.
    waker: Option<Waker>,
}

impl StreamQueue {
    /// Whether nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the call with this ticket, or one without, may take a stream if there is one.
    pub(super) fn is_turn(&self, ticket: Option<Ticket>) -> bool {
        match ticket {
            None => self.waiting.is_empty(),
            Some(ticket) => self.find(ticket).is_none_or(|index| self.waiting[index].waker.is_none()),
        }
    }

    /// Queues a call, or has one that waits wait on in its place.
    pub(super) fn wait(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) {
        if let Some(index) = ticket.and_then(|ticket| self.find(ticket)) {
            self.waiting[index].waker = Some(waker.clone());
            return;
        }
        let new = Ticket(self.next);
        self.next += 1;
        self.waiting.push_back(Waiting { ticket: new, waker: Some(waker.clone()) });
        *ticket = Some(new);
    }

    /// Takes a call out, wherever it stands. Returns whether it had been called up.
    pub(super) fn leave(&mut self, ticket: Ticket) -> bool {
        let left = self.find(ticket).and_then(|index| self.waiting.remove(index));
        left.is_some_and(|waiting| waiting.waker.is_none())
    }

    /// Calls the next one up.
    #[inline]
    pub(super) fn call_next(&mut self) -> Option<Waker> {
        if self.waiting.is_empty() {
            return None;
        }
        self.waiting.iter_mut().find_map(|waiting| waiting.waker.take())
    }

    /// Calls everyone up: there may be many more streams, or none at all any more.
    pub(super) fn call_all(&mut self) -> impl Iterator<Item = Waker> {
        self.waiting.iter_mut().filter_map(|waiting| waiting.waker.take())
    }

    /// Those called up stand in front, so that the search is short for whoever takes a stream.
    fn find(&self, ticket: Ticket) -> Option<usize> {
        self.waiting.iter().position(|waiting| waiting.ticket == ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue_of(count: usize) -> (StreamQueue, Vec<Option<Ticket>>) {
        let mut queue = StreamQueue::default();
        let mut tickets = vec![None; count];
        for ticket in &mut tickets {
            queue.wait(ticket, Waker::noop());
        }
        (queue, tickets)
    }

    #[test]
    fn calls_go_in_the_order_they_came() {
        let (mut queue, tickets) = queue_of(3);
        assert!(!queue.is_turn(None) && !queue.is_turn(tickets[0]));
        assert!(queue.call_next().is_some() && queue.call_next().is_some());
        assert!(queue.is_turn(tickets[0]) && queue.is_turn(tickets[1]) && !queue.is_turn(tickets[2]));
        assert!(queue.leave(tickets[1].unwrap()) && queue.leave(tickets[0].unwrap()));
        assert!(!queue.is_turn(None) && !queue.is_turn(tickets[2]));
        assert!(!queue.leave(tickets[2].unwrap()), "it had not been called up");
        assert!(queue.is_turn(None) && queue.call_next().is_none());
    }

    #[test]
    fn one_that_finds_no_stream_after_all_keeps_its_place() {
        let (mut queue, mut tickets) = queue_of(2);
        queue.call_next();
        queue.wait(&mut tickets[0], Waker::noop());
        assert!(!queue.is_turn(tickets[0]));
        queue.call_next();
        assert!(queue.is_turn(tickets[0]) && !queue.is_turn(tickets[1]));
    }
}
