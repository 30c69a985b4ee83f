//! What RFC 9113 forbids a peer, rule by rule: which error, how far it reaches, and that the connection lives
//! on after a stream error.

use std::time::Duration;

use super::scripted::{Scripted, raw_frame};
use super::{REQUEST, RESPONSE, Seen, TRAILERS, fields};
use crate::connection::{Config, Initiator, Role, input::PREFACE};
use crate::frame::{Frame, FrameType};
use crate::{Blame, ErrorCode};

/// A server that answers any number of PINGs, by which the tests see that a connection lives.
fn server() -> Scripted {
    Scripted::server(Config { ping_policy: None, ..Config::server() })
}

fn client() -> Scripted {
    Scripted::client(Config::client())
}

/// The frame ends the connection with `code`, and GOAWAY says why.
fn connection_error(mut scripted: Scripted, code: ErrorCode, octets: &[u8]) {
    scripted.written();
    let error = scripted.receive(octets).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    let (_, told, debug) = scripted.written_goaway();
    assert_eq!((told, &debug[..]), (code, error.reason()));
    // What still comes is read and given up.
    assert!(scripted.receive(&raw_frame(0x6, 0, 0, &[0; 8])).unwrap().is_empty());
    assert!(scripted.written().is_empty());
    assert!(scripted.connection.is_drained() && !scripted.connection.can_open());
}

/// The frame ends stream `id` with `code`, the connection works on. Answers whether the upper layer was told.
fn stream_error(scripted: &mut Scripted, code: ErrorCode, id: u32, octets: &[u8]) -> bool {
    scripted.written();
    let seen = scripted.receive(octets).unwrap();
    assert_eq!(scripted.written_reset(id), code, "{}", scripted.connection.last_fault());
    let told = match seen[..] {
        [] => false,
        [Seen::Reset { stream, code: told, initiator: Initiator::Engine }] => {
            assert_eq!((stream.id().value(), told), (id, code));
            assert!(!scripted.connection.is_open(stream));
            true
        }
        _ => panic!("{seen:?}"),
    };
    assert!(scripted.receive(&raw_frame(0x6, 0, 0, &[7; 8])).unwrap().is_empty());
    assert_eq!(scripted.written_one().kind(), FrameType::Ping);
    told
}

fn headers_frame(scripted: &mut Scripted, flags: u8, id: u32, list: &[(&str, &str)]) -> Vec<u8> {
    let block = scripted.block(list);
    raw_frame(0x1, flags, id, &block)
}

const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;

