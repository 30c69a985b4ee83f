//! The suite's client half. The client has asked on stream 1, and its side of that has ended.

use crate::exchange::{Case, bare, case};
use crate::octets::{
    ACK, CANCEL, END_HEADERS, END_STREAM, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE,
    PADDED, WHOLE, continuation, data, frame, headers, more_fields, ping, priority, response, response_with,
    rst_stream, settings, window_update,
};

/// A client names the last stream of the server's, which has none.
const PROTOCOL: &[&str] = &["GOAWAY 0 PROTOCOL_ERROR", "closed"];
const SIZE: &[&str] = &["GOAWAY 0 FRAME_SIZE_ERROR", "closed"];
const CLOSED: &[&str] = &["GOAWAY 0 STREAM_CLOSED", "closed"];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = frames_and_sizes();
    cases.extend(stream_states());
    cases.extend(stream_frames());
    cases.extend(connection_frames());
    cases.extend(windows_and_continuations());
    cases
}

fn head() -> Vec<u8> {
    headers(1, END_HEADERS, &response())
}

fn whole() -> Vec<u8> {
    headers(1, WHOLE, &response())
}

fn frames_and_sizes() -> Vec<Case> {
    vec![
        bare(
            "client/1/1",
            &settings(&[]),
            &["SETTINGS", "WINDOW_UPDATE 0 983041", "HEADERS 1 GET END", "SETTINGS ACK"],
        ),
        case("client/4.1/1 client/5.5/1", [frame(0x16, 0, 0, &[0; 8]), ping(0, [0; 8])], &["PING ACK 00"]),
        case("client/4.1/2", [ping(0x16, [0; 8])], &["PING ACK 00"]),
        case("client/4.1/3", [frame(0x6, 0x16, 1 << 31, &[0; 8])], &["PING ACK 00"]),
        case(
            "client/4.2/1",
            [head(), data(1, END_STREAM, &[b'x'; 16_384]), ping(0, [0; 8])],
            &["PING ACK 00"],
        ),
        case("client/4.2/2", [head(), data(1, END_STREAM, &[b'x'; 16_385])], SIZE),
        case("client/4.2/3", [headers(1, WHOLE, &[0; 17_000])], SIZE),
        case("client/4.3/1", [headers(1, WHOLE, &[0x40])], &["GOAWAY 0 COMPRESSION_ERROR", "closed"]),
    ]
}

fn stream_states() -> Vec<Case> {
    vec![
        case("client/5.1/1", [data(2, END_STREAM, b"test")], PROTOCOL),
        case("client/5.1/2 client/6.4/2", [rst_stream(2, CANCEL)], PROTOCOL),
        case("client/5.1/3", [window_update(2, 100)], PROTOCOL),
        case("client/5.1/4", [continuation(2, END_HEADERS, &response())], PROTOCOL),
        case(
            "client/5.1/5",
            [head(), rst_stream(1, CANCEL), data(1, END_STREAM, b"test")],
            &["RST_STREAM 1 STREAM_CLOSED"],
        ),
        case("client/5.1/6", [head(), rst_stream(1, CANCEL), whole()], &["RST_STREAM 1 STREAM_CLOSED"]),
        case(
            "client/5.1/7",
            [head(), rst_stream(1, CANCEL), continuation(1, END_HEADERS, &more_fields())],
            PROTOCOL,
        ),
        case("client/5.1/8 client/6.1/2", [whole(), data(1, END_STREAM, b"test")], CLOSED),
        case("client/5.1/9", [whole(), whole()], CLOSED),
        case(
            "client/5.1/10 client/6.10/4",
            [whole(), continuation(1, END_HEADERS, &more_fields())],
            PROTOCOL,
        ),
        case("client/5.1.1/1", [headers(101, WHOLE, &response())], PROTOCOL),
        case("client/5.4.1/1 client/5.4.1/2", [frame(0x6, 0, 3, &[0; 8])], PROTOCOL),
    ]
}

