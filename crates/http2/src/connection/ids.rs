//! Stream ids: which come next, which were used, which were reset by us lately (RFC 9113, 5.1.1).
//!
//! The slab holds streams that live; this is what the engine remembers of all others, in bounded space.

use std::collections::VecDeque;

use super::Role;
use crate::StreamId;

/// The ids of one connection.
#[derive(Debug)]
pub(super) struct StreamIds {
    role: Role,
    /// Client: for the next stream; `None` when they are used up.
    next: Option<StreamId>,
    /// Server: the highest id the peer has used.
    highest: StreamId,
    /// Server: the highest id that was handed to the upper layer or answered; what GOAWAY says.
    accepted: StreamId,
    /// Server: ranges of ids the client stepped over, which closed them unused (5.1.1).
    skipped: VecDeque<(StreamId, StreamId)>,
    /// Streams that were reset, oldest first.
    reset: VecDeque<(StreamId, ResetBy)>,
    /// The highest id that was dropped from `reset` for lack of room.
    forgotten: StreamId,
}

/// Who reset a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResetBy {
    /// We did: the peer may have sent frames before it knew (5.1).
    Us,
    /// The peer did, and should know.
    Peer,
}

/// What the engine knows of an id that has no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// Never used.
    Idle,
    /// Stepped over by its owner.
    Skipped,
    /// Reset lately.
    Reset(ResetBy),
    /// Ended by both sides.
    Ended,
    /// Ended or reset, too long ago to say which.
    Closed,
}

impl StreamIds {
    /// A client's first stream gets the id `first`, or the next odd one.
    pub(super) fn new(role: Role, first: StreamId) -> Self {
        StreamIds {
            role,
            next: Some(StreamId::new(first.value() | 1)),
            highest: StreamId::CONNECTION,
            accepted: StreamId::CONNECTION,
            skipped: VecDeque::new(),
            reset: VecDeque::new(),
            forgotten: StreamId::CONNECTION,
        }
    }

    /// Client: the id the next stream will get, unless so many are used that another connection has to be opened.
    pub(super) fn next(&self) -> Option<StreamId> {
        self.next.filter(|id| !is_late(*id))
    }

    /// Changes with every stream: on a client the id of the next, on a server that of the last one.
    pub(super) fn newest(&self) -> StreamId {
        match self.role {
            Role::Client => self.next.unwrap_or(StreamId::MAX),
            Role::Server => self.highest,
        }
    }

    /// Client: the id of [`next`](Self::next) is used.
    // [9113-5.1.1-2] [9113-5.1.1-3]
    pub(super) fn on_opened(&mut self) {
        self.next = self.next.and_then(StreamId::next);
    }

    /// Server: the client began a stream; the id must be above all earlier ones.
    #[inline]
    pub(super) fn on_peer_opened(&mut self, id: StreamId) {
        let expected = match self.highest.value() {
            // [9113-5.1.1-1]
            0 => StreamId::FIRST_CLIENT.value(),
            highest => highest.saturating_add(2),
        };
        if id.value() > expected {
            self.on_skipped(StreamId::new(expected), id);
        }
        self.highest = id;
    }

    #[cold]
    fn on_skipped(&mut self, first: StreamId, next: StreamId) {
        if self.skipped.len() == MAX_SKIPPED {
            self.skipped.pop_front();
        }
        self.skipped.push_back((first, next));
    }

    /// Server: the stream opened last will be answered.
    #[inline]
    pub(super) fn on_accepted(&mut self) {
        self.accepted = self.highest;
    }

    /// Server: what a GOAWAY may promise.
    pub(super) fn accepted(&self) -> StreamId {
        self.accepted
    }

    /// Server: whether this id begins a new stream.
    // [9113-5.1.1-2]
    #[inline]
    pub(super) fn is_new(&self, id: StreamId) -> bool {
        self.role == Role::Server && id.is_client_initiated() && id > self.highest
    }

    /// RST_STREAM was sent or received.
    pub(super) fn on_reset(&mut self, id: StreamId, by: ResetBy) {
        if self.reset.len() == MAX_RESET
            && let Some((oldest, _)) = self.reset.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.reset.push_back((id, by));
    }