#[test]
fn the_preface_comes_first() {
    // [9113-3.4-4]
    // RFC 9113 3.4
    for cut in 0..PREFACE.len() {
        let mut scripted = Scripted::before_handshake(Role::Server, Config::server());
        let progress = scripted.connection.handle_input(&PREFACE[..cut], scripted.now).unwrap();
        assert_eq!(progress.consumed, 0);
        let mut wrong = PREFACE[..=cut].to_vec();
        wrong[cut] ^= 0x20;
        assert_eq!(scripted.receive(&wrong).unwrap_err().code(), ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn other_protocols_are_named_and_get_no_goaway() {
    for (role, octets, named) in [
        (Role::Server, &b"GET / HTTP/1.1\r\n"[..], "the peer asks in HTTP/1"),
        (Role::Server, b"\x16\x03\x01\x02\x00\x01", "the peer speaks TLS"),
        (Role::Client, b"HTTP/1.1 400 Bad Request\r\n", "the peer answers in HTTP/1"),
        (Role::Client, b"\x15\x03\x03\x00\x02\x02\x16", "the peer speaks TLS"),
    ] {
        let mut scripted = Scripted::before_handshake(role, Config::server());
        scripted.written();
        let error = scripted.receive(octets).unwrap_err();
        assert_eq!((error.reason(), error.blame()), (named, Blame::NotHttp2));
        assert!(scripted.written().is_empty());
    }
}

#[test]
fn settings_come_before_all_other_frames() {
    // [9113-3.4-2] [9113-3.4-4]
    // wire-rules 86, RFC 9113 3.4
    let mut scripted = Scripted::before_handshake(Role::Server, Config::server());
    scripted.receive(PREFACE).unwrap();
    connection_error(scripted, ErrorCode::PROTOCOL_ERROR, &raw_frame(0x6, 0, 0, &[0; 8]));
    let scripted = Scripted::before_handshake(Role::Client, Config::client());
    connection_error(scripted, ErrorCode::PROTOCOL_ERROR, &raw_frame(0x4, 1, 0, &[]));
}

#[test]
fn frames_have_the_length_of_their_type() {
    // [9113-4.2-2] [9113-6.3-2] [9113-6.4-4] [9113-6.5-2] [9113-6.5-4] [9113-6.7-1] [9113-6.9-4]
    // RFC 9113 4.2, 6.4 to 6.9
    let size = ErrorCode::FRAME_SIZE_ERROR;
    // Known from the header alone.
    connection_error(server(), size, &[0x00, 0x40, 0x01, 0, 0, 0, 0, 0, 1]);
    connection_error(server(), size, &raw_frame(0x3, 0, 1, &[0; 3]));
    connection_error(server(), size, &raw_frame(0x4, 0, 0, &[0; 5]));
    connection_error(server(), size, &raw_frame(0x4, 1, 0, &[0; 6]));
    connection_error(server(), size, &raw_frame(0x6, 0, 0, &[0; 7]));
    connection_error(server(), size, &raw_frame(0x7, 0, 0, &[0; 7]));
    connection_error(server(), size, &raw_frame(0x8, 0, 0, &[0; 3]));
    let mut scripted = server();
    scripted.request(1, false);
    assert!(stream_error(&mut scripted, size, 1, &raw_frame(0x2, 0, 1, &[0; 4])));
}

#[test]
fn frames_are_on_the_kind_of_stream_they_are_for() {
    // [9113-6.1-1] [9113-6.2-1] [9113-6.3-1] [9113-6.4-2] [9113-6.5-3] [9113-6.5.2-1] [9113-6.7-4] [9113-6.8-2] [9113-6.10-2] [9113-8.4-1]
    let protocol = ErrorCode::PROTOCOL_ERROR;
    for (kind, payload) in
        [(0x0, &[0; 4][..]), (0x1, &[0x82]), (0x2, &[0; 5]), (0x3, &[0; 4]), (0x9, &[0x82])]
    {
        connection_error(server(), protocol, &raw_frame(kind, END_HEADERS, 0, payload));
    }
    for (kind, payload) in [(0x4, &[][..]), (0x6, &[0; 8]), (0x7, &[0; 8])] {
        connection_error(server(), protocol, &raw_frame(kind, 0, 1, payload));
    }
    // 8.4: neither may a client push, nor a server that was told not to
    for scripted in [server(), client()] {
        connection_error(scripted, protocol, &raw_frame(0x5, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]));
    }
}

#[test]
fn unknown_frames_and_flags_are_ignored() {
    // [9113-4.1-2] [9113-4.1-3] [9113-5.5-1]
    // RFC 9113 4.1, 5.5
    let mut scripted = server();
    assert!(scripted.raw(0xbe, 0xff, 7, b"whatever").unwrap().is_empty());
    assert!(scripted.raw(0x6, 0xfe, 0, &[0; 8]).unwrap().is_empty());
    assert_eq!(scripted.written_one().kind(), FrameType::Ping);
}

#[test]
fn nothing_but_headers_and_priority_opens_an_idle_stream() {
    // [9113-5.1-1] [9113-6.4-3]
    // wire-rules 88, RFC 9113 5.1
    let protocol = ErrorCode::PROTOCOL_ERROR;
    for (kind, payload) in [(0x0, &b"data"[..]), (0x3, &[0; 4]), (0x8, &[0, 0, 0, 1])] {
        for id in [1, 2] {
            connection_error(server(), protocol, &raw_frame(kind, 0, id, payload));
            connection_error(client(), protocol, &raw_frame(kind, 0, id, payload));
        }
    }
    connection_error(client(), protocol, &raw_frame(0x1, END_HEADERS, 1, &[0x88]));
    assert!(server().raw(0x2, 0, 9, &[0, 0, 0, 0, 1]).unwrap().is_empty());
}

#[test]
fn stream_ids_are_odd_and_increase() {
    // [9113-5.1.1-2]
    // wire-rules 1, 88, RFC 9113 5.1.1
    let mut scripted = server();
    let even = headers_frame(&mut scripted, END_HEADERS, 2, &REQUEST);
    connection_error(scripted, ErrorCode::PROTOCOL_ERROR, &even);
    let mut scripted = server();
    scripted.request(5, true);
    let lower = headers_frame(&mut scripted, END_HEADERS, 3, &REQUEST);
    connection_error(scripted, ErrorCode::PROTOCOL_ERROR, &lower);
}

#[test]
fn a_half_closed_stream_takes_no_more_data_or_headers() {
    // [9113-5.1-2] [9113-6.1-2]
    // RFC 9113 5.1 half-closed (remote)
    let mut scripted = server();
    scripted.request(1, true);
    assert!(stream_error(&mut scripted, ErrorCode::STREAM_CLOSED, 1, &raw_frame(0x0, 0, 1, b"x")));
    scripted.request(3, true);
    let again = headers_frame(&mut scripted, END_HEADERS | END_STREAM, 3, &TRAILERS);
    assert!(stream_error(&mut scripted, ErrorCode::STREAM_CLOSED, 3, &again));
    // Those are no offence.
    let key = scripted.request(5, true);
    scripted.window_update(5, 10).unwrap();
    scripted.raw(0x2, 0, 5, &[0, 0, 0, 0, 1]).unwrap();
    assert!(scripted.connection.is_open(key));
}

#[test]
fn a_stream_the_peer_has_reset_takes_no_more_data_or_headers() {
    // wire-rules 88, RFC 9113 5.1 closed
    let mut scripted = server();
    for id in [1, 3] {
        scripted.request(id, true);
        scripted.rst(id, ErrorCode::CANCEL).unwrap();
        // Those are no offence.
        scripted.window_update(id, 10).unwrap();
        scripted.rst(id, ErrorCode::CANCEL).unwrap();
    }
    assert!(!stream_error(&mut scripted, ErrorCode::STREAM_CLOSED, 1, &raw_frame(0x0, 0, 1, b"x")));
    // Once is enough.
    scripted.data(1, b"y", false).unwrap();
    assert!(scripted.written().is_empty());
    let again = headers_frame(&mut scripted, END_HEADERS, 3, &REQUEST);
    assert!(!stream_error(&mut scripted, ErrorCode::STREAM_CLOSED, 3, &again));
}

#[test]
fn a_stream_both_have_ended_takes_no_more_data_or_headers() {
    // [9113-5.1-4]
    // wire-rules 88, RFC 9113 5.1 closed
    for kind in [0x0, 0x1] {
        for mut scripted in [server(), client()] {
            if scripted.connection.can_open() {
                let key = scripted.open(true);
                scripted.respond(key, true);
            } else {
                let key = scripted.request(1, true);
                scripted.connection.send_headers(key, fields(&RESPONSE), true).unwrap();
            }
            // Those are no offence.
            scripted.window_update(1, 10).unwrap();
            scripted.rst(1, ErrorCode::CANCEL).unwrap();
            connection_error(scripted, ErrorCode::STREAM_CLOSED, &raw_frame(kind, END_HEADERS, 1, &[0x88]));
        }
    }
}

#[test]
fn frames_in_flight_when_we_reset_are_no_offence() {
    // [9113-5.1-5] [9113-5.4-1] [9113-5.4.2-2]
    // RFC 9113 5.1 closed, 5.4.2
    for mut scripted in [server(), client()] {
        let key =
            if scripted.connection.can_open() { scripted.open(false) } else { scripted.request(1, false) };
        scripted.connection.reset(key, ErrorCode::CANCEL);
        scripted.written();
        scripted.data(1, b"late", false).unwrap();
        scripted.headers(1, &TRAILERS, true).unwrap();
        scripted.window_update(1, 5).unwrap();
        scripted.rst(1, ErrorCode::CANCEL).unwrap();
        assert!(scripted.written().is_empty());
    }
}

#[test]
fn frames_for_a_stream_that_we_reset_are_no_offence_however_late() {
    // [9113-5.1-6]
    for mut scripted in [server(), client()] {
        let key =
            if scripted.connection.can_open() { scripted.open(false) } else { scripted.request(1, false) };
        scripted.connection.reset(key, ErrorCode::CANCEL);
        scripted.now += Duration::from_hours(1);
        scripted.connection.trim();
        scripted.written();
        scripted.data(1, b"late", false).unwrap();
        scripted.headers(1, &TRAILERS, true).unwrap();
        assert!(scripted.written().is_empty());
    }
}

#[test]
fn a_stream_that_its_client_skipped_is_reset_once_however_late_its_data_is() {
    // [9113-5.1-4] [9113-5.4.2-2]
    let mut scripted = server();
    scripted.request(5, false);
    scripted.written();
    scripted.data(3, b"never opened", false).unwrap();
    assert_eq!(scripted.written_reset(3), ErrorCode::STREAM_CLOSED);
    scripted.data(3, b"at once", false).unwrap();
    scripted.connection.trim();
    scripted.data(3, b"late", true).unwrap();
    assert!(scripted.written().is_empty());
}

#[test]
fn resetting_very_many_streams_at_once_makes_no_offenders_of_their_peer() {
    let mut scripted = Scripted::server(Config { max_concurrent_streams: None, ..Config::server() });
    let keys: Vec<_> = (0..5_000).map(|round| scripted.request(2 * round + 1, false)).collect();
    for key in &keys {
        scripted.connection.reset(*key, ErrorCode::CANCEL);
    }
    scripted.written();
    for key in &keys {
        assert!(scripted.data(key.id().value(), b"in flight", false).unwrap().is_empty());
    }
    assert!(scripted.written().is_empty());
}

#[test]
fn a_malformed_request_is_reset_before_anyone_hears_of_it() {
    // [9113-8.1.1-1]
    // wire-rules 7, 12, 21; fields.rs has every form
    let mut scripted = server();
    let lists: [&[(&str, &str)]; 4] = [
        &[REQUEST[0], REQUEST[1], REQUEST[3]],
        &[REQUEST[0], REQUEST[1], REQUEST[2], ("connection", "close")],
        &[REQUEST[0], REQUEST[1], REQUEST[2], ("X-Upper", "1")],
        &[REQUEST[0], REQUEST[1], (":path", "")],
    ];
    for (id, list) in (1..).step_by(2).zip(lists) {
        let request = headers_frame(&mut scripted, END_HEADERS, id, list);
        assert!(!stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, id, &request));
    }
    assert_eq!(scripted.connection.open_streams(), 0);
}

#[test]
fn a_malformed_response_ends_its_call_only() {
    // [9113-8.1.1-1] [9113-8.3.2-1]
    for list in [&[("x", "1")][..], &[(":status", "200"), ("x", "a\nb")], &[(":status", "1")], &REQUEST] {
        let mut scripted = client();
        scripted.open(true);
        let response = headers_frame(&mut scripted, END_HEADERS, 1, list);
        assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 1, &response));
    }
}

