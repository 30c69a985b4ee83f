//! The model beside an end: what its upper layer has done and seen on every stream.
//!
//! [`Layer::book`] takes the events and fails on any that a correct engine could not give; `act` has what the upper
//! layer does. What became of a stream is an [`Outcome`], set exactly once.

use std::collections::{BTreeMap, VecDeque};

use super::text::{CACHED, Text, Use};
use crate::connection::{Connection, Event, Initiator, Role};
use crate::{CachedBlock, ErrorCode, Head, StreamId, StreamKey};

/// One end as its upper layer sees it.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) role: Role,
    pub(super) streams: BTreeMap<StreamId, Half>,
    /// Those without an outcome, in the order of their ids.
    pub(super) live: Vec<StreamId>,
    pub(super) heads: [CachedBlock; CACHED],
    pub(super) trailers: [CachedBlock; CACHED],
    /// PINGs that wait for their answers.
    pub(super) pings: VecDeque<[u8; 8]>,
    /// The peer's GOAWAY frames named this stream last.
    pub(super) peer_last: Option<StreamId>,
    pub(super) peer_goaway: Option<ErrorCode>,
    /// The engine has reset a stream that got no window.
    pub(super) stalled: bool,
    /// SETTINGS that came.
    pub(super) settings: usize,
}

/// A stream as one end knows it.
#[derive(Debug)]
pub(super) struct Half {
    pub(super) key: StreamKey,
    pub(super) head: Option<Text>,
    pub(super) trailers: Option<Text>,
    /// Octets written and not discarded; their content follows from the position.
    pub(super) sent: usize,
    /// From which position on octets were written after how many discards.
    pub(super) epochs: Vec<(usize, u8)>,
    pub(super) discards: u8,
    /// Where writes end.
    pub(super) bounds: Vec<usize>,
    pub(super) send_ended: bool,
    pub(super) head_seen: bool,
    pub(super) received: usize,
    /// Received and not yet released.
    pub(super) held: usize,
    pub(super) recv_ended: bool,
    /// Waits for `Writable`.
    pub(super) waits: bool,
    /// Will be reset with this code once its queue is sent: what comes in is dropped.
    pub(super) blind: Option<ErrorCode>,
    /// Was blind for a while: what was seen has gaps.
    pub(super) gap: bool,
    pub(super) outcome: Option<Outcome>,
}

/// What became of a stream at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Both sides ended in good order.
    Complete,
    ResetHere(ErrorCode),
    ResetThere(ErrorCode),
    /// Certainly not processed.
    Refused,
    /// The connection ended before it.
    Lost,
}

impl Half {
    pub(super) fn new(key: StreamKey) -> Self {
        Half {
            key,
            head: None,
            trailers: None,
            sent: 0,
            epochs: vec![(0, 0)],
            discards: 0,
            bounds: Vec::new(),
            send_ended: false,
            head_seen: false,
            received: 0,
            held: 0,
            recv_ended: false,
            waits: false,
            blind: None,
            gap: false,
            outcome: None,
        }
    }

    /// The octets from `sent` on.
    pub(super) fn next_octets(&self, len: usize) -> Vec<u8> {
        (self.sent..self.sent + len).map(|at| self.octet(at)).collect()
    }

    /// What this end means to stand at a position of the stream.
    fn octet(&self, at: usize) -> u8 {
        let epoch = self.epochs.iter().rfind(|(from, _)| *from <= at).map_or(0, |(_, epoch)| *epoch);
        (at as u8).wrapping_mul(29) ^ (at >> 8) as u8 ^ self.key.id().value() as u8 ^ epoch.wrapping_mul(151)
    }

    /// Fails unless `data` is what `self` has written from `from` on.
    fn check_octets(&self, from: usize, data: &[u8]) {
        assert!(from + data.len() <= self.sent, "more arrives than was sent");
        let wrong = data.iter().enumerate().find(|(at, octet)| **octet != self.octet(from + at));
        if let Some((at, octet)) = wrong {
            panic!("octet {} of stream {} is {octet}", from + at, self.key.id());
        }
    }
}

impl Layer {
    pub(super) fn new(role: Role) -> Self {
        Layer {
            role,
            streams: BTreeMap::new(),
            live: Vec::new(),
            heads: Default::default(),
            trailers: Default::default(),
            pings: VecDeque::new(),
            peer_last: None,
            peer_goaway: None,
            stalled: false,
            settings: 0,
        }
    }

    pub(super) fn add(&mut self, half: Half) {
        let id = half.key.id();
        self.live.push(id);
        assert!(self.streams.insert(id, half).is_none(), "stream {id} begins twice");
    }

    /// Sets what became of a stream; once.
    pub(super) fn settle(&mut self, id: StreamId, outcome: Outcome) {
        let half = self.streams.get_mut(&id).unwrap();
        assert_eq!(half.outcome, None, "stream {id} ends twice, now with {outcome:?}");
        half.outcome = Some(outcome);
        half.held = 0;
        half.waits = false;
        self.live.retain(|live| *live != id);
    }

    /// The connection is over for this end.
    pub(super) fn on_closed(&mut self) {
        for id in std::mem::take(&mut self.live) {
            if let Some(last) = self.peer_last
                && self.role == Role::Client
            {
                assert!(id <= last, "stream {id} is above GOAWAY's {last} and was not refused");
            }
            self.streams.get_mut(&id).unwrap().outcome = Some(Outcome::Lost);
        }
    }