fn stream_frames() -> Vec<Case> {
    vec![
        case("client/6.1/1", [data(0, END_STREAM, b"test")], PROTOCOL),
        case(
            "client/6.1/3",
            [
                headers(1, END_HEADERS, &response_with(&[("content-length", "4")])),
                data(1, END_STREAM | PADDED, b"\x06test"),
            ],
            PROTOCOL,
        ),
        case(
            "client/6.2/1",
            [headers(1, 0, &response()), priority(1, 0, 255), continuation(1, END_HEADERS, &more_fields())],
            PROTOCOL,
        ),
        case("client/6.2/2", [headers(0, WHOLE, &response())], PROTOCOL),
        case(
            "client/6.2/3",
            [headers(1, WHOLE | PADDED, &[&[response().len() as u8 + 2], &response()[..]].concat())],
            PROTOCOL,
        ),
        case("client/6.3/1", [priority(0, 0, 255)], PROTOCOL),
        case(
            "client/6.3/2",
            [head(), frame(0x2, 0, 1, &[0x80, 0, 0, 1])],
            &["RST_STREAM 1 FRAME_SIZE_ERROR"],
        ),
        case("client/6.4/1", [rst_stream(0, CANCEL)], PROTOCOL),
        case("client/6.4/3", [head(), frame(0x3, 0, 1, &[0; 3])], SIZE),
    ]
}

fn connection_frames() -> Vec<Case> {
    vec![
        case("client/6.5/1", [frame(0x4, ACK, 0, &[0])], SIZE),
        case("client/6.5/2", [frame(0x4, 0, 1, &[0, 3, 0, 0, 0, 100])], PROTOCOL),
        case("client/6.5/3", [frame(0x4, 0, 0, &[0, 3, 0])], SIZE),
        case(
            "client/6.5.2/1",
            [settings(&[(INITIAL_WINDOW_SIZE, 1 << 31)])],
            &["GOAWAY 0 FLOW_CONTROL_ERROR", "closed"],
        ),
        case("client/6.5.2/2", [settings(&[(MAX_FRAME_SIZE, 16_383)])], PROTOCOL),
        case("client/6.5.2/3", [settings(&[(MAX_FRAME_SIZE, 16_777_216)])], PROTOCOL),
        case("client/6.5.2/4", [settings(&[(0xff, 1)]), ping(0, [0; 8])], &["SETTINGS ACK", "PING ACK 00"]),
        case("client/6.5.3/1", [settings(&[(MAX_CONCURRENT_STREAMS, 100)])], &["SETTINGS ACK"]),
        case("client/6.7/1", [ping(0, *b"twin\0\0\0\x22")], &["PING ACK 22"]),
        case("client/6.7/2", [ping(ACK, [9; 8]), ping(0, [0; 8])], &["PING ACK 00"]),
        case("client/6.7/3", [frame(0x6, 0, 1, &[0; 8])], PROTOCOL),
        case("client/6.7/4", [frame(0x6, 0, 0, &[0; 6])], SIZE),
        case("client/6.8/1", [frame(0x7, 0, 1, &[0; 8])], PROTOCOL),
    ]
}

fn windows_and_continuations() -> Vec<Case> {
    let open = |flags| headers(1, flags, &response());
    let more = |stream, flags| continuation(stream, flags, &more_fields());
    vec![
        case("client/6.9/1", [window_update(0, 0)], PROTOCOL),
        case("client/6.9/2", [head(), window_update(1, 0)], &["RST_STREAM 1 PROTOCOL_ERROR"]),
        case("client/6.9/3", [frame(0x8, 0, 0, &[0, 0, 1])], SIZE),
        case(
            "client/6.9.1/1",
            [window_update(0, 0x7fff_ffff), window_update(0, 0x7fff_ffff)],
            &["GOAWAY 0 FLOW_CONTROL_ERROR", "closed"],
        ),
        case(
            "client/6.9.1/2",
            [head(), window_update(1, 0x7fff_ffff), window_update(1, 0x7fff_ffff)],
            &["RST_STREAM 1 FLOW_CONTROL_ERROR"],
        ),
        case(
            "client/6.10/1",
            [open(END_STREAM), more(1, 0), more(1, END_HEADERS), ping(0, [0; 8])],
            &["PING ACK 00"],
        ),
        case("client/6.10/2", [open(0), more(1, 0), data(1, END_STREAM, b"test")], PROTOCOL),
        case("client/6.10/3", [open(END_STREAM), more(0, END_HEADERS)], PROTOCOL),
        case("client/6.10/5", [open(END_STREAM), more(1, END_HEADERS), more(1, END_HEADERS)], PROTOCOL),
        case(
            "client/6.10/6",
            [open(0), data(1, END_STREAM, b"test"), more(1, 0), more(0, END_HEADERS)],
            PROTOCOL,
        ),
    ]
}