#[test]
fn trailers_end_the_stream_and_have_no_pseudo_header_fields() {
    // [9113-8.1-1] [9113-8.1-2] [9113-8.3-1]
    // wire-rules 51, RFC 9113 8.1
    let mut scripted = server();
    scripted.request(1, false);
    let open = headers_frame(&mut scripted, END_HEADERS, 1, &TRAILERS);
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 1, &open));
    scripted.request(3, false);
    let pseudo = headers_frame(&mut scripted, END_HEADERS | END_STREAM, 3, &REQUEST);
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 3, &pseudo));

    let mut scripted = client();
    let key = scripted.open(false);
    scripted.respond(key, false);
    let open = headers_frame(&mut scripted, END_HEADERS, 1, &TRAILERS);
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 1, &open));
}

#[test]
fn informational_responses_are_skipped() {
    // [9113-8.1-4] [9113-8.6-1]
    // wire-rules 56
    let mut scripted = client();
    let key = scripted.open(true);
    assert!(scripted.headers(1, &[(":status", "103"), ("link", "x")], false).unwrap().is_empty());
    assert!(scripted.headers(1, &[(":status", "100")], false).unwrap().is_empty());
    scripted.respond(key, true);
    for (id, status, end) in [(3, "100", END_STREAM), (5, "101", 0)] {
        scripted.open(true);
        let response = headers_frame(&mut scripted, END_HEADERS | end, id, &[(":status", status)]);
        assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, id, &response));
    }
}

