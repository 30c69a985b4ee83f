//! Judges what an engine sends by the octets alone: framing, order, windows, limits, header blocks.
//!
//! Written from the RFC and not from the engine: it reads frames by hand and blocks by another decoder, so that
//! a mistake would have to be made twice to stay unseen. It sees the octets in both directions in the order in
//! which the engine handles and writes them.

use std::collections::{BTreeMap, VecDeque};

/// One engine under observation.
pub struct Referee {
    is_client: bool,
    /// Octets sent that are not yet a whole frame.
    sent: Vec<u8>,
    /// Octets received that are not yet a whole frame.
    received: Vec<u8>,
    preface_sent: bool,
    preface_received: bool,
    first_frame_sent: bool,
    /// GOAWAY with an error was sent: nothing may follow.
    over: bool,
    last_goaway: Option<u32>,
    /// What the peer's SETTINGS say, once acknowledged; each received frame waits for its acknowledgement.
    peer: Settings,
    unacknowledged: VecDeque<Vec<(u16, u32)>>,
    unanswered_pings: usize,
    connection_window: i64,
    streams: BTreeMap<u32, Stream>,
    /// Stream and flags of a block whose CONTINUATION must follow, and its octets so far.
    open_block: Option<(u32, bool, Vec<u8>)>,
    decoder: loona_hpack::Decoder<'static>,
    table: Table,
    /// WINDOW_UPDATE for streams of which nothing was sent yet.
    early_credit: BTreeMap<u32, i64>,
    /// Frames judged, by type.
    pub frames: [usize; 10],
}

#[derive(Clone, Copy)]
struct Settings {
    initial_window: i64,
    max_frame_size: usize,
}

/// The size of the sending side's compression table (RFC 7541, 4.2).
struct Table {
    /// As announced last.
    size: usize,
    limit: usize,
    /// The lowest limit since the last block.
    lowest: usize,
}

/// What was sent on a stream.
struct Stream {
    window: i64,
    head_sent: bool,
    ended: bool,
    reset: bool,
}

impl Referee {
    /// Watches a client or a server from its first octet on.
    pub fn new(is_client: bool) -> Self {
        Referee {
            is_client,
            sent: Vec::new(),
            received: Vec::new(),
            preface_sent: !is_client,
            preface_received: is_client,
            first_frame_sent: false,
            over: false,
            last_goaway: None,
            peer: Settings { initial_window: 65_535, max_frame_size: 16_384 },
            unacknowledged: VecDeque::new(),
            unanswered_pings: 0,
            connection_window: 65_535,
            streams: BTreeMap::new(),
            open_block: None,
            decoder: loona_hpack::Decoder::new(),
            table: Table { size: 4096, limit: 4096, lowest: 4096 },
            early_credit: BTreeMap::new(),
            frames: [0; 10],
        }
    }

    /// The engine has handled these octets of its peer without an objection.
    pub fn on_received(&mut self, octets: &[u8]) {
        self.received.extend_from_slice(octets);
        if !self.preface_received {
            if self.received.len() < PREFACE.len() {
                return;
            }
            assert_eq!(self.received[..PREFACE.len()], *PREFACE, "a preface was accepted");
            self.received.drain(..PREFACE.len());
            self.preface_received = true;
        }
        while let Some((kind, flags, stream, payload)) = take_frame(&mut self.received) {
            self.on_frame_received(kind, flags, stream, &payload);
        }
    }

    fn on_frame_received(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        match kind {
            SETTINGS if flags & ACK == 0 => {
                let entries = payload.chunks_exact(6).map(|entry| {
                    let id = u16::from_be_bytes([entry[0], entry[1]]);
                    (id, be32(&entry[2..]))
                });
                self.unacknowledged.push_back(entries.collect());
            }
            PING if flags & ACK == 0 => self.unanswered_pings += 1,
            // One that overflows the window of a stream ends the stream: credit that is counted here too is
            // never used.
            WINDOW_UPDATE if payload.len() == 4 => {
                let increment = i64::from(be32(payload) & 0x7fff_ffff);
                match self.streams.get_mut(&stream) {
                    _ if stream == 0 => self.connection_window += increment,
                    Some(stream) => stream.window += increment,
                    None => *self.early_credit.entry(stream).or_default() += increment,
                }
            }
            HEADERS if !self.is_client => {
                // Opens the stream, if it is new: from now on it may be spoken on.
                self.stream(stream);
            }
            _ => {}
        }
    }