    /// What is known of an id without a stream.
    pub(super) fn absent(&self, id: StreamId) -> Absent {
        let used = match self.role {
            Role::Server => id <= self.highest,
            Role::Client => self.next.is_none_or(|next| id < next),
        };
        if !id.is_client_initiated() || !used {
            Absent::Idle
        } else if let Some((_, by)) = self.reset.iter().rfind(|(reset, _)| *reset == id) {
            Absent::Reset(*by)
        } else if id <= self.forgotten {
            // It may have been answered with RST_STREAM already, of which one is enough.
            Absent::Closed
        } else if self.skipped.iter().any(|(from, until)| (*from..*until).contains(&id)) {
            Absent::Skipped
        } else {
            Absent::Ended
        }
    }

    /// Forgets what only matters while frames are in flight.
    pub(super) fn trim(&mut self) {
        let newest = self.reset.iter().map(|(id, _)| *id).max();
        self.forgotten = self.forgotten.max(newest.unwrap_or_default());
        self.reset = VecDeque::new();
        self.skipped.retain(|(_, until)| *until > self.forgotten);
        self.skipped.shrink_to_fit();
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.skipped.capacity() * size_of::<(StreamId, StreamId)>()
            + self.reset.capacity() * size_of::<(StreamId, ResetBy)>()
    }
}

/// Whether so much of the id space is used that a connection should take no further streams: three quarters, so
/// that there is time to change to another one (http2-abuse 30).
#[inline]
pub(super) fn is_late(id: StreamId) -> bool {
    id > LAST_CLIENT
}

/// The last id that a client of ours uses.
pub(super) const LAST_CLIENT: StreamId = StreamId::new(0x5fff_ffff);

/// Reset streams remembered: what a peer with full windows on every stream can have in flight.
const MAX_RESET: usize = 512;

/// Gaps remembered. Real clients leave none.
const MAX_SKIPPED: usize = 16;

#[cfg(test)]
mod tests {
    use super::Absent::{Closed, Ended, Idle, Reset, Skipped};
    use super::*;

    #[test]
    fn a_server_tells_apart_what_became_of_an_id() {
        let mut ids = StreamIds::new(Role::Server, StreamId::FIRST_CLIENT);
        for id in [1, 7, 9] {
            ids.on_peer_opened(StreamId::new(id));
        }
        ids.on_reset(StreamId::new(7), ResetBy::Us);
        ids.on_reset(StreamId::new(9), ResetBy::Peer);
        let absent = [1, 2, 3, 5, 7, 9, 11].map(|id| ids.absent(StreamId::new(id)));
        let expected = [Ended, Idle, Skipped, Skipped, Reset(ResetBy::Us), Reset(ResetBy::Peer), Idle];
        assert_eq!(absent, expected);
        assert!(
            ids.is_new(StreamId::new(11)) && !ids.is_new(StreamId::new(9)) && !ids.is_new(StreamId::new(12))
        );
        ids.trim();
        assert_eq!([1, 7].map(|id| ids.absent(StreamId::new(id))), [Closed, Closed]);
    }

    #[test]
    fn the_highest_id_is_the_last() {
        let mut ids = StreamIds::new(Role::Client, StreamId::MAX);
        assert_eq!((ids.absent(StreamId::MAX), ids.next()), (Idle, None));
        ids.on_opened();
        assert_eq!(ids.absent(StreamId::MAX), Ended);
        assert_eq!(ids.absent(StreamId::new(2)), Idle);
    }

    #[test]
    fn memory_is_bounded() {
        let mut ids = StreamIds::new(Role::Server, StreamId::FIRST_CLIENT);
        for id in 0..10_000 {
            ids.on_peer_opened(StreamId::new(id * 4 + 1));
            ids.on_reset(StreamId::new(id * 4 + 1), ResetBy::Us);
        }
        assert!(ids.reset.len() <= MAX_RESET && ids.skipped.len() <= MAX_SKIPPED);
    }
}
