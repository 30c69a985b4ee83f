//! Calls that wait because the peer allows no more streams (wire-rules 82): first come, first served.

use std::collections::VecDeque;
use std::task::Waker;

/// A place in the queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ticket(u64);

/// Waiting calls in order.
#[derive(Debug, Default)]
pub(super) struct StreamQueue {
    next: u64,
    waiting: VecDeque<(Ticket, Waker)>,
}

impl StreamQueue {
    /// Whether it is the turn of the call with this ticket, or of one without.
    pub(super) fn is_turn(&self, ticket: Option<Ticket>) -> bool {
        self.waiting.front().map(|(front, _)| *front) == ticket
    }

    /// Queues a call, or renews the waker of one that waits.
    pub(super) fn wait(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) {
        if let Some(ticket) = *ticket
            && let Some((_, waiting)) = self.waiting.iter_mut().find(|(other, _)| *other == ticket)
        {
            waiting.clone_from(waker);
            return;
        }
        let new = Ticket(self.next);
        self.next += 1;
        self.waiting.push_back((new, waker.clone()));
        *ticket = Some(new);
    }

    /// Takes a call out, wherever it stands.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        if let Some(position) = self.waiting.iter().position(|(other, _)| *other == ticket) {
            self.waiting.remove(position);
        }
    }

    /// Whose turn it is. It stays in the queue until it leaves.
    pub(super) fn front(&self) -> Option<&Waker> {
        self.waiting.front().map(|(_, waker)| waker)
    }

    /// Empties the queue: the connection takes no more calls.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Waker> {
        self.waiting.drain(..).map(|(_, waker)| waker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_go_in_the_order_they_came() {
        let mut queue = StreamQueue::default();
        let (mut first, mut second) = (None, None);
        assert!(queue.is_turn(None));
        queue.wait(&mut first, Waker::noop());
        queue.wait(&mut second, Waker::noop());
        queue.wait(&mut first, Waker::noop());
        assert!(queue.is_turn(first) && !queue.is_turn(second) && !queue.is_turn(None));
        queue.leave(first.unwrap());
        assert!(queue.is_turn(second));
        queue.leave(second.unwrap());
        assert!(queue.is_turn(None) && queue.front().is_none());
    }

    #[test]
    fn one_that_gives_up_does_not_hold_the_others() {
        let mut queue = StreamQueue::default();
        let mut tickets = [None; 3];
        for ticket in &mut tickets {
            queue.wait(ticket, Waker::noop());
        }
        queue.leave(tickets[1].unwrap());
        queue.leave(tickets[0].unwrap());
        assert!(queue.is_turn(tickets[2]));
    }
}
