//! Frames and header blocks as octets, legal or not.
//!
//! Written by hand, without the engine's own encoder: what is tested must not also say what is sent.

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const PRIORITIZED: u8 = 0x20;
/// A whole request or response in one frame.
pub(crate) const WHOLE: u8 = END_HEADERS | END_STREAM;

pub(crate) const CANCEL: u32 = 0x8;

/// SETTINGS_HEADER_TABLE_SIZE and the others, by their numbers.
pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
pub(crate) const ENABLE_PUSH: u16 = 2;
pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(crate) const MAX_FRAME_SIZE: u16 = 5;
pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;

/// A frame with any header; the length is the payload's.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() as u32).to_be_bytes();
    let mut octets = vec![len[1], len[2], len[3], kind, flags];
    octets.extend_from_slice(&stream.to_be_bytes());
    octets.extend_from_slice(payload);
    octets
}

pub(crate) fn data(stream: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    frame(0x0, flags, stream, payload)
}

pub(crate) fn headers(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(0x1, flags, stream, block)
}

pub(crate) fn priority(stream: u32, parent: u32, weight: u8) -> Vec<u8> {
    frame(0x2, 0, stream, &dependency(parent, weight))
}

pub(crate) fn rst_stream(stream: u32, code: u32) -> Vec<u8> {
    frame(0x3, 0, stream, &code.to_be_bytes())
}

pub(crate) fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in entries {
        payload.extend_from_slice(&id.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    frame(0x4, 0, 0, &payload)
}

pub(crate) fn ping(flags: u8, payload: [u8; 8]) -> Vec<u8> {
    frame(0x6, flags, 0, &payload)
}

pub(crate) fn goaway(last_stream: u32, code: u32, debug: &[u8]) -> Vec<u8> {
    let payload = [&last_stream.to_be_bytes()[..], &code.to_be_bytes(), debug].concat();
    frame(0x7, 0, 0, &payload)
}

pub(crate) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(0x8, 0, stream, &increment.to_be_bytes())
}

pub(crate) fn continuation(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(0x9, flags, stream, block)
}

/// What a prioritized HEADERS frame and PRIORITY have in common.
pub(crate) fn dependency(parent: u32, weight: u8) -> Vec<u8> {
    [&parent.to_be_bytes()[..], &[weight]].concat()
}

/// A header block of literals that are not indexed, names and values as they are.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0x00);
        for text in [name, value] {
            assert!(text.len() < 127, "one octet says the length");
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

const REQUEST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "localhost")];

/// A request's block.
pub(crate) fn request() -> Vec<u8> {
    request_with(&[])
}

/// A request's block with more fields behind the usual ones.
pub(crate) fn request_with(more: &[(&str, &str)]) -> Vec<u8> {
    block(&[&REQUEST[..], more].concat())
}

/// A request's block without one of its fields.
pub(crate) fn request_without(name: &str) -> Vec<u8> {
    let kept: Vec<_> = REQUEST.into_iter().filter(|(other, _)| *other != name).collect();
    block(&kept)
}

/// A response's block.
pub(crate) fn response() -> Vec<u8> {
    response_with(&[])
}

/// A response's block with more fields behind the status.
pub(crate) fn response_with(more: &[(&str, &str)]) -> Vec<u8> {
    block(&[&[(":status", "200")][..], more].concat())
}

/// Some more field lines for a block, as one that goes on in CONTINUATION has.
pub(crate) fn more_fields() -> Vec<u8> {
    block(&[("x-more", "of it")])
}
