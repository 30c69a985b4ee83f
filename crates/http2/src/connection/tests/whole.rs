//! The short ways for whole requests and responses do what the long ones do, or nothing.

use super::scripted::{Scripted, Written};
use super::{REQUEST, RESPONSE, TRAILERS, fields};
use crate::connection::Config;
use crate::frame::{FRAME_HEADER_LEN, Setting, Settings, seal_block};
use crate::{CachedBlock, StreamId, StreamKey};

/// A client that has made a call, so that blocks are known on both sides.
fn warm() -> (Scripted, CachedBlock) {
    let mut scripted = Scripted::client(Config::client());
    let mut block = CachedBlock::default();
    for _ in 0..40 {
        let key = open(&mut scripted, &mut block);
        let id = key.id().value();
        scripted.headers(id, &RESPONSE, false).unwrap();
        scripted.data(id, b"answer", false).unwrap();
        scripted.headers(id, &TRAILERS, true).unwrap();
        assert!(!scripted.connection.is_open(key));
    }
    scripted.written();
    (scripted, block)
}

/// A request step by step.
fn open(scripted: &mut Scripted, block: &mut CachedBlock) -> StreamKey {
    let key = scripted.connection.open_cached(block, || fields(&REQUEST), false).unwrap();
    let mut write = scripted.connection.write_only_data(key, 7).unwrap();
    write.buffers().0.extend_from_slice(b"message");
    write.commit().unwrap();
    key
}

/// A request in one go.
fn open_whole(scripted: &mut Scripted, block: &CachedBlock) -> Option<StreamKey> {
    let mut write = scripted.connection.open_whole(block, 7)?;
    write.buffers().0.extend_from_slice(b"message");
    write.commit()
}

/// The frames without their streams.
fn shapes(frames: &[Written]) -> Vec<(u8, u8, Vec<u8>)> {
    let shape = |frame: &Written| (frame.header.kind.to_wire(), frame.header.flags.0, frame.payload.clone());
    frames.iter().map(shape).collect()
}

/// A response of one DATA frame as octets.
fn response(scripted: &mut Scripted, id: u32, data: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    block(scripted, id, &RESPONSE, false, &mut octets);
    data_frame(id, 0, data, &mut octets);
    block(scripted, id, &TRAILERS, true, &mut octets);
    octets
}

fn block(scripted: &mut Scripted, id: u32, list: &[(&str, &str)], end: bool, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.extend_from_slice(&[0; FRAME_HEADER_LEN]);
    scripted.encoder.encode_block(fields(list), octets);
    seal_block(octets, start, StreamId::new(id), end, 16_384);
}

fn data_frame(id: u32, flags: u8, data: &[u8], octets: &mut Vec<u8>) {
    octets.extend_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
    octets.extend_from_slice(&[0, flags]);
    octets.extend_from_slice(&id.to_be_bytes());
    octets.extend_from_slice(data);
}

#[test]
fn a_whole_request_is_the_same_on_the_wire() {
    let (mut scripted, mut block) = warm();
    let before = scripted.connection.send_window.available();
    let long = open(&mut scripted, &mut block);
    let expected = scripted.written();
    let after_long = scripted.connection.send_window.available();
    let whole = open_whole(&mut scripted, &block).unwrap();
    let frames = scripted.written();
    assert_eq!(shapes(&frames), shapes(&expected));
    assert!(frames.iter().all(|frame| frame.stream() == whole.id().value()));
    assert_eq!(whole.id().value(), long.id().value() + 2);
    assert_eq!(before - after_long, after_long - scripted.connection.send_window.available());
    let streams = &scripted.connection.streams;
    let (long, whole) = (streams.get(long).unwrap(), streams.get(whole).unwrap());
    assert_eq!((long.send, long.recv, long.send_window), (whole.send, whole.recv, whole.send_window));
}

#[test]
fn a_whole_request_that_is_not_committed_leaves_no_trace() {
    let (mut scripted, mut block) = warm();
    let mut write = scripted.connection.open_whole(&block, 7).unwrap();
    write.buffers().0.extend_from_slice(b"mess");
    assert_eq!(write.commit(), None, "another length than announced");
    drop(write);
    assert_eq!((scripted.connection.output_len(), scripted.connection.open_streams()), (0, 0));
    let key = open_whole(&mut scripted, &block).unwrap();
    assert_eq!(open(&mut scripted, &mut block).id().value(), key.id().value() + 2);
}

