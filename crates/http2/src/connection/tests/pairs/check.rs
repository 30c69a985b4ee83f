//! What must be true at every moment, and what must be true in the end.

use std::collections::HashMap;
use std::io::IoSlice;

use super::layer::{Half, Outcome};
use super::world::{End, Ended, World};
use crate::connection::{Connection, Event, Role, input::PREFACE};
use crate::frame::{FRAME_HEADER_LEN, FrameHeader, FrameType};
use crate::stream::RecvHalf;
use crate::{ErrorCode, StreamId, StreamKey};

impl World {
    /// After every step.
    pub(super) fn check(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            if end.ended.is_none() {
                check_streams(end);
                check_memory(end);
            }
        }
        if self.is_whole() {
            let open = self.server.connection.open_streams();
            assert!(open <= self.setup.server.streams as usize, "{open} streams are open");
            self.check_windows();
        }
    }

    /// Both ends are there and what one has sent, the other will get.
    fn is_whole(&self) -> bool {
        !self.cut && self.client.ended.is_none() && self.server.ended.is_none()
    }

    /// What one end may send is what the other expects, less what is on its way (RFC 9113 6.9, wire-rules 83).
    fn check_windows(&self) {
        let Some(up) = self.flight(Role::Client) else { return };
        let Some(down) = self.flight(Role::Server) else { return };
        let (client, server) = (&self.client.connection, &self.server.connection);
        for (from, to, there, back) in [(client, server, &up, &down), (server, client, &down, &up)] {
            let missing = |id: StreamId| there.data(id) + back.credit(id);
            assert_eq!(
                i64::from(from.send_window.value()),
                i64::from(to.recv_window.value()) - missing(StreamId::CONNECTION),
                "the connection's window of the {:?}",
                from.role
            );
            for id in &self.server.layer.live {
                let (Some(sends), Some(receives)) = (from.streams.find(*id), to.streams.find(*id)) else {
                    continue;
                };
                let (Some(sends), Some(receives)) = (from.streams.get(sends), to.streams.get(receives))
                else {
                    continue;
                };
                if receives.recv == RecvHalf::Ended {
                    continue;
                }
                // Until SETTINGS have crossed the ends go by different sizes; growth is announced as credit.
                let configured = receives.recv_window.size() - receives.grown;
                let unknown = i64::from(configured) - i64::from(from.peer.initial_window_size);
                assert_eq!(
                    i64::from(sends.send_window.value()),
                    i64::from(receives.recv_window.value()) - missing(*id) - unknown,
                    "the window of stream {id} of the {:?}",
                    from.role
                );
            }
        }
    }

    /// The frames on their way from an end, unless there are too many to look at each time.
    fn flight(&self, from: Role) -> Option<Flight> {
        let (from, link, to) = match from {
            Role::Client => (&self.client, &self.up, &self.server),
            Role::Server => (&self.server, &self.down, &self.client),
        };
        if to.incoming.len() + link.len() + from.connection.output_len() > MOST_PARSED {
            return None;
        }
        let mut octets = to.incoming.clone();
        link.copy_to(&mut octets);
        let mut slices = [IoSlice::new(&[]); 64];
        let filled = from.connection.output_slices(&mut slices);
        slices[..filled].iter().for_each(|slice| octets.extend_from_slice(slice));
        (filled < slices.len()).then(|| Flight::parse(octets.strip_prefix(PREFACE).unwrap_or(&octets)))
    }

    /// Nothing moves and nobody has anything to say: whoever still waits must wait for a reason.
    pub(super) fn check_at_rest(&self) {
        for end in [&self.client, &self.server] {
            if end.ended.is_none() {
                assert!(end.layer.live.is_empty() && end.connection.open_streams() == 0);
                assert_eq!(end.connection.output_len(), 0);
                assert!(end.incoming.is_empty(), "{:?}", end.incoming);
            }
        }
        if self.is_whole() && self.up.is_empty() && self.down.is_empty() {
            for end in [&self.client, &self.server] {
                assert!(end.layer.pings.is_empty(), "a PING was not answered");
            }
        }
    }

    /// Both ends tell the same story of each stream.
    pub(super) fn compare(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            assert!(end.layer.live.is_empty());
            if end.ended != Some(Ended::PeerClosed) {
                assert_eq!(end.connection.open_streams(), 0);
                assert!(end.connection.poll_event().is_none());
                end.connection.trim();
                // Last words that the peer did not want to read may be left.
                let left = end.connection.footprint() - end.connection.output.footprint();
                assert!(left <= LEFT, "{left} octets are left");
            }
        }
        for id in self.server.layer.streams.keys() {
            assert!(self.client.layer.streams.contains_key(id));
        }
        for (id, here) in &self.client.layer.streams {
            let there = self.server.layer.streams.get(id);
            compare(here, there).unwrap_or_else(|| panic!("stream {id} is {here:?} and {there:?}"));
        }
    }
}

/// `None` if the two stories contradict each other.
fn compare(here: &Half, there: Option<&Half>) -> Option<()> {
    use Outcome::{Complete, Lost, Refused, ResetHere, ResetThere};
    let Some(there) = there else {
        let alone = match here.outcome? {
            Refused | Lost | ResetHere(_) => true,
            ResetThere(code) => code == ErrorCode::REFUSED_STREAM,
            Complete => false,
        };
        return alone.then_some(());
    };
    let agree = match (here.outcome?, there.outcome?) {
        (Refused, _)
        | (_, Refused)
        | (Complete | ResetThere(_), ResetThere(_))
        | (ResetThere(_), Complete) => false,
        (Complete, Complete) => {
            let all = |sender: &Half, receiver: &Half| receiver.gap || sender.sent == receiver.received;
            all(here, there) && all(there, here)
        }
        (ResetThere(code), ResetHere(sent)) | (ResetHere(sent), ResetThere(code)) => code == sent,
        // The reset came when all was over, or crossed the other's end.
        (ResetHere(_), Complete) => here.send_ended || here.blind.is_some(),
        (Complete, ResetHere(_)) => there.send_ended || there.blind.is_some(),
        (ResetHere(_), ResetHere(_)) | (Lost, _) | (_, Lost) => true,
    };
    agree.then_some(())
}