    /// The engine has written these octets.
    pub fn on_sent(&mut self, octets: &[u8]) {
        self.sent.extend_from_slice(octets);
        if !self.preface_sent {
            let known = self.sent.len().min(PREFACE.len());
            assert_eq!(self.sent[..known], PREFACE[..known], "a client begins with the preface");
            if known < PREFACE.len() {
                return;
            }
            self.sent.drain(..PREFACE.len());
            self.preface_sent = true;
        }
        while let Some((kind, flags, stream, payload)) = take_frame(&mut self.sent) {
            self.judge(kind, flags, stream, &payload);
        }
    }

    /// No frame may have been left half-written.
    pub fn on_end(&self) {
        assert!(self.sent.is_empty(), "{} octets of a frame that never ended", self.sent.len());
        assert!(self.open_block.is_none(), "a header block that never ended");
    }

    fn judge(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        assert!(!self.over, "frame of type {kind} after a GOAWAY with an error");
        assert!(payload.len() <= self.peer.max_frame_size, "frame of {} octets (4.2)", payload.len());
        if !self.first_frame_sent {
            assert_eq!((kind, flags & ACK), (SETTINGS, 0), "SETTINGS come first (3.4)");
            self.first_frame_sent = true;
        }
        if let Some((open, ..)) = self.open_block {
            assert_eq!((kind, stream), (CONTINUATION, open), "nothing inside a block (6.10)");
        }
        self.frames[usize::from(kind).min(9)] += 1;
        match kind {
            DATA => self.judge_data(flags, stream, payload),
            HEADERS => self.judge_headers(flags, stream, payload),
            RST_STREAM => {
                assert_eq!(payload.len(), 4);
                self.assert_not_idle(stream, "RST_STREAM");
                let stream = self.stream(stream);
                assert!(!stream.reset, "one RST_STREAM is enough (5.4.2)");
                stream.reset = true;
            }
            SETTINGS if flags & ACK != 0 => {
                assert_eq!((stream, payload.len()), (0, 0));
                let entries =
                    self.unacknowledged.pop_front().expect("an acknowledgement of something (6.5.3)");
                self.apply(&entries);
            }
            SETTINGS => assert!(stream == 0 && payload.len().is_multiple_of(6)),
            PING => {
                assert_eq!((stream, payload.len()), (0, 8));
                if flags & ACK != 0 {
                    self.unanswered_pings = self.unanswered_pings.checked_sub(1).expect("a PING to answer");
                }
            }
            GOAWAY => self.judge_goaway(stream, payload),
            WINDOW_UPDATE => {
                assert_eq!(payload.len(), 4);
                let increment = be32(payload);
                assert!((1..=0x7fff_ffff).contains(&increment), "increment {increment} (6.9)");
                if stream != 0 {
                    self.assert_not_idle(stream, "WINDOW_UPDATE");
                    assert!(!self.stream(stream).reset, "WINDOW_UPDATE after RST_STREAM");
                }
            }
            CONTINUATION => {
                let (_, end_stream, mut block) = self.open_block.take().expect("a block to continue (6.10)");
                block.extend_from_slice(payload);
                self.on_fragment(flags, stream, end_stream, block);
            }
            other => panic!("frame of type {other} is never sent"),
        }
    }

    fn judge_data(&mut self, flags: u8, id: u32, payload: &[u8]) {
        assert_eq!(flags & !END_STREAM, 0, "DATA without padding");
        let len = payload.len() as i64;
        assert!(len <= self.connection_window.max(0), "DATA of {len} beyond the connection's window (6.9.1)");
        self.connection_window -= len;
        let stream = self.stream(id);
        assert!(stream.head_sent, "DATA before HEADERS on {id} (8.1)");
        assert!(!stream.ended && !stream.reset, "DATA on {id} after its end (5.1)");
        assert!(len <= stream.window.max(0), "DATA of {len} beyond the window of {id} (6.9.1)");
        stream.window -= len;
        stream.ended = flags & END_STREAM != 0;
    }

    fn judge_headers(&mut self, flags: u8, id: u32, payload: &[u8]) {
        assert_eq!(flags & !(END_STREAM | END_HEADERS), 0, "HEADERS without padding and priority");
        if self.is_client {
            assert!(id % 2 == 1, "a client's streams are odd (5.1.1)");
            let newest = self.streams.keys().next_back();
            let grows = newest.is_none_or(|newest| id > *newest);
            assert!(self.streams.contains_key(&id) || grows, "ids grow (5.1.1)");
        } else {
            self.assert_not_idle(id, "HEADERS");
        }
        let end_stream = flags & END_STREAM != 0;
        let stream = self.stream(id);
        assert!(!stream.ended && !stream.reset, "HEADERS on {id} after its end (5.1)");
        assert!(!stream.head_sent || end_stream, "trailers of {id} end it (8.1)");
        stream.head_sent = true;
        stream.ended = end_stream;
        self.on_fragment(flags, id, end_stream, payload.to_vec());
    }

