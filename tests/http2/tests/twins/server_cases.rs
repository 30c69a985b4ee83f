//! The suite's server half.

use crate::exchange::{Case, PREFACE, bare, case, in_steps};
use crate::octets::{
    ACK, CANCEL, ENABLE_PUSH, END_HEADERS, END_STREAM, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE, PADDED, PRIORITIZED, WHOLE, block,
    continuation, data, dependency, frame, goaway, headers, more_fields, ping, priority, request,
    request_with, request_without, rst_stream, settings, window_update,
};

/// The whole answer to a request on stream 1.
const ANSWERED: &[&str] = &["HEADERS 1 200", "DATA 1 1024 END"];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = generic();
    cases.extend(header_forms());
    cases.extend(frames_and_sizes());
    cases.extend(stream_states());
    cases.extend(identifiers_and_errors());
    cases.extend(stream_frames());
    cases.extend(connection_frames());
    cases.extend(windows());
    cases.extend(continuations());
    cases.extend(malformed_requests());
    cases.extend(header_compression());
    cases
}

/// What every server has to do.
fn generic() -> Vec<Case> {
    let get = || headers(1, WHOLE, &request());
    let post = || headers(1, END_HEADERS, &request());
    vec![
        bare(
            "generic/1/1 http2/3.5/1",
            &[PREFACE, &settings(&[(INITIAL_WINDOW_SIZE, 65_535)])].concat(),
            &["SETTINGS", "WINDOW_UPDATE 0 983041", "SETTINGS ACK"],
        ),
        case("generic/2/1", [priority(1, 0, 255), ping(0, [0; 8])], &["PING ACK 00"]),
        // [9113-6.9-2]
        case(
            "generic/2/2",
            [settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(), window_update(1, 1)],
            &["SETTINGS ACK", "HEADERS 1 200", "DATA 1 1"],
        ),
        case(
            "generic/2/3",
            [settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(), priority(1, 0, 255), window_update(1, 1)],
            &["SETTINGS ACK", "HEADERS 1 200", "DATA 1 1"],
        ),
        // [9113-5.4.2-1]
        in_steps(
            "generic/2/4",
            [get(), [rst_stream(1, CANCEL), ping(0, [0; 8])].concat()],
            &["HEADERS 1 200", "DATA 1 1024 END", "PING ACK 00"],
        ),
        in_steps(
            "generic/2/5",
            [get(), [priority(1, 0, 255), ping(0, [0; 8])].concat()],
            &["HEADERS 1 200", "DATA 1 1024 END", "PING ACK 00"],
        ),
        case("generic/3.1/1 generic/4/3", [post(), data(1, END_STREAM, b"test")], ANSWERED),
        case("generic/3.1/2", [post(), data(1, 0, b"test"), data(1, END_STREAM, b"test")], ANSWERED),
        case("generic/3.1/3", [post(), data(1, END_STREAM | PADDED, b"\x05test\0\0\0\0\0")], ANSWERED),
        case("generic/3.2/1 generic/4/1", [get()], ANSWERED),
        case(
            "generic/3.2/2",
            [headers(1, WHOLE | PADDED, &[&[8], &request()[..], &[0; 8]].concat())],
            ANSWERED,
        ),
        case(
            "generic/3.2/3",
            [headers(1, WHOLE | PRIORITIZED, &[dependency(0, 255), request()].concat())],
            ANSWERED,
        ),
        // [9113-5.3.2-1]
        case("generic/3.3/1", [priority(1, 0, 0), get()], ANSWERED),
        case("generic/3.3/2", [priority(1, 0, 255), get()], ANSWERED),
        case("generic/3.3/3", [priority(3, 1, 255), get()], ANSWERED),
        case("generic/3.3/4", [priority(1, 1 << 31, 255), get()], ANSWERED),
        case("generic/3.3/5", [priority(3, 0, 255), get()], ANSWERED),
        case("generic/3.4/1", [post(), rst_stream(1, CANCEL), ping(0, [0; 8])], &["PING ACK 00"]),
        case(
            "generic/3.5/1",
            [settings(&[
                (HEADER_TABLE_SIZE, 4_096),
                (ENABLE_PUSH, 1),
                (MAX_CONCURRENT_STREAMS, 100),
                (INITIAL_WINDOW_SIZE, 65_535),
                (MAX_FRAME_SIZE, 16_384),
                (MAX_HEADER_LIST_SIZE, 100),
            ])],
            &["SETTINGS ACK"],
        ),
        case("generic/3.7/1 http2/6.7/1", [ping(0, *b"twin\0\0\0\x22")], &["PING ACK 22"]),
        // A server that nothing is asked of any more closes.
        case("generic/3.8/1", [goaway(0, 0, b"bye"), ping(0, [0; 8])], &["PING ACK 00", "closed"]),
        case("generic/3.9/1", [window_update(0, 1), ping(0, [0; 8])], &["PING ACK 00"]),
        // [9113-6.9-2]
        case("generic/3.9/2", [get(), window_update(1, 1)], ANSWERED),
        case(
            "generic/3.10/1",
            [headers(1, END_STREAM, &request()[..5]), continuation(1, END_HEADERS, &request()[5..])],
            ANSWERED,
        ),
        case(
            "generic/3.10/2",
            [
                headers(1, END_STREAM, &request()[..5]),
                continuation(1, 0, &request()[5..10]),
                continuation(1, END_HEADERS, &request()[10..]),
            ],
            ANSWERED,
        ),
        case(
            "generic/4/2",
            [headers(1, WHOLE, &[block(&[(":method", "HEAD")]), request_without(":method")].concat())],
            &["HEADERS 1 200 END"],
        ),
        case(
            "generic/4/4",
            [
                headers(1, END_HEADERS, &request_with(&[("trailer", "x-test")])),
                data(1, 0, b"test"),
                headers(1, WHOLE, &block(&[("x-test", "ok")])),
            ],
            ANSWERED,
        ),
    ]
}

