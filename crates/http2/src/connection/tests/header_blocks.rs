//! Header blocks: CONTINUATION in both directions, sizes, the memo, cached blocks, the order of encoding.

use std::sync::Arc;

use super::scripted::{Scripted, Written, raw_frame};
use super::{REQUEST, RESPONSE, Seen, TRAILERS, fields};
use crate::connection::Config;
use crate::frame::{Frame, FrameType};
use crate::{Blame, CachedBlock, ErrorCode, Field, Head, OpenError, StreamError};

const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

fn server() -> Scripted {
    Scripted::server(Config::server())
}

/// A block of one request as HEADERS and CONTINUATION frames of `part` octets.
fn in_parts(block: &[u8], part: usize, id: u32) -> Vec<u8> {
    let mut octets = Vec::new();
    let count = block.chunks(part).count();
    for (at, fragment) in block.chunks(part).enumerate() {
        let kind = if at == 0 { 0x1 } else { 0x9 };
        let flags = if at + 1 == count { END_HEADERS } else { 0 };
        octets.extend(raw_frame(kind, flags, id, fragment));
    }
    octets
}

#[test]
fn a_block_may_be_cut_anywhere() {
    // wire-rules 28
    let mut scripted = server();
    for (id, part) in (1..).step_by(2).zip([1, 2, 7, 1000]) {
        let block = scripted.block(&REQUEST);
        let seen = scripted.receive(&in_parts(&block, part, id)).unwrap();
        let [Seen::Headers { head, end_stream: false, .. }] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(head.fields().count(), 2);
    }
}