#[test]
fn what_stands_in_the_way_of_a_whole_request_leaves_it_to_the_long_way() {
    let refuses = |change: &dyn Fn(&mut Scripted)| {
        let (mut scripted, block) = warm();
        change(&mut scripted);
        scripted.written();
        assert!(open_whole(&mut scripted, &block).is_none());
        assert_eq!((scripted.connection.output_len(), scripted.connection.open_streams()), (0, 0));
    };
    let set = |setting: Setting| {
        move |scripted: &mut Scripted| {
            let mut octets = Vec::new();
            Settings::encode_entries(&[setting], &mut octets);
            scripted.receive(&octets).unwrap();
        }
    };
    refuses(&set(Setting::InitialWindowSize(6)));
    refuses(&set(Setting::MaxConcurrentStreams(0)));
    refuses(&set(Setting::MaxHeaderListSize(10)));
    refuses(&set(Setting::HeaderTableSize(0)));
    let (mut scripted, _) = warm();
    assert!(open_whole(&mut scripted, &CachedBlock::default()).is_none(), "not encoded yet");
}

#[test]
fn a_whole_response_is_found_and_ends_its_stream() {
    let (mut scripted, block) = warm();
    let key = open_whole(&mut scripted, &block).unwrap();
    let octets = response(&mut scripted, key.id().value(), b"answer");
    let (window, now) = (scripted.connection.recv_window.available(), scripted.now);
    let input = [&octets[..], b"more"].concat();
    let found = scripted.connection.peek_response(&input).unwrap();
    assert_eq!((found.stream, found.data, found.len), (key, &b"answer"[..], octets.len()));
    assert_eq!((found.head.status(), found.trailers.field(b"grpc-status")), (Some(200), Some(&b"0"[..])));
    scripted.connection.accept_response(key, 6, now).unwrap();
    assert!(!scripted.connection.is_open(key));
    assert_eq!(window - scripted.connection.recv_window.available(), 6);
    // A late frame is what it is after any other end.
    assert!(scripted.data(key.id().value(), b"late", false).is_err());
    for len in 0..octets.len() {
        assert!(scripted.connection.peek_response(&octets[..len]).is_none(), "{len} octets are not all");
    }
}

#[test]
fn what_is_not_as_usual_is_no_whole_response() {
    let (mut scripted, block) = warm();
    let key = open_whole(&mut scripted, &block).unwrap();
    let id = key.id().value();
    let good = response(&mut scripted, id, b"answer");
    assert!(scripted.connection.peek_response(&good).is_some());
    let with_parts = |scripted: &mut Scripted, head: &[(&str, &str)], data: &[(u32, u8, &[u8])], end| {
        let mut octets = Vec::new();
        self::block(scripted, id, head, false, &mut octets);
        for (id, flags, data) in data {
            data_frame(*id, *flags, data, &mut octets);
        }
        self::block(scripted, id, &TRAILERS, end, &mut octets);
        octets
    };
    let usual: [(u32, u8, &[u8]); 1] = [(id, 0, b"answer")];
    let cases = [
        with_parts(&mut scripted, &RESPONSE, &[], true),
        with_parts(&mut scripted, &RESPONSE, &[(id, 0, b"")], true),
        with_parts(&mut scripted, &RESPONSE, &[(id, 0, b"ans"), (id, 0, b"wer")], true),
        with_parts(&mut scripted, &RESPONSE, &[(id, 8, b"\x01answer ")], true),
        with_parts(&mut scripted, &RESPONSE, &[(id, 1, b"answer")], true),
        with_parts(&mut scripted, &RESPONSE, &[(id + 2, 0, b"answer")], true),
        with_parts(&mut scripted, &RESPONSE, &usual, false),
        with_parts(&mut scripted, &[(":status", "204")], &usual, true),
        with_parts(&mut scripted, &[(":status", "200"), ("x", "y")], &usual, true),
        response(&mut scripted, id + 2, b"answer"),
        response(&mut scripted, id, &vec![1; 70_000]),
    ];
    for (number, octets) in cases.iter().enumerate() {
        assert!(scripted.connection.peek_response(octets).is_none(), "case {number}");
    }
    // A response to a request that is not out.
    let (mut scripted, mut block) = warm();
    let key = scripted.connection.open_cached(&mut block, || fields(&REQUEST), false).unwrap();
    let early = response(&mut scripted, key.id().value(), b"answer");
    assert!(scripted.connection.peek_response(&early).is_none());
}
