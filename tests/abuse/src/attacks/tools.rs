//! What attackers have in common: floods, requests in pieces, header blocks by hand.

use std::time::Duration;

use bytes::Bytes;
use peregrine_http2::StreamId;
use peregrine_http2::frame::{Flags, FrameHeader, FrameType, Headers};
use peregrine_testkit::Peer;
use peregrine_testkit::peer::{data_frame, request_head};

use crate::{Line, Seen};

/// Bytes of one write. A server reads several of them at once.
const WRITE: usize = 8 * 1024;

/// How long a server may leave a write waiting before the attacker gives up.
const STUCK: Duration = Duration::from_secs(2);

/// Sends `count` pieces, each made by `next`, and reads what comes back all the while. Ends early when the server
/// has closed.
pub(super) async fn flood(
    peer: &mut Peer<Line>,
    count: usize,
    mut next: impl FnMut(&mut Peer<Line>, usize, &mut Vec<u8>),
) -> Seen {
    let mut seen = Seen::default();
    let mut sent = 0;
    while sent < count && !seen.closed {
        let mut bytes = Vec::new();
        while sent < count && bytes.len() < WRITE {
            next(peer, sent, &mut bytes);
            sent += 1;
        }
        if peer.try_send_bytes(&bytes).await.is_err() {
            break;
        }
        seen.glance(peer).await;
    }
    seen.to_the_end(peer).await
}

/// The same without reading anything until all is sent, the server has closed, or it does not read any more either.
/// The note says how far it came.
pub(super) async fn deaf_flood(
    peer: &mut Peer<Line>,
    count: usize,
    mut next: impl FnMut(&mut Peer<Line>, usize, &mut Vec<u8>),
) -> Seen {
    let mut sent = 0;
    let mut seen = Seen::default();
    while sent < count {
        let mut bytes = Vec::new();
        while sent < count && bytes.len() < WRITE {
            next(peer, sent, &mut bytes);
            sent += 1;
        }
        match tokio::time::timeout(STUCK, peer.try_send_bytes(&bytes)).await {
            Ok(Ok(())) => {}
            Ok(Err(_closed)) => break,
            Err(_waits) => {
                "the server stopped reading".clone_into(&mut seen.note);
                break;
            }
        }
    }
    seen.to_the_end(peer).await
}

/// Appends the start of a gRPC call: HEADERS, and DATA if there is a body.
pub(super) fn call(
    peer: &mut Peer<Line>,
    path: &str,
    fields: &[(&str, &str)],
    body: &[u8],
    end_stream: bool,
    out: &mut Vec<u8>,
) -> StreamId {
    let mut head = request_head(path);
    head.extend(
        fields.iter().map(|&(name, value)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes()))),
    );
    let stream = peer.open();
    peer.encode_headers(stream, &head, end_stream && body.is_empty(), out);
    if !body.is_empty() {
        data_frame(stream, body, end_stream).encode(out);
    }
    stream
}

/// Appends HEADERS with a complete block that the caller has encoded.
pub(super) fn headers(stream: StreamId, fragment: &[u8], end_stream: bool, out: &mut Vec<u8>) {
    Headers { stream, dependency: None, fragment, end_stream, end_headers: true, padding: None }.encode(out);
}

/// Appends a field that enters no table (RFC 7541, 6.2.2), both strings as they are.
pub(super) fn literal(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0x00);
    string(name, out);
    string(value, out);
}

/// Appends a field that enters the dynamic table (RFC 7541, 6.2.1).
pub(super) fn indexed_literal(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0x40);
    string(name, out);
    string(value, out);
}

/// Appends a string without Huffman code (RFC 7541, 5.2).
pub(super) fn string(bytes: &[u8], out: &mut Vec<u8>) {
    integer(0x00, 7, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Appends an integer behind the bits of `first` (RFC 7541, 5.1).
pub(super) fn integer(first: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let max = (1 << bits) - 1;
    if value < max {
        out.push(first | value as u8);
        return;
    }
    out.push(first | max as u8);
    let mut rest = value - max;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The header block that every call begins with, by literals that enter no table.
pub(super) fn raw_head(path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in request_head(path) {
        literal(name.as_bytes(), &value, &mut block);
    }
    block
}

/// Appends WINDOW_UPDATE of nothing, which no honest encoder writes.
pub(super) fn empty_window_update(stream: StreamId, out: &mut Vec<u8>) {
    FrameHeader { len: 4, kind: FrameType::WindowUpdate, flags: Flags::NONE, stream }.encode(out);
    out.extend_from_slice(&[0; 4]);
}