#[test]
fn nothing_comes_between_the_parts_of_a_block() {
    // [9113-5.5-2] [9113-6.2-3] [9113-6.10-1]
    // RFC 9113 6.10
    for other in [
        raw_frame(0x6, 0, 0, &[0; 8]),
        raw_frame(0x9, END_HEADERS, 3, &[]),
        raw_frame(0x1, END_HEADERS, 1, &[0x82]),
        raw_frame(0xbe, 0, 0, &[]),
    ] {
        let mut scripted = server();
        scripted.raw(0x1, 0, 1, &[0x83]).unwrap();
        assert_eq!(scripted.receive(&other).unwrap_err().code(), ErrorCode::PROTOCOL_ERROR);
    }
    let error = server().raw(0x9, END_HEADERS, 1, &[0x82]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn a_broken_block_ends_the_connection() {
    // [9113-4.3-3]
    // RFC 9113 4.3
    let error = server().raw(0x1, END_HEADERS, 1, &[0xff, 0xff]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::COMPRESSION_ERROR);
}

#[test]
fn a_large_list_is_told_and_the_table_stays_in_step() {
    // [9113-4.3-2] [9113-10.5.1-1]
    // wire-rules 27, 28
    let mut scripted = server();
    let value = "v".repeat(30_000);
    let list = [&REQUEST[..], &[("large", &value)]].concat();
    let seen = scripted.headers(1, &list, true).unwrap();
    let [Seen::HeadersTooLarge { stream, size, limit: 16_384 }] = seen[..] else { panic!("{seen:?}") };
    assert_eq!(size, fields(&list).map(|field| field.size()).sum::<usize>());
    scripted.connection.send_headers(stream, fields(&[(":status", "431")]), true).unwrap();
    assert_eq!(scripted.written_one().kind(), FrameType::Headers);
    scripted.request(3, true);
    // Trailers and responses as well.
    scripted.request(5, false);
    let seen = scripted.headers(5, &[("large", &value)], true).unwrap();
    assert!(matches!(seen[..], [Seen::HeadersTooLarge { .. }]));
    let mut client = Scripted::client(Config::client());
    client.open(true);
    let seen = client.headers(1, &[(":status", "200"), ("large", &value)], false).unwrap();
    assert!(matches!(seen[..], [Seen::HeadersTooLarge { .. }]));
}

#[test]
fn a_configured_63_kilobyte_header_arrives_whole() {
    // wire-rules 28
    let mut scripted = Scripted::server(Config { max_header_list_size: 70_000, ..Config::server() });
    let value = "v".repeat(63 * 1024);
    let seen = scripted.headers(1, &[&REQUEST[..], &[("large", &value)]].concat(), true).unwrap();
    let [Seen::Headers { head, .. }] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(head.field(b"large"), Some(value.as_bytes()));
}

#[test]
fn a_list_beyond_the_hard_cap_ends_the_connection() {
    // [9113-10.5-1]
    // wire-rules 28, 87
    let mut scripted = server();
    // A large entry of the table, named often: little on the wire, much when decoded.
    let value = "v".repeat(3000);
    let list = [&REQUEST[..], &[("te", "trailers"), ("grpc-timeout", &value)]].concat();
    let mut block = scripted.block(&list);
    block.clear();
    // literal with incremental indexing, new name "x", then the newest entry many times
    block.extend_from_slice(&[0x40, 1, b'x', 0x7f, 0xb9, 0x16]);
    block.extend_from_slice(value.as_bytes());
    block.extend([0xbe; 100]);
    let error = scripted.raw(0x1, END_HEADERS, 1, &block).unwrap_err();
    let expected = (ErrorCode::ENHANCE_YOUR_CALM, "header_list_hard_cap", Blame::Limit);
    assert_eq!((error.code(), error.reason(), error.blame()), expected);
    assert_eq!(scripted.written_goaway().2, "header_list_hard_cap");
}

#[test]
fn an_endless_block_ends_the_connection() {
    // wire-rules 28, 87: CONTINUATION flood, by octets and by frames
    let mut scripted = server();
    scripted.raw(0x1, 0, 1, &[0x82]).unwrap();
    let part = [0x40; 16_384];
    let frames = (0..10_000).position(|_| scripted.raw(0x9, 0, 1, &part).is_err());
    assert!(frames.is_some_and(|frames| frames <= 4), "{frames:?}");
    assert_eq!(scripted.written_goaway().2, "header_list_hard_cap");

    let mut scripted = server();
    scripted.raw(0x1, 0, 1, &[0x82]).unwrap();
    let frames = (0..10_000).position(|_| scripted.raw(0x9, 0, 1, &[]).is_err());
    assert_eq!(frames, Some(128));
    assert_eq!(scripted.written_goaway().2, "continuation_frames");
}

#[test]
fn large_heads_leave_in_continuation_frames() {
    // [9113-4.1-1] [9113-4.3-1]
    let mut scripted = Scripted::client(Config::client());
    let value = "v".repeat(40_000);
    let list = [&REQUEST[..], &[("large", &value)]].concat();
    scripted.connection.open(fields(&list), true).unwrap();
    let frames = scripted.written();
    let kinds: Vec<_> = frames.iter().map(Written::kind).collect();
    assert_eq!(kinds[0], FrameType::Headers);
    assert!(kinds.len() > 1 && kinds[1..].iter().all(|kind| *kind == FrameType::Continuation));
    assert!(frames[0].ends_stream() && frames.iter().all(|frame| frame.payload.len() <= 16_384));
    let block: Vec<u8> = frames.iter().flat_map(|frame| frame.payload.clone()).collect();
    let mut count = 0;
    scripted.decoder.decode(&block, &mut |_| count += 1).unwrap();
    assert_eq!(count, list.len());
}

#[test]
fn nothing_beyond_the_peers_limit_is_sent() {
    // wire-rules 27
    let mut scripted = Scripted::client(Config::client());
    scripted.raw(0x4, 0, 0, &[0, 6, 0, 0, 0, 100]).unwrap();
    scripted.written();
    assert_eq!(scripted.connection.peer_max_header_list_size(), Some(100));
    let size = fields(&REQUEST).map(|field| field.size()).sum();
    let refused = OpenError::HeaderListTooLarge { size, limit: 100 };
    assert_eq!(scripted.connection.open(fields(&REQUEST), true).unwrap_err(), refused);
    let mut block = CachedBlock::default();
    assert_eq!(scripted.connection.open_cached(&mut block, || fields(&REQUEST), true).unwrap_err(), refused);
    assert!(scripted.written().is_empty() && scripted.connection.open_streams() == 0);
    let key = scripted.connection.open(fields(&[(":method", "GET")]), false).unwrap();
    assert_eq!(key.id().value(), 1);
    let refused = StreamError::HeaderListTooLarge { size, limit: 100 };
    assert_eq!(scripted.connection.send_headers(key, fields(&REQUEST), true), Err(refused));
}

#[test]
fn the_memo_gives_the_same_head_until_the_table_changes() {
    let mut scripted = server();
    let mut last: Option<Arc<Head>> = None;
    let mut shared = Vec::new();
    for round in 0..12_u32 {
        if round == 8 {
            // Enters the table, so that the same octets would mean something else.
            let seen =
                scripted.headers(1001, &[&REQUEST[..], &[("user-agent", "another")]].concat(), true).unwrap();
            assert!(matches!(seen[..], [Seen::Headers { .. }]));
        }
        let id = if round < 8 { 1 + 2 * round } else { 2001 + 2 * round };
        let seen = scripted.headers(id, &REQUEST, true).unwrap();
        let [Seen::Headers { head, .. }] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(head.path(), Some(&b"/pkg.Service/Method"[..]));
        assert_eq!(head.fields().count(), 2);
        // What was attached comes with the head.
        let first_seen = *head.attachment(|_| round);
        shared.push(last.as_ref().is_some_and(|last| Arc::ptr_eq(last, head)));
        assert_eq!(first_seen == round, !shared[round as usize]);
        last = Some(Arc::clone(head));
    }
    assert!(shared[4..8].iter().all(|shared| *shared), "{shared:?}");
    assert!(!shared[8], "{shared:?}");
    assert!(shared[11], "{shared:?}");
}

#[test]
fn the_same_octets_after_a_table_change_mean_what_the_table_says() {
    let mut scripted = server();
    // Two literals that enter the table, in front of a request that is all indices.
    let add = |name: u8| vec![0x40, 1, name, 1, b'1'];
    let request = [0x83, 0x86, 0x84, 0xbe]; // POST, http, /, newest entry
    let mut seen = Vec::new();
    for (id, extra) in (1..).step_by(2).zip([Some(b'a'), None, None, None, Some(b'b'), None, None, None]) {
        let block = extra.map_or(request.to_vec(), |name| [&request[..3], &add(name)[..]].concat());
        let events = scripted.raw(0x1, END_HEADERS | END_STREAM, id, &block).unwrap();
        let [Seen::Headers { head, .. }] = &events[..] else { panic!("{events:?}") };
        seen.push(head.fields().next().unwrap().name[0]);
    }
    assert_eq!(seen, *b"aaaabbbb");
}

#[test]
fn a_malformed_block_is_malformed_each_time() {
    let mut scripted = server();
    for id in (1..20).step_by(2) {
        assert!(scripted.raw(0x1, END_HEADERS | END_STREAM, id, &[0x83, 0x86]).unwrap().is_empty());
        assert_eq!(scripted.written_reset(id), ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn cached_blocks_stay_right_when_the_table_changes() {
    let mut scripted = server();
    let mut block = CachedBlock::default();
    let mut ids = (1..).step_by(2);
    for round in 0..30 {
        // Other heads change the table now and then, and so does the peer's limit.
        if round % 3 == 0 {
            let other = scripted.request(ids.next().unwrap(), true);
            let name = format!("x-{round}");
            let list = [RESPONSE[0], (&name, "value"), ("server", &name)];
            scripted.connection.send_headers(other, fields(&list), true).unwrap();
        }
        let key = scripted.request(ids.next().unwrap(), true);
        if round == 10 || round == 20 {
            let size = if round == 10 { 64 } else { 4096_u32 };
            scripted.raw(0x4, 0, 0, &[&[0, 1][..], &size.to_be_bytes()].concat()).unwrap();
            scripted.decoder.set_limit(size as usize);
        }
        scripted.connection.send_cached_headers(key, &mut block, || fields(&RESPONSE), true).unwrap();
        let mut heads = Vec::new();
        for frame in scripted.written() {
            if let Frame::Headers(headers) = frame.parse() {
                let mut list = Vec::new();
                let mut sink = |field: Field<'_>| list.push((field.name.to_vec(), field.value.to_vec()));
                scripted.decoder.decode(headers.fragment, &mut sink).unwrap();
                heads.push(list);
            }
        }
        let expected: Vec<_> =
            fields(&RESPONSE).map(|field| (field.name.to_vec(), field.value.to_vec())).collect();
        assert_eq!(heads.last(), Some(&expected), "round {round}");
    }
}

#[test]
fn trailers_that_waited_are_encoded_in_the_order_they_leave() {
    let mut scripted = server();
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.write(key, &vec![1; 70_000]).unwrap();
    let long = [TRAILERS[0], ("x-trailer", "waits behind the data")];
    for _ in 0..2 {
        // Known to repeat, so that it would enter the table.
        scripted.connection.send_headers(key, fields(&long), true).ok();
    }
    let check = |scripted: &mut Scripted, expected: &[(&str, &str)]| {
        let frames = scripted.written();
        let last = frames.iter().rfind(|frame| frame.kind() == FrameType::Headers).unwrap();
        let mut list = Vec::new();
        for frame in &frames {
            if frame.kind() == FrameType::Headers {
                list.clear();
                let mut sink = |field: Field<'_>| list.push((field.name.to_vec(), field.value.to_vec()));
                scripted.decoder.decode(&frame.payload, &mut sink).unwrap();
            }
        }
        let expected: Vec<_> =
            fields(expected).map(|field| (field.name.to_vec(), field.value.to_vec())).collect();
        assert_eq!(list, expected);
        last.stream()
    };
    check(&mut scripted, &RESPONSE);
    for id in (3..9).step_by(2) {
        let other = scripted.request(id, true);
        let head = [RESPONSE[0], ("x-other", "changes the table")];
        scripted.connection.send_headers(other, fields(&head), true).unwrap();
        assert_eq!(check(&mut scripted, &head), id);
    }
    scripted.window_update(0, 10_000).unwrap();
    scripted.window_update(1, 10_000).unwrap();
    assert_eq!(check(&mut scripted, &long), 1);
}