    fn on_fragment(&mut self, flags: u8, stream: u32, end_stream: bool, block: Vec<u8>) {
        if flags & END_HEADERS == 0 {
            self.open_block = Some((stream, end_stream, block));
            return;
        }
        self.table.on_block(&block);
        let list = self.decoder.decode(&block).expect("a block that another decoder reads");
        let is_pseudo = |(name, _): &(Vec<u8>, Vec<u8>)| name.starts_with(b":");
        let pseudo = list.iter().take_while(|field| is_pseudo(field)).count();
        assert!(!list[pseudo..].iter().any(is_pseudo), "pseudo-header fields come first (8.3)");
    }

    fn judge_goaway(&mut self, stream: u32, payload: &[u8]) {
        assert!(stream == 0 && payload.len() >= 8);
        let (last, code) = (be32(payload), be32(&payload[4..]));
        assert!(last <= 0x7fff_ffff && self.last_goaway.is_none_or(|earlier| last <= earlier), "6.8");
        self.last_goaway = Some(last);
        self.over = code != 0;
    }

    fn apply(&mut self, entries: &[(u16, u32)]) {
        for &(id, value) in entries {
            match id {
                0x1 => {
                    self.table.limit = value as usize;
                    self.table.lowest = self.table.lowest.min(self.table.limit);
                }
                0x5 => self.peer.max_frame_size = value as usize,
                _ => {}
            }
        }
        // 6.5.3: of several values only the last is ever in force.
        let window = entries.iter().rev().find(|(id, _)| *id == 0x4).map(|(_, value)| i64::from(*value));
        if let Some(window) = window {
            let difference = window - self.peer.initial_window;
            self.peer.initial_window = window;
            self.streams.values_mut().for_each(|stream| stream.window += difference);
        }
    }

    /// A stream below the newest one was used or stepped over, and is closed (5.1.1).
    fn assert_not_idle(&self, id: u32, what: &str) {
        let newest = self.streams.keys().next_back();
        let used = newest.is_some_and(|newest| id <= *newest);
        assert!(id % 2 == 1 && used, "{what} on {id}, which is idle (5.1)");
    }

    fn stream(&mut self, id: u32) -> &mut Stream {
        let initial = self.peer.initial_window;
        let early = &mut self.early_credit;
        self.streams.entry(id).or_insert_with(|| Stream {
            window: initial + early.remove(&id).unwrap_or(0),
            head_sent: false,
            ended: false,
            reset: false,
        })
    }
}

impl Table {
    /// Reads the size updates at the front of a block: a table above the limit is made smaller there, down to
    /// the lowest limit since the last block, and ends within the present one.
    fn on_block(&mut self, mut block: &[u8]) {
        let mut lowest = self.size;
        while let Some((&first @ 0x20..0x40, mut rest)) = block.split_first() {
            let mut size = usize::from(first & 0x1f);
            let mut shift = 0;
            while shift > 0 || size == 0x1f {
                let (&octet, more) = rest.split_first().expect("a whole integer (RFC 7541, 5.1)");
                rest = more;
                size += usize::from(octet & 0x7f) << shift;
                shift += 7;
                if octet & 0x80 == 0 {
                    break;
                }
            }
            block = rest;
            self.size = size;
            lowest = lowest.min(size);
        }
        assert!(self.size <= self.limit, "a table of {} where {} is allowed", self.size, self.limit);
        assert!(lowest <= self.lowest, "a limit of {} that was never obeyed", self.lowest);
        self.lowest = self.limit;
    }
}

impl std::fmt::Debug for Referee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Referee").field("frames", &self.frames).finish_non_exhaustive()
    }
}

/// Takes a whole frame off the front: type, flags, stream, payload.
fn take_frame(octets: &mut Vec<u8>) -> Option<(u8, u8, u32, Vec<u8>)> {
    let head = octets.first_chunk::<9>()?;
    let len = be32(&[0, head[0], head[1], head[2]]) as usize;
    let (kind, flags, stream) = (head[3], head[4], be32(&head[5..]) & 0x7fff_ffff);
    if octets.len() < 9 + len {
        return None;
    }
    let payload = octets[9..9 + len].to_vec();
    octets.drain(..9 + len);
    Some((kind, flags, stream, payload))
}

fn be32(octets: &[u8]) -> u32 {
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PING: u8 = 0x6;
const GOAWAY: u8 = 0x7;
const WINDOW_UPDATE: u8 = 0x8;
const CONTINUATION: u8 = 0x9;

const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
