//! What version 2.2.1 of the suite does not ask, and what newer ones do.
//!
//! Newer versions ask one case more (a literal whose name is an entry that does not exist), have EOS inside of a
//! string, send the PING of a wrong length on stream 0, and change a window without waiting for an acknowledgement.
//! The others are what implementations were found to accept (bug-reports 97).

use crate::exchange::{Case, case};
use crate::octets::{
    END_HEADERS, END_STREAM, INITIAL_WINDOW_SIZE, WHOLE, block, data, frame, goaway, headers, priority,
    request, request_with, response, response_with, settings, window_update,
};

const MALFORMED: &[&str] = &["RST_STREAM 1 PROTOCOL_ERROR"];

pub(crate) fn server_cases() -> Vec<Case> {
    let get = || headers(1, WHOLE, &request());
    let broken = |ids, form: &[u8]| {
        let block = [&request()[..], form].concat();
        case(ids, [headers(1, WHOLE, &block)], &["GOAWAY 0 COMPRESSION_ERROR", "closed"])
    };
    vec![
        // RFC 7541 2.3.3, 5.2
        broken("hpack/2.3.3/2", &[0x7f, 0x07, 0x00]),
        broken("eos-in-a-value", b"\x00\x06x-twin\x87\x49\x51\xff\xff\xff\xfa\x7f"),
        broken("eos-in-a-name", b"\x00\x84\xff\xff\xff\xff\x02ok"),
        // [7541-2.3.2-1]: the same field twice, then both of its entries.
        case(
            "twice-in-the-table",
            [
                headers(1, WHOLE, &[&request()[..], b"\x40\x01x\x01y\x40\x01x\x01y"].concat()),
                headers(3, WHOLE, &[&request()[..], &[0xbe, 0xbf]].concat()),
            ],
            &["HEADERS 1 200", "DATA 1 1024 END", "HEADERS 3 200", "DATA 3 1024 END"],
        ),
        // RFC 9113 6.7
        case("short-ping", [frame(0x6, 0, 0, &[0; 6])], &["GOAWAY 0 FRAME_SIZE_ERROR", "closed"]),
        case(
            "negative-window-at-once",
            [
                settings(&[(INITIAL_WINDOW_SIZE, 3)]),
                get(),
                settings(&[(INITIAL_WINDOW_SIZE, 2)]),
                window_update(1, 2),
            ],
            &["SETTINGS ACK", "HEADERS 1 200", "SETTINGS ACK", "DATA 1 4"],
        ),
        // bug-reports 97
        case(
            "two-lengths",
            [
                headers(1, END_HEADERS, &request_with(&[("content-length", "4"), ("content-length", "5")])),
                data(1, END_STREAM, b"test"),
            ],
            MALFORMED,
        ),
        case(
            "goaway-on-a-stream",
            [get(), frame(0x7, 0, 1, &[0; 8])],
            &["HEADERS 1 200", "DATA 1 1024 END", "GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
        // A stream that the client has not opened cannot be reset.
        case(
            "priority-of-wrong-length",
            [frame(0x2, 0, 1, &[0; 4])],
            &["GOAWAY 0 FRAME_SIZE_ERROR", "closed"],
        ),
        case("priority-of-an-even-stream", [priority(2, 0, 7), get()], &["HEADERS 1 200", "DATA 1 1024 END"]),
    ]
}

pub(crate) fn client_cases() -> Vec<Case> {
    let broken = |ids, form: &[u8]| {
        let block = [&response()[..], form].concat();
        case(ids, [headers(1, WHOLE, &block)], &["GOAWAY 0 COMPRESSION_ERROR", "closed"])
    };
    vec![
        broken("name-of-no-entry", &[0x7f, 0x07, 0x00]),
        broken("eos-in-a-value", b"\x00\x06x-twin\x87\x49\x51\xff\xff\xff\xfa\x7f"),
        // bug-reports 97
        case(
            "two-lengths",
            [
                headers(1, END_HEADERS, &response_with(&[("content-length", "4"), ("content-length", "5")])),
                data(1, END_STREAM, b"test"),
            ],
            MALFORMED,
        ),
        case("no-status", [headers(1, WHOLE, &block(&[("content-length", "0")]))], MALFORMED),
        case("goaway-on-a-stream", [frame(0x7, 0, 1, &[0; 8])], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        // RFC 9113 6.8: the answer to what was asked still counts, and an id that rises does not.
        case("answer-after-goaway", [goaway(1, 0, b""), headers(1, WHOLE, &response())], &[]),
        case(
            "goaway-that-rises",
            [goaway(1, 0, b""), goaway(3, 0, b"")],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        // RFC 9113 8.4: push was forbidden.
        case(
            "push",
            [frame(0x5, END_HEADERS, 1, &[&2_u32.to_be_bytes()[..], &request()].concat())],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        case("data-before-the-head", [data(1, END_STREAM, b"test")], MALFORMED),
    ]
}