    fn live_half(&mut self, stream: StreamKey) -> &mut Half {
        let half = self.streams.get_mut(&stream.id()).unwrap_or_else(|| panic!("{stream:?} never began"));
        assert_eq!(half.key, stream);
        assert_eq!(half.outcome, None, "{stream:?} has ended");
        half
    }

    /// Books an event, with what the other end knows beside it.
    pub(super) fn book(&mut self, connection: &mut Connection, event: Event<'_>, other: &Layer) {
        match event {
            Event::Headers { stream, head, end_stream } => {
                self.on_head(stream, Some(&head), end_stream, other);
            }
            Event::Request { stream, head, data } => {
                self.on_head(stream, Some(&head), false, other);
                self.on_data(stream, data, true, other);
            }
            Event::HeadersTooLarge { stream, size, limit, end_stream } => {
                assert!(size > limit);
                let trailers = self.streams.get(&stream.id()).is_some_and(|half| half.head_seen || half.gap);
                if trailers && end_stream {
                    self.on_trailers(stream, None, other);
                } else {
                    self.on_head(stream, None, end_stream, other);
                }
            }
            Event::Data { stream, data, end_stream } => self.on_data(stream, data, end_stream, other),
            Event::Trailers { stream, head } => self.on_trailers(stream, Some(&head), other),
            Event::Reset { stream, code, initiator } => {
                self.live_half(stream);
                if initiator == Initiator::Engine {
                    // Only for want of window, and only if it was told to.
                    let allowed = connection.config.stream_stall_timeout.is_some();
                    assert!(code == ErrorCode::CANCEL && allowed, "{stream:?}: {}", connection.last_fault());
                    self.stalled = true;
                    self.settle(stream.id(), Outcome::ResetHere(code));
                } else if code == ErrorCode::REFUSED_STREAM && !other.streams.contains_key(&stream.id()) {
                    assert_eq!(self.role, Role::Client);
                    self.settle(stream.id(), Outcome::Refused);
                } else {
                    self.settle(stream.id(), Outcome::ResetThere(code));
                }
            }
            Event::Writable { stream } => {
                let half = self.live_half(stream);
                let ended = half.send_ended || half.blind.is_some() || half.gap;
                assert!(half.waits || ended, "nobody waits: {half:?}");
                // Others may have filled the output since.
                half.waits = !half.send_ended && half.blind.is_none() && !connection.poll_writable(stream);
            }
            Event::GoAway { last_stream, code, .. } => {
                self.peer_last = Some(last_stream);
                self.peer_goaway = Some(code);
                if self.role == Role::Client {
                    // What a server has begun to process it must not disown.
                    let highest = other.streams.keys().next_back();
                    assert!(highest.is_none_or(|highest| *highest <= last_stream), "GOAWAY {last_stream}");
                }
            }
            Event::Refused { stream } => {
                assert_eq!(self.role, Role::Client);
                assert!(!other.streams.contains_key(&stream.id()), "{stream:?} was processed");
                self.live_half(stream);
                self.settle(stream.id(), Outcome::Refused);
            }
            Event::Relieved => unreachable!("nobody asked for it"),
            Event::Settings => self.settings += 1,
            Event::Pong { payload } => {
                if payload != FOREIGN_PING {
                    assert_eq!(self.pings.pop_front(), Some(payload), "a PING is answered once, in its turn");
                }
            }
        }
    }

    fn on_head(&mut self, stream: StreamKey, head: Option<&Head>, end_stream: bool, other: &Layer) {
        let id = stream.id();
        let used = if self.role == Role::Server {
            assert!(other.streams.contains_key(&id), "stream {id} was never opened");
            self.add(Half::new(stream));
            Use::Request
        } else {
            Use::Response
        };
        let half = self.live_half(stream);
        assert!(!half.head_seen && !half.recv_ended && half.blind.is_none(), "a head too many: {half:?}");
        half.head_seen = true;
        half.recv_ended |= end_stream;
        let there = &other.streams[&id];
        let text = there.head.expect("a head that was not sent");
        assert!(!end_stream || there.send_ended);
        if let Some(head) = head {
            text.check(used, head);
        }
    }

    fn on_data(&mut self, stream: StreamKey, data: &[u8], end_stream: bool, other: &Layer) {
        let half = self.live_half(stream);
        assert!(half.blind.is_none() && !half.recv_ended, "data for nobody: {half:?}");
        assert!(half.head_seen || half.gap, "data before the head");
        assert!(end_stream || !data.is_empty());
        let there = &other.streams[&stream.id()];
        if !half.gap {
            there.check_octets(half.received, data);
        }
        half.received += data.len();
        half.held += data.len();
        half.recv_ended |= end_stream;
        if end_stream {
            assert!(there.send_ended && there.trailers.is_none(), "an end that was not sent");
            assert!(half.gap || half.received == there.sent, "the end comes before all data");
        }
    }

    fn on_trailers(&mut self, stream: StreamKey, head: Option<&Head>, other: &Layer) {
        let half = self.live_half(stream);
        assert!(half.blind.is_none() && !half.recv_ended, "trailers for nobody: {half:?}");
        half.recv_ended = true;
        let there = &other.streams[&stream.id()];
        assert!(half.gap || half.received == there.sent, "trailers come before all data");
        let text = there.trailers.expect("trailers that were not sent");
        if let Some(head) = head {
            text.check(Use::Trailers, head);
        }
    }
}

/// Payload of the PING that the link slips in.
pub(super) const FOREIGN_PING: [u8; 8] = *b"stranger";