#[test]
fn data_waits_for_the_response_head() {
    let mut scripted = client();
    scripted.open(true);
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 1, &raw_frame(0x0, 0, 1, b"x")));
}

#[test]
fn content_length_counts_the_data() {
    // [9113-8.1.1-2]
    // RFC 9113 8.1.1
    let list = [&REQUEST[..], &[("content-length", "4")]].concat();
    let mut scripted = server();
    let open = |scripted: &mut Scripted, id| {
        scripted.headers(id, &list, false).unwrap();
    };
    open(&mut scripted, 1);
    scripted.data(1, b"1234", true).unwrap();
    open(&mut scripted, 3);
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 3, &raw_frame(0x0, 0, 3, b"12345")));
    open(&mut scripted, 5);
    scripted.data(5, b"12", false).unwrap();
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 5, &raw_frame(0x0, END_STREAM, 5, b"3")));
    open(&mut scripted, 7);
    let trailers = headers_frame(&mut scripted, END_HEADERS | END_STREAM, 7, &TRAILERS);
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 7, &trailers));
    let at_once = headers_frame(&mut scripted, END_HEADERS | END_STREAM, 9, &list);
    assert!(!stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 9, &at_once));
}

#[test]
fn content_length_without_data_is_right_for_head_and_304() {
    // RFC 9110 8.6
    let mut scripted = client();
    let head = [&[(":method", "HEAD")], &REQUEST[1..]].concat();
    scripted.connection.open(fields(&head), true).unwrap();
    let seen = scripted.headers(1, &[(":status", "200"), ("content-length", "9")], true).unwrap();
    assert!(matches!(seen[..], [Seen::Headers { end_stream: true, .. }]));
    scripted.open(true);
    let seen = scripted.headers(3, &[(":status", "304"), ("content-length", "9")], true).unwrap();
    assert!(matches!(seen[..], [Seen::Headers { end_stream: true, .. }]));
    scripted.open(true);
    let response = headers_frame(
        &mut scripted,
        END_HEADERS | END_STREAM,
        5,
        &[(":status", "200"), ("content-length", "9")],
    );
    assert!(stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 5, &response));
}