/// Every representation of a header field (RFC 7541 6), each decoded and the request answered.
fn header_forms() -> Vec<Case> {
    let behind_request =
        |ids, form: &[u8]| case(ids, [headers(1, WHOLE, &[&request()[..], form].concat())], ANSWERED);
    let before_request =
        |ids, form: &[u8]| case(ids, [headers(1, WHOLE, &[form, &request()[..]].concat())], ANSWERED);
    let twice = |ids, form: &[u8]| {
        let first = [&request()[..], form].concat();
        // Entry 62 is what the first block put into the table.
        let second = [&request()[..], &[0xbe]].concat();
        case(
            ids,
            [headers(1, WHOLE, &first), headers(3, WHOLE, &second)],
            &["HEADERS 1 200", "DATA 1 1024 END", "HEADERS 3 200", "DATA 3 1024 END"],
        )
    };
    vec![
        // user-agent, of the static table, with an empty value.
        behind_request("generic/5/1", &[0xba]),
        twice("generic/5/2", b"\x7a\x04twin"),
        twice("generic/5/3", b"\x7a\x83\x49\x50\x9f"),
        twice("generic/5/4", b"\x40\x06x-twin\x02ok"),
        twice("generic/5/5", b"\x40\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x9f"),
        behind_request("generic/5/6", b"\x0f\x2b\x04twin"),
        behind_request("generic/5/7", b"\x0f\x2b\x83\x49\x50\x9f"),
        behind_request("generic/5/8", b"\x00\x06x-twin\x02ok"),
        behind_request("generic/5/9", b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x9f"),
        behind_request("generic/5/10", b"\x1f\x2b\x04twin"),
        behind_request("generic/5/11", b"\x1f\x2b\x83\x49\x50\x9f"),
        behind_request("generic/5/12", b"\x10\x06x-twin\x02ok"),
        behind_request("generic/5/13", b"\x10\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x9f"),
        before_request("generic/5/14", &[0x3f, 0xe1, 0x1f]),
        // To 128 octets, then to 4,096.
        before_request("generic/5/15", &[0x3f, 0x61, 0x3f, 0xe1, 0x1f]),
    ]
}

fn frames_and_sizes() -> Vec<Case> {
    let post = || headers(1, END_HEADERS, &request());
    vec![
        bare(
            "http2/3.5/2",
            b"INVALID CONNECTION PREFACE\r\n\r\n",
            &["SETTINGS", "WINDOW_UPDATE 0 983041", "GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        case("http2/4.1/1 http2/5.5/1", [frame(0x16, 0, 0, &[0; 8]), ping(0, [0; 8])], &["PING ACK 00"]),
        case("http2/4.1/2", [ping(0x16, [0; 8])], &["PING ACK 00"]),
        case("http2/4.1/3", [frame(0x6, 0x16, 1 << 31, &[0; 8])], &["PING ACK 00"]),
        case("http2/4.2/1", [post(), data(1, END_STREAM, &[b'x'; 16_384])], ANSWERED),
        case(
            "http2/4.2/2",
            [post(), data(1, END_STREAM, &[b'x'; 16_385])],
            &["GOAWAY 1 FRAME_SIZE_ERROR", "closed"],
        ),
        case("http2/4.2/3", [headers(1, WHOLE, &[0; 17_000])], &["GOAWAY 0 FRAME_SIZE_ERROR", "closed"]),
        // The name and the value of a literal are missing.
        case("http2/4.3/1", [headers(1, WHOLE, &[0x40])], &["GOAWAY 0 COMPRESSION_ERROR", "closed"]),
        case(
            "http2/4.3/2 http2/6.2/1",
            [headers(1, 0, &request()), priority(1, 0, 255), continuation(1, END_HEADERS, &more_fields())],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        case(
            "http2/4.3/3 http2/6.2/2",
            [
                headers(1, 0, &request()),
                headers(3, WHOLE, &request()),
                continuation(1, END_HEADERS, &more_fields()),
            ],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
    ]
}

fn stream_states() -> Vec<Case> {
    let get = || headers(1, WHOLE, &request());
    let post = || headers(1, END_HEADERS, &request());
    vec![
        case("http2/5.1/1", [data(1, END_STREAM, b"test")], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case("http2/5.1/2 http2/6.4/2", [rst_stream(1, CANCEL)], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case("http2/5.1/3", [window_update(1, 100)], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        // [9113-6.10-3]
        case(
            "http2/5.1/4",
            [continuation(1, END_HEADERS, &request())],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        // Half-closed (remote): the answer waits for a window, so that the stream is still there.
        case(
            "http2/5.1/5 http2/6.1/2",
            [settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(), data(1, END_STREAM, b"test")],
            &["SETTINGS ACK", "HEADERS 1 200", "RST_STREAM 1 STREAM_CLOSED"],
        ),
        case(
            "http2/5.1/6",
            [settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(), get()],
            &["SETTINGS ACK", "HEADERS 1 200", "RST_STREAM 1 STREAM_CLOSED"],
        ),
        case(
            "http2/5.1/7",
            [settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(), continuation(1, END_HEADERS, &request())],
            &["SETTINGS ACK", "HEADERS 1 200", "GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
        // Closed by the client's own RST_STREAM.
        case(
            "http2/5.1/8",
            [post(), rst_stream(1, CANCEL), data(1, END_STREAM, b"test")],
            &["RST_STREAM 1 STREAM_CLOSED"],
        ),
        case("http2/5.1/9", [post(), rst_stream(1, CANCEL), get()], &["RST_STREAM 1 STREAM_CLOSED"]),
        case(
            "http2/5.1/10",
            [post(), rst_stream(1, CANCEL), continuation(1, END_HEADERS, &more_fields())],
            &["GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
        // Closed by END_STREAM from both sides.
        in_steps(
            "http2/5.1/11",
            [get(), data(1, END_STREAM, b"test")],
            &["HEADERS 1 200", "DATA 1 1024 END", "GOAWAY 1 STREAM_CLOSED", "closed"],
        ),
        in_steps(
            "http2/5.1/12",
            [get(), get()],
            &["HEADERS 1 200", "DATA 1 1024 END", "GOAWAY 1 STREAM_CLOSED", "closed"],
        ),
        in_steps(
            "http2/5.1/13",
            [get(), continuation(1, END_HEADERS, &more_fields())],
            &["HEADERS 1 200", "DATA 1 1024 END", "GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
    ]
}

fn identifiers_and_errors() -> Vec<Case> {
    let bad_ping = || frame(0x6, 0, 3, &[0; 8]);
    vec![
        case("http2/5.1.1/1", [headers(2, WHOLE, &request())], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        // [9113-5.4.1-1]
        case(
            "http2/5.1.1/2",
            [headers(5, WHOLE, &request()), headers(3, WHOLE, &request())],
            &["HEADERS 5 200", "DATA 5 1024 END", "GOAWAY 5 PROTOCOL_ERROR", "closed"],
        ),
        one_too_many(),
        case(
            "http2/5.3.1/1",
            [headers(1, WHOLE | PRIORITIZED, &[dependency(1, 255), request()].concat())],
            &["RST_STREAM 1 PROTOCOL_ERROR"],
        ),
        // RST_STREAM for a stream that nobody has opened would break the protocol in its turn.
        case("http2/5.3.1/2", [priority(2, 2, 255)], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case("http2/5.4.1/1 http2/5.4.1/2", [bad_ping()], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case(
            "http2/5.5/2",
            [headers(1, END_STREAM, &request()), frame(0x16, 0, 0, &[0; 8])],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        case("http2/7/1", [goaway(0, 0xff, b""), ping(0, [0; 8])], &["PING ACK 00", "closed"]),
        case(
            "http2/7/2",
            [headers(1, END_HEADERS, &request()), rst_stream(1, 0xff), ping(0, [0; 8])],
            &["PING ACK 00"],
        ),
        // A client's promise, for a stream of its own.
        case(
            "http2/8.2/1",
            [frame(0x5, END_HEADERS, 1, &[&3_u32.to_be_bytes()[..], &request()].concat())],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
    ]
}

/// 101 requests whose answers wait for a window: the last one is refused, and may be made again.
fn one_too_many() -> Case {
    let mut octets = settings(&[(INITIAL_WINDOW_SIZE, 0)]);
    for place in 0..=100 {
        octets.extend(headers(1 + 2 * place, WHOLE, &request()));
    }
    let mut answer = vec!["SETTINGS ACK"];
    answer.extend((0..100).map(|place| &*format!("HEADERS {} 200", 1 + 2 * place).leak()));
    answer.push("RST_STREAM 201 REFUSED_STREAM");
    case("http2/5.1.2/1", [octets], answer.leak())
}

fn stream_frames() -> Vec<Case> {
    let get = || headers(1, WHOLE, &request());
    let waiting = || settings(&[(INITIAL_WINDOW_SIZE, 0)]);
    vec![
        case("http2/6.1/1", [data(0, END_STREAM, b"test")], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case(
            "http2/6.1/3",
            [
                headers(1, END_HEADERS, &request_with(&[("content-length", "4")])),
                data(1, END_STREAM | PADDED, b"\x06test"),
            ],
            &["GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
        case("http2/6.2/3", [headers(0, WHOLE, &request())], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case(
            "http2/6.2/4",
            [headers(1, WHOLE | PADDED, &[&[request().len() as u8 + 2], &request()[..]].concat())],
            &["GOAWAY 0 PROTOCOL_ERROR", "closed"],
        ),
        case("http2/6.3/1", [priority(0, 0, 255)], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case(
            "http2/6.3/2",
            [waiting(), get(), frame(0x2, 0, 1, &[0x80, 0, 0, 1])],
            &["SETTINGS ACK", "HEADERS 1 200", "RST_STREAM 1 FRAME_SIZE_ERROR"],
        ),
        case("http2/6.4/1", [rst_stream(0, CANCEL)], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case(
            "http2/6.4/3",
            [waiting(), get(), frame(0x3, 0, 1, &[0; 3])],
            &["SETTINGS ACK", "HEADERS 1 200", "GOAWAY 1 FRAME_SIZE_ERROR", "closed"],
        ),
    ]
}

fn connection_frames() -> Vec<Case> {
    let protocol = &["GOAWAY 0 PROTOCOL_ERROR", "closed"];
    let size = &["GOAWAY 0 FRAME_SIZE_ERROR", "closed"];
    let flow = &["GOAWAY 0 FLOW_CONTROL_ERROR", "closed"];
    vec![
        case("http2/6.5/1", [frame(0x4, ACK, 0, &[0])], size),
        case("http2/6.5/2", [frame(0x4, 0, 1, &[0, 3, 0, 0, 0, 100])], protocol),
        case("http2/6.5/3", [frame(0x4, 0, 0, &[0, 3, 0])], size),
        case("http2/6.5.2/1", [settings(&[(ENABLE_PUSH, 2)])], protocol),
        case("http2/6.5.2/2 http2/6.9.2/3", [settings(&[(INITIAL_WINDOW_SIZE, 1 << 31)])], flow),
        case("http2/6.5.2/3", [settings(&[(MAX_FRAME_SIZE, 16_383)])], protocol),
        case("http2/6.5.2/4", [settings(&[(MAX_FRAME_SIZE, 16_777_216)])], protocol),
        case("http2/6.5.2/5", [settings(&[(0xff, 1)]), ping(0, [0; 8])], &["SETTINGS ACK", "PING ACK 00"]),
        case(
            "http2/6.5.3/1",
            [
                settings(&[(INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)]),
                headers(1, WHOLE, &request()),
            ],
            &["SETTINGS ACK", "HEADERS 1 200", "DATA 1 1"],
        ),
        case("http2/6.5.3/2", [settings(&[(ENABLE_PUSH, 0)])], &["SETTINGS ACK"]),
        case("http2/6.7/2", [ping(ACK, [9; 8]), ping(0, [0; 8])], &["PING ACK 00"]),
        case("http2/6.7/3", [frame(0x6, 0, 1, &[0; 8])], protocol),
        // On stream 1 as well, which is what is said.
        case("http2/6.7/4", [frame(0x6, 0, 1, &[0; 6])], protocol),
        case("http2/6.8/1", [frame(0x7, 0, 1, &[0; 8])], protocol),
    ]
}

fn windows() -> Vec<Case> {
    let get = || headers(1, WHOLE, &request());
    let post = || headers(1, END_HEADERS, &request());
    vec![
        case("http2/6.9/1", [window_update(0, 0)], &["GOAWAY 0 PROTOCOL_ERROR", "closed"]),
        case("http2/6.9/2", [post(), window_update(1, 0)], &["RST_STREAM 1 PROTOCOL_ERROR"]),
        case("http2/6.9/3", [frame(0x8, 0, 0, &[0, 0, 1])], &["GOAWAY 0 FRAME_SIZE_ERROR", "closed"]),
        case(
            "http2/6.9.1/1",
            [settings(&[(INITIAL_WINDOW_SIZE, 1)]), get()],
            &["SETTINGS ACK", "HEADERS 1 200", "DATA 1 1"],
        ),
        case(
            "http2/6.9.1/2",
            [window_update(0, 0x7fff_ffff), window_update(0, 0x7fff_ffff)],
            &["GOAWAY 0 FLOW_CONTROL_ERROR", "closed"],
        ),
        case(
            "http2/6.9.1/3",
            [post(), window_update(1, 0x7fff_ffff), window_update(1, 0x7fff_ffff)],
            &["RST_STREAM 1 FLOW_CONTROL_ERROR"],
        ),
        in_steps(
            "http2/6.9.2/1",
            [settings(&[(INITIAL_WINDOW_SIZE, 0)]), get(), settings(&[(INITIAL_WINDOW_SIZE, 1)])],
            &["SETTINGS ACK", "HEADERS 1 200", "SETTINGS ACK", "DATA 1 1"],
        ),
        // 3 octets sent, the window shrunk to -1 and raised to 1.
        in_steps(
            "http2/6.9.2/2",
            [
                settings(&[(INITIAL_WINDOW_SIZE, 3)]),
                get(),
                settings(&[(INITIAL_WINDOW_SIZE, 2)]),
                window_update(1, 2),
            ],
            &["SETTINGS ACK", "HEADERS 1 200", "DATA 1 3", "SETTINGS ACK", "DATA 1 1"],
        ),
    ]
}

fn continuations() -> Vec<Case> {
    let open = |flags| headers(1, flags, &request());
    let more = |stream, flags| continuation(stream, flags, &more_fields());
    let protocol = &["GOAWAY 0 PROTOCOL_ERROR", "closed"];
    vec![
        case("http2/6.10/1", [open(END_STREAM), more(1, 0), more(1, END_HEADERS)], ANSWERED),
        case("http2/6.10/2", [open(0), more(1, 0), data(1, END_STREAM, b"test")], protocol),
        case("http2/6.10/3", [open(END_STREAM), more(0, END_HEADERS)], protocol),
        case(
            "http2/6.10/4",
            [open(WHOLE), more(1, END_HEADERS)],
            &["HEADERS 1 200", "DATA 1 1024 END", "GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
        case(
            "http2/6.10/5",
            [open(END_STREAM), more(1, END_HEADERS), more(1, END_HEADERS)],
            &["HEADERS 1 200", "DATA 1 1024 END", "GOAWAY 1 PROTOCOL_ERROR", "closed"],
        ),
        case(
            "http2/6.10/6",
            [open(0), data(1, END_STREAM, b"test"), more(1, 0), more(0, END_HEADERS)],
            protocol,
        ),
    ]
}

fn malformed_requests() -> Vec<Case> {
    let whole =
        |ids, block: Vec<u8>| case(ids, [headers(1, WHOLE, &block)], &["RST_STREAM 1 PROTOCOL_ERROR"]);
    let post = |fields: &[(&str, &str)]| headers(1, END_HEADERS, &request_with(fields));
    let malformed = &["RST_STREAM 1 PROTOCOL_ERROR"];
    vec![
        case(
            "http2/8.1/1",
            [post(&[]), data(1, 0, b"test"), headers(1, END_HEADERS, &block(&[("x-test", "ok")]))],
            malformed,
        ),
        whole("http2/8.1.2/1", request_with(&[("X-TEST", "ok")])),
        whole("http2/8.1.2.1/1", request_with(&[(":test", "ok")])),
        whole("http2/8.1.2.1/2", request_with(&[(":status", "200")])),
        case(
            "http2/8.1.2.1/3",
            [post(&[]), data(1, 0, b"test"), headers(1, WHOLE, &block(&[(":method", "POST")]))],
            malformed,
        ),
        whole("http2/8.1.2.1/4", [block(&[("x-test", "ok")]), request()].concat()),
        whole("http2/8.1.2.2/1", request_with(&[("connection", "keep-alive")])),
        whole("http2/8.1.2.2/2", request_with(&[("te", "trailers, deflate")])),
        whole("http2/8.1.2.3/1", [request_without(":path"), block(&[(":path", "")])].concat()),
        whole("http2/8.1.2.3/2", request_without(":method")),
        whole("http2/8.1.2.3/3", request_without(":scheme")),
        whole("http2/8.1.2.3/4", request_without(":path")),
        whole("http2/8.1.2.3/5", request_with(&[(":method", "POST")])),
        whole("http2/8.1.2.3/6", request_with(&[(":scheme", "http")])),
        whole("http2/8.1.2.3/7", request_with(&[(":path", "/")])),
        case("http2/8.1.2.6/1", [post(&[("content-length", "1")]), data(1, END_STREAM, b"test")], malformed),
        case(
            "http2/8.1.2.6/2",
            [post(&[("content-length", "1")]), data(1, 0, b"test"), data(1, END_STREAM, b"test")],
            malformed,
        ),
    ]
}

fn header_compression() -> Vec<Case> {
    let broken =
        |ids, block: &[u8]| case(ids, [headers(1, WHOLE, block)], &["GOAWAY 0 COMPRESSION_ERROR", "closed"]);
    let behind = |ids, form: &[u8]| broken(ids, &[&request()[..], form].concat());
    vec![
        // Entry 70, of a table that has none but the 61 static ones.
        behind("hpack/2.3.3/1", &[0xc6]),
        behind("hpack/4.2/1", &[0x21]),
        // Huffman code: "tes" with 8 bits of padding too many; padding of zeros; EOS as the suite has it, where it
        // stands in the place of a length.
        behind("hpack/5.2/1", b"\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff"),
        behind("hpack/5.2/2", b"\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90"),
        behind("hpack/5.2/3", b"\x00\x85\xf2\xb2\x4a\x87\xff\xff\xff\xfd\x25\x42\x7f"),
        behind("hpack/6.1/1", &[0x80]),
        // A table of 4,097 octets where 4,096 were offered.
        broken("hpack/6.3/1", &[&[0x3f, 0xe2, 0x1f], &request()[..]].concat()),
    ]
}