/// What the upper layer knows of every stream agrees with the engine.
fn check_streams(end: &mut End) {
    settle_ended(end);
    let End { connection, layer, .. } = end;
    assert_eq!(connection.open_streams(), layer.live.len());
    for id in &layer.live {
        check_open(connection, &layer.streams[id]);
    }
    let fault = connection.last_fault();
    assert!(fault.is_empty() || layer.stalled, "the engine blames its peer: {fault}");
}

/// Books the streams that the engine has let go without an event: by a rule, or they are lost.
pub(super) fn settle_ended(end: &mut End) {
    let End { connection, layer, .. } = end;
    if connection.open_streams() == layer.live.len() {
        return;
    }
    let gone = |id: &StreamId| !connection.is_open(layer.streams[id].key);
    let gone: Vec<_> = layer.live.iter().copied().filter(gone).collect();
    for id in gone {
        let half = &layer.streams[&id];
        let outcome = half.blind.map_or(Outcome::Complete, Outcome::ResetHere);
        let ended = half.send_ended && half.recv_ended;
        assert!(ended || half.blind.is_some(), "stream {id} is lost: {half:?}");
        layer.settle(id, outcome);
    }
}

fn check_open(connection: &Connection, half: &Half) {
    let stream = connection.streams.get(half.key).unwrap();
    let idle = half.send_ended && half.recv_ended && stream.queue.is_empty() && half.blind.is_none();
    assert!(!idle, "the stream has ended and is still there: {half:?}");
    assert_eq!(connection.is_remote_ended(half.key), stream.recv == RecvHalf::Ended);
    if half.blind.is_none() && !half.recv_ended {
        assert_eq!(stream.recv_window.held(), half.held, "{half:?}");
    }
    // An upper layer that was told to wait is told to go on.
    if half.waits {
        let room = stream.queue.len() < connection.config.send_buffer_per_stream
            && connection.output_len() < connection.config.write_buffer_high_water;
        let said = |event: &Event<'_>| matches!(event, Event::Writable { stream } if *stream == half.key);
        assert!(!room || connection.events.iter().any(said), "nobody says that there is room: {half:?}");
    }
    // With data and window a stream waits for its turn only (wire-rules 84).
    if !stream.queue.is_empty() && stream.send_window.available() > 0 {
        assert!(stream.scheduled, "stream {:?} gets no turn", half.key);
    }
}

/// Memory follows what is open and waiting, nothing else.
fn check_memory(end: &mut End) {
    let connection = &end.connection;
    let queued: usize = end.layer.live.iter().map(|id| connection.queued(end.layer.streams[id].key)).sum();
    let waiting = queued + connection.output_len();
    end.peak = end.peak.max(waiting);
    end.peak_streams = end.peak_streams.max(end.layer.live.len());
    let bound = BASE + 4 * end.peak + PER_STREAM * end.peak_streams;
    let footprint = connection.footprint();
    assert!(footprint <= bound, "{footprint} octets for {waiting} that wait; bound {bound}");
}

impl Connection {
    /// Heap octets in use.
    fn footprint(&self) -> usize {
        self.decoder.footprint()
            + self.encoder.footprint()
            + self.memo.footprint()
            + self.partial.as_ref().map_or(0, |partial| partial.footprint())
            + self.ids.footprint()
            + self.streams.footprint()
            + self.schedule.footprint()
            + self.output.footprint()
            + self.events.capacity() * size_of::<Event<'static>>()
            + self.writable_later.capacity() * size_of::<StreamKey>()
    }
}

/// Frames on their way, by stream: octets of flow-controlled data and of credit.
#[derive(Debug, Default)]
struct Flight {
    data: HashMap<StreamId, i64>,
    credit: HashMap<StreamId, i64>,
}

impl Flight {
    fn parse(mut octets: &[u8]) -> Self {
        let mut flight = Flight::default();
        while let Some(header) = FrameHeader::parse(octets) {
            match header.kind {
                FrameType::Data => {
                    for id in [header.stream, StreamId::CONNECTION] {
                        *flight.data.entry(id).or_default() += i64::from(header.len);
                    }
                }
                FrameType::WindowUpdate => {
                    let increment = octets[FRAME_HEADER_LEN..].first_chunk::<4>().unwrap();
                    let increment = u32::from_be_bytes(*increment);
                    *flight.credit.entry(header.stream).or_default() += i64::from(increment);
                }
                _ => {}
            }
            octets = &octets[header.frame_len()..];
        }
        assert!(octets.is_empty(), "part of a frame");
        flight
    }

    fn data(&self, id: StreamId) -> i64 {
        self.data.get(&id).copied().unwrap_or(0)
    }

    fn credit(&self, id: StreamId) -> i64 {
        self.credit.get(&id).copied().unwrap_or(0)
    }
}

/// More octets on their way than this are not parsed after every step.
const MOST_PARSED: usize = 64 * 1024;

/// Octets that a connection may keep for tables, memo, scratch and rings, whatever it does.
const BASE: usize = 512 * 1024;

/// Octets that a stream may cost beside its data.
const PER_STREAM: usize = 2_048;

/// Octets that a connection may keep when nothing is open and it was told to trim.
const LEFT: usize = 40 * 1024;