#[test]
fn a_stream_cannot_depend_on_itself() {
    // RFC 7540 5.3.1
    let mut scripted = server();
    scripted.request(1, true);
    assert!(stream_error(
        &mut scripted,
        ErrorCode::PROTOCOL_ERROR,
        1,
        &raw_frame(0x2, 0, 1, &[0, 0, 0, 1, 9])
    ));
    let block = scripted.block(&REQUEST);
    let payload = [&[0, 0, 0, 3, 9][..], &block].concat();
    let request = raw_frame(0x1, END_HEADERS | 0x20, 3, &payload);
    assert!(!stream_error(&mut scripted, ErrorCode::PROTOCOL_ERROR, 3, &request));
    // The block was decoded all the same: what it put in the table is there for the next one.
    scripted.request(5, true);
}

#[test]
fn padding_fits_its_frame() {
    // [9113-6.1-3] [9113-6.2-2]
    // RFC 9113 6.1, 6.2
    let mut scripted = server();
    scripted.request(1, false);
    connection_error(scripted, ErrorCode::PROTOCOL_ERROR, &raw_frame(0x0, PADDED, 1, &[4, 0, 0, 0]));
    connection_error(
        server(),
        ErrorCode::PROTOCOL_ERROR,
        &raw_frame(0x1, PADDED | END_HEADERS, 1, &[9, 0x82]),
    );
    let mut scripted = server();
    let block = scripted.block(&REQUEST);
    let padded = [&[3][..], &block, &[0; 3]].concat();
    let seen = scripted.raw(0x1, PADDED | END_HEADERS, 1, &padded).unwrap();
    assert!(matches!(seen[..], [Seen::Headers { .. }]));
    let seen = scripted.raw(0x0, PADDED, 1, &[2, b'a', b'b', 0, 0]).unwrap();
    assert!(matches!(&seen[..], [Seen::Data { data, .. }] if data == b"ab"));
}

