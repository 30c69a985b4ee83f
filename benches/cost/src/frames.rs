//! HTTP/2 frames as the other end makes and reads them.

use peregrine_http2::Field;
use peregrine_http2::hpack::Encoder;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_WINDOW: u32 = (1 << 31) - 1;
const DEFAULT_WINDOW: u32 = 65_535;
/// Payload of a DATA frame at most: what a peer takes that has said nothing.
const MAX_FRAME: usize = 16_384;

/// A frame's head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) len: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

pub(crate) fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// `body` in as many DATA frames as it takes, the last with `flags`.
pub(crate) fn data(out: &mut Vec<u8>, flags: u8, stream: u32, body: &[u8]) {
    let mut chunks = body.chunks(MAX_FRAME).peekable();
    while let Some(chunk) = chunks.next() {
        frame(out, DATA, if chunks.peek().is_none() { flags } else { 0 }, stream, chunk);
    }
}

/// The first frames of either side: windows that never run short, and what acknowledges the other side's settings.
pub(crate) fn opening(out: &mut Vec<u8>) {
    let mut settings = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    settings.extend(MAX_WINDOW.to_be_bytes());
    frame(out, SETTINGS, 0, 0, &settings);
    frame(out, SETTINGS, ACK, 0, &[]);
    window(out, MAX_WINDOW - DEFAULT_WINDOW);
}

/// Gives the peer back what the connection's window has lost.
pub(crate) fn window(out: &mut Vec<u8>, bytes: u32) {
    frame(out, WINDOW_UPDATE, 0, 0, &bytes.to_be_bytes());
}

/// The frame at the front of `input`, if it is whole.
pub(crate) fn parse(input: &[u8]) -> Option<(Head, &[u8])> {
    let (head, rest) = input.split_at_checked(9)?;
    let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some((Head { len, kind: head[3], flags: head[4], stream }, rest.get(..len)?))
}

/// A header block as it is sent again and again: other bytes until both tables have its fields, and then the same.
#[derive(Debug, Default)]
pub(crate) struct Block {
    rounds: Vec<Vec<u8>>,
}

impl Block {
    /// As it is sent the `round`th time, from 0.
    pub(crate) fn at(&self, round: usize) -> &[u8] {
        self.rounds.get(round).or(self.rounds.last()).map_or(&[], Vec::as_slice)
    }
}

/// The blocks of a connection, which are sent in this order, each list of fields once a round.
pub(crate) fn blocks<const N: usize>(lists: [&[(String, String)]; N]) -> [Block; N] {
    const ROUNDS: usize = 4;
    let mut encoder = Encoder::new(1);
    let mut blocks = lists.map(|_| Block::default());
    for _ in 0..ROUNDS {
        for (block, fields) in blocks.iter_mut().zip(lists) {
            let mut out = Vec::new();
            encoder.start_block(&mut out);
            for (name, value) in fields {
                encoder.encode(Field::new(name.as_bytes(), value.as_bytes()), &mut out);
            }
            block.rounds.push(out);
        }
    }
    blocks
}

/// A gRPC message: its prefix and its bytes.
pub(crate) fn message(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0];
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend(bytes);
    out
}

/// `bench.EchoMsg` with a payload of `size` bytes and the id 7.
pub(crate) fn echo(size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if size > 0 {
        out.push(0x0a);
        varint(size, &mut out);
        out.extend(std::iter::repeat_n(0x5a, size));
    }
    out.extend([0x10, 7]);
    out
}

/// `bench.StreamReq`.
pub(crate) fn stream_request(count: usize, size: usize) -> Vec<u8> {
    let mut out = vec![0x08];
    varint(count, &mut out);
    out.push(0x10);
    varint(size, &mut out);
    out
}

/// `bench.Summary`.
pub(crate) fn summary(count: usize, bytes: usize) -> Vec<u8> {
    let mut out = vec![0x08];
    varint(count, &mut out);
    out.push(0x10);
    varint(bytes, &mut out);
    out
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// `count` fields of metadata.
pub(crate) fn metadata(count: usize) -> impl Iterator<Item = (String, String)> {
    (0..count).map(|index| (format!("x-entry-{index:02}"), format!("value number {index:03}")))
}