#[test]
fn ping_is_answered_at_once_with_its_payload() {
    // [9113-6.7-2] [9113-6.7-3]
    // wire-rules 78
    let mut scripted = server();
    let key = scripted.request(1, true);
    scripted.connection.send_headers(key, fields(&RESPONSE), false).unwrap();
    scripted.written();
    // Data that has to wait for its turn does not delay the answer.
    scripted.write(key, &vec![1; 100_000]).unwrap();
    scripted.raw(0x6, 0, 0, b"12345678").unwrap();
    let first = scripted.written().remove(0);
    assert!(matches!(first.parse(), Frame::Ping(ping) if ping.ack && &ping.payload == b"12345678"));
    let seen = scripted.raw(0x6, 1, 0, b"abcdefgh").unwrap();
    assert!(matches!(seen[..], [Seen::Pong { payload }] if &payload == b"abcdefgh"));
}

#[test]
fn refused_beyond_the_limit_of_streams() {
    // [9113-5.1.2-2] [9113-8.7-1]
    // wire-rules 82, RFC 9113 5.1.2
    let mut scripted = Scripted::server(Config { max_concurrent_streams: Some(2), ..Config::server() });
    let first = scripted.request(1, true);
    scripted.request(3, true);
    // Refusals are not held against the peer.
    for id in (5..2005).step_by(2) {
        assert!(scripted.headers(id, &REQUEST, false).unwrap().is_empty());
        assert_eq!(scripted.written_reset(id), ErrorCode::REFUSED_STREAM);
        assert!(scripted.data(id, b"in flight", true).unwrap().is_empty());
    }
    scripted.connection.send_headers(first, fields(&RESPONSE), true).unwrap();
    scripted.request(2005, true);
}

#[test]
fn the_peers_limit_of_streams_is_respected() {
    // [9113-5.1.2-1] [9113-6.5.2-4]
    // wire-rules 82
    let mut scripted = client();
    scripted.raw(0x4, 0, 0, &[0, 3, 0, 0, 0, 2]).unwrap();
    let first = scripted.open(true);
    scripted.open(true);
    assert!(!scripted.connection.can_open());
    let refused = scripted.connection.open(fields(&REQUEST), true).unwrap_err();
    assert_eq!(refused, crate::OpenError::StreamLimit { limit: 2 });
    // A decrease below what is open is no error.
    scripted.raw(0x4, 0, 0, &[0, 3, 0, 0, 0, 1]).unwrap();
    scripted.respond(first, true);
    assert!(!scripted.connection.can_open());
    scripted.raw(0x4, 0, 0, &[0, 3, 0, 0, 0, 9]).unwrap();
    assert!(scripted.connection.can_open());
    // Nor is 0.
    scripted.raw(0x4, 0, 0, &[0, 3, 0, 0, 0, 0]).unwrap();
    let refused = scripted.connection.open(fields(&REQUEST), true).unwrap_err();
    assert_eq!(refused, crate::OpenError::StreamLimit { limit: 0 });
}

#[test]
fn a_reset_reaches_the_upper_layer_at_once() {
    // [9113-6.4-1]
    // wire-rules 74
    let mut scripted = server();
    let key = scripted.request(1, false);
    let seen = scripted.rst(1, ErrorCode(0x1234)).unwrap();
    assert!(
        matches!(seen[..], [Seen::Reset { stream, code: ErrorCode(0x1234), initiator: Initiator::Remote }] if stream == key)
    );
    assert_eq!(scripted.connection.open_streams(), 0);
    assert!(scripted.written().is_empty());
}
