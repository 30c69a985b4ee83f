//! A server that breaks a rule of the connection: it is told why in GOAWAY, its calls fail and are not made again (it
//! may have worked on them), and the next call goes to a new connection.

use std::time::Duration;

use peregrine_core::{Code, Phase};
use peregrine_http2::frame::{Frame, GoAway, Setting, Settings, seal_block};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{PeerConfig, Received, ServerPeer, raw_frame};
use peregrine_testkit::{settle, virtual_time};

use crate::{Acceptor, connected, list, message, pair, unary};

const CONNECTION: StreamId = StreamId::CONNECTION;

/// Numbers of frame types on the wire.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
/// `:status: 200` as a header block.
const STATUS_200: &[u8] = &[0x88];

/// Two calls are open, on streams 1 and 3, when `script` breaks the connection. The server has to read GOAWAY with
/// `code` and `reason`.
fn ends(code: ErrorCode, reason: &str, script: impl AsyncFnOnce(&mut ServerPeer)) {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().expect("the target is one");
        let served = async {
            let mut server = acceptor.accept().await;
            server.request().await;
            server.request().await;
            script(&mut server).await;
            let (last_stream, said, debug) = server.expect_go_away().await;
            assert_eq!((last_stream, said), (CONNECTION, code), "{debug}");
            assert!(debug.contains(reason), "{reason:?} is not what the GOAWAY says: {debug:?}");
            server.expect_closed().await;
            assert_eq!(server.drain().await, [], "more than GOAWAY");
        };
        let calls = async {
            let mut replies = list(&channel, message("")).await.expect("there is a connection");
            tokio::join!(unary(&channel, message("")), replies.message())
        };
        let ((one, two), ()) = tokio::join!(calls, served);
        for status in [one.expect_err(reason), two.expect_err(reason)] {
            // wire-rules 81
            assert_eq!(status.code(), Code::Unavailable, "{status}");
            assert!(status.message().contains(reason), "{reason:?} is not what {status} says");
        }
        answers_on_a_new_connection(&channel, &mut acceptor).await;
    });
}

/// The channel is as good as new, and nothing was left over that it makes again by itself.
async fn answers_on_a_new_connection(channel: &peregrine_client::Channel, acceptor: &mut Acceptor) {
    assert_eq!(acceptor.connections(), 1);
    let (reply, mut server) = tokio::join!(unary(channel, message("next")), async {
        let mut server = acceptor.accept().await;
        let asked = server.request().await;
        assert_eq!(asked.body, b"\0\0\0\0\x04next");
        server.reply(asked.stream, b"").await;
        server
    });
    reply.expect("the new connection is sound");
    assert_eq!(server.drain().await, []);
    assert_eq!(acceptor.connections(), 2);
}

/// As [`ends`], for bytes.
fn ends_at(code: ErrorCode, reason: &str, bytes: &[u8]) {
    ends(code, reason, async |server| server.send_bytes(bytes).await);
}

fn stream(id: u32) -> StreamId {
    StreamId::new(id)
}

#[test]
fn a_server_opens_no_streams() {
    // RFC 9113 5.1.1, 8.4; wire-rules 88. We have forbidden pushes, and there is nothing else with an even id.
    let code = ErrorCode::PROTOCOL_ERROR;
    let promise = [&[0, 0, 0, 2][..], STATUS_200].concat();
    ends_at(code, "PUSH_PROMISE", &raw_frame(PUSH_PROMISE, END_HEADERS, stream(1), &promise));
    ends_at(code, "PUSH_PROMISE", &raw_frame(PUSH_PROMISE, END_HEADERS, stream(9), &promise));
    ends_at(code, "PUSH_PROMISE", &raw_frame(PUSH_PROMISE, END_HEADERS, CONNECTION, &promise));
    for id in [2, 4, 0x7fff_fffe] {
        ends_at(code, "HEADERS on an idle stream", &raw_frame(HEADERS, END_HEADERS, stream(id), STATUS_200));
    }
}

#[test]
fn nothing_may_come_on_a_stream_that_was_not_opened() {
    // RFC 9113 5.1; wire-rules 88
    let code = ErrorCode::PROTOCOL_ERROR;
    for id in [2, 5, 99] {
        ends_at(code, "DATA on an idle stream", &raw_frame(DATA, 0, stream(id), b"x"));
        ends_at(code, "HEADERS on an idle stream", &raw_frame(HEADERS, END_HEADERS, stream(id), STATUS_200));
        ends_at(code, "RST_STREAM on an idle stream", &raw_frame(RST_STREAM, 0, stream(id), &[0, 0, 0, 8]));
        let update = raw_frame(WINDOW_UPDATE, 0, stream(id), &[0, 0, 0, 1]);
        ends_at(code, "WINDOW_UPDATE on an idle stream", &update);
    }
}

#[test]
fn frames_after_both_sides_have_ended_are_an_error() {
    // RFC 9113 5.1: a server that has ended its side and has seen ours end knows that the stream is closed.
    for (reason, late) in [
        ("DATA on a closed stream", raw_frame(DATA, 0, stream(3), b"x")),
        ("HEADERS on a closed stream", raw_frame(HEADERS, END_HEADERS, stream(3), STATUS_200)),
    ] {
        virtual_time(async {
            let (builder, mut acceptor) = pair();
            let channel = builder.build().unwrap();
            let served = async {
                let mut server = acceptor.accept().await;
                server.request().await;
                let done = server.request().await.stream;
                server.reply(done, b"").await;
                server.send_bytes(&late).await;
                let (_, code, debug) = server.expect_go_away().await;
                assert_eq!((code, debug.as_str()), (ErrorCode::STREAM_CLOSED, reason));
            };
            let calls = async {
                let mut replies = list(&channel, message("")).await.unwrap();
                unary(&channel, message("")).await.expect("its response was complete");
                replies.message().await.unwrap_err()
            };
            let (status, ()) = tokio::join!(calls, served);
            assert_eq!(status.code(), Code::Unavailable);
        });
    }
}

#[test]
fn frames_of_the_connection_and_of_streams_are_not_mixed_up() {
    // RFC 9113 6.1 to 6.8; bug-reports 97
    let code = ErrorCode::PROTOCOL_ERROR;
    ends_at(code, "DATA", &raw_frame(DATA, 0, CONNECTION, b"x"));
    ends_at(code, "HEADERS", &raw_frame(HEADERS, END_HEADERS, CONNECTION, STATUS_200));
    ends_at(code, "PRIORITY", &raw_frame(PRIORITY, 0, CONNECTION, &[0, 0, 0, 1, 0]));
    ends_at(code, "RST_STREAM", &raw_frame(RST_STREAM, 0, CONNECTION, &[0; 4]));
    ends_at(code, "CONTINUATION", &raw_frame(CONTINUATION, END_HEADERS, CONNECTION, b""));
    ends_at(code, "SETTINGS", &raw_frame(SETTINGS, 0, stream(1), b""));
    ends_at(code, "PING", &raw_frame(PING, 0, stream(1), &[0; 8]));
}

#[test]
fn bug_97_a_goaway_on_a_stream_is_an_error_of_the_connection() {
    ends_at(ErrorCode::PROTOCOL_ERROR, "GOAWAY", &raw_frame(GOAWAY, 0, stream(1), &[0; 8]));
}

#[test]
fn frames_have_the_length_of_their_type() {
    // RFC 9113 4.2, 6.3 to 6.9
    let code = ErrorCode::FRAME_SIZE_ERROR;
    for (kind, id, lengths) in [
        (RST_STREAM, stream(1), &[0, 3, 5][..]),
        (SETTINGS, CONNECTION, &[1, 5, 7]),
        (PING, CONNECTION, &[0, 7, 9]),
        (GOAWAY, CONNECTION, &[0, 7]),
        (WINDOW_UPDATE, CONNECTION, &[0, 3, 5]),
        (WINDOW_UPDATE, stream(1), &[0, 3, 5]),
    ] {
        for length in lengths {
            ends_at(code, "", &raw_frame(kind, 0, id, &vec![0; *length]));
        }
    }
    ends_at(code, "", &raw_frame(SETTINGS, 1, CONNECTION, &[0; 6]));
    // Larger than we have allowed: told by its header, before the rest of it has come.
    for kind in [DATA, HEADERS, SETTINGS, 0xfa] {
        let huge = raw_frame(kind, 0, stream(1), &vec![0; 16_385]);
        ends_at(code, "", &huge[..9]);
    }
}

#[test]
fn padding_fits_its_frame() {
    // RFC 9113 6.1, 6.2
    let code = ErrorCode::PROTOCOL_ERROR;
    let padding = "padding longer than the frame";
    ends_at(code, padding, &raw_frame(HEADERS, END_HEADERS | PADDED, stream(1), &[2, 0x88]));
    ends(code, padding, async |server| {
        server.head(stream(1), &[]).await;
        server.send_bytes(&raw_frame(DATA, PADDED, stream(1), &[4, 0, 0, 0])).await;
    });
}

#[test]
fn settings_out_of_range_are_refused() {
    // RFC 9113 6.5.2; http2-abuse 27
    for (setting, code) in [
        (Setting::EnablePush(1), ErrorCode::PROTOCOL_ERROR),
        (Setting::EnablePush(2), ErrorCode::PROTOCOL_ERROR),
        (Setting::InitialWindowSize(0x8000_0000), ErrorCode::FLOW_CONTROL_ERROR),
        (Setting::MaxFrameSize(0), ErrorCode::PROTOCOL_ERROR),
        (Setting::MaxFrameSize(16_383), ErrorCode::PROTOCOL_ERROR),
        (Setting::MaxFrameSize(1 << 24), ErrorCode::PROTOCOL_ERROR),
    ] {
        let mut frame = Vec::new();
        Settings::encode_entries(&[setting], &mut frame);
        ends_at(code, "", &frame);
    }
}

#[test]
fn abuse_27_a_first_settings_frame_out_of_range_is_no_start() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let served = async {
            let mut config = PeerConfig::server();
            config.settings = vec![Setting::MaxFrameSize(0)];
            config.connection_window = 0;
            let mut server = ServerPeer::server(acceptor.accept_raw().await, config);
            server.read_preface().await;
            server.send_settings().await;
            let (_, code, debug) = server.expect_go_away().await;
            assert_eq!(code, ErrorCode::PROTOCOL_ERROR);
            assert!(debug.contains("MAX_FRAME_SIZE"), "{debug}");
        };
        let (connected, ()) = tokio::join!(builder.connect(), served);
        assert_eq!(connected.unwrap_err().phase(), Phase::Http2Start);
    });
}

#[test]
fn windows_do_not_grow_beyond_the_largest() {
    // RFC 9113 6.9.1, 6.9.2; wire-rules 83
    let code = ErrorCode::FLOW_CONTROL_ERROR;
    ends_at(code, "window", &raw_frame(WINDOW_UPDATE, 0, CONNECTION, &[0x7f, 0xff, 0xff, 0xff]));
    ends_at(ErrorCode::PROTOCOL_ERROR, "WINDOW_UPDATE", &raw_frame(WINDOW_UPDATE, 0, CONNECTION, &[0; 4]));
    ends(code, "SETTINGS_INITIAL_WINDOW_SIZE", async |server| {
        server.give_window(stream(1), 0x7fff_0000 - 65_535).await;
        server.settings(&[Setting::InitialWindowSize(0x7fff_ffff)]).await;
    });
}

#[test]
fn header_blocks_are_whole_and_decodable() {
    // RFC 9113 4.3, 6.10; http2-abuse 21, 24
    let protocol = ErrorCode::PROTOCOL_ERROR;
    let inside = "another frame inside a header block";
    let open = |id| raw_frame(HEADERS, 0, stream(id), STATUS_200);
    ends_at(protocol, "CONTINUATION", &raw_frame(CONTINUATION, END_HEADERS, stream(1), STATUS_200));
    ends_at(protocol, inside, &[open(1), raw_frame(DATA, 0, stream(1), b"")].concat());
    ends_at(protocol, inside, &[open(1), open(1)].concat());
    ends_at(protocol, inside, &[open(1), raw_frame(PING, 0, CONNECTION, &[0; 8])].concat());
    ends_at(protocol, inside, &[open(1), raw_frame(CONTINUATION, 4, stream(3), b"")].concat());
    ends_at(protocol, inside, &[open(1), raw_frame(0xfa, 0, stream(1), b"")].concat());
    let broken: [&[u8]; 8] = [
        // Index 0; an index beyond the table; a literal's name at an index beyond the table.
        &[0x80],
        &[0x88, 0xff, 0x80, 0x01],
        &[0x88, 0x7f, 0x80, 0x01, 0x00],
        // A length beyond the block; one that never ends.
        &[0x88, 0x40, 0x7f, 0x20, b'a'],
        &[0x88, 0x40, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        // Huffman: padding of a whole octet.
        &[0x88, 0x40, 0x01, b'a', 0x82, 0x1f, 0xff],
        // A table larger than we offered; a size update that is not at the front.
        &[0x3f, 0xe2, 0x1f, 0x88],
        &[0x88, 0x20],
    ];
    for block in broken {
        ends_at(ErrorCode::COMPRESSION_ERROR, "", &raw_frame(HEADERS, END_HEADERS, stream(1), block));
    }
}

#[test]
fn abuse_24_blocks_of_a_cancelled_call_are_decoded_for_the_tables_sake() {
    // RFC 9113 4.3
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let cancelled = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        drop(cancelled);
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        // `:status: 200` and `k: v`, which is put in the table; then a response that refers to it.
        let first = [0x88, 0x40, 1, b'k', 1, b'v'];
        server.send_bytes(&raw_frame(HEADERS, END_HEADERS, stream, &first)).await;
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            let second = [&[0x88, 0x0f, 0x10, 16][..], b"application/grpc", &[0xbe]].concat();
            server.send_bytes(&raw_frame(HEADERS, END_HEADERS, stream, &second)).await;
            server.message(stream, b"").await;
            server.trailers(stream, &[("grpc-status", "0")]).await;
        });
        assert_eq!(reply.unwrap().metadata().get("k"), Some("v"));
    });
}

#[test]
fn abuse_5_a_header_block_without_end_is_cut_short() {
    let calm = ErrorCode::ENHANCE_YOUR_CALM;
    let open = raw_frame(HEADERS, 0, stream(1), STATUS_200);
    let many = [open.clone(), raw_frame(CONTINUATION, 0, stream(1), b"").repeat(10_000)].concat();
    ends(calm, "continuation_frames", async |server| {
        let _cut_off = server.try_send_bytes(&many).await;
    });
    let large = [open, raw_frame(CONTINUATION, 0, stream(1), &[0; 16_384]).repeat(10)].concat();
    ends(calm, "header_list_hard_cap", async |server| {
        let _cut_off = server.try_send_bytes(&large).await;
    });
}

#[test]
fn abuse_19_a_small_block_that_decodes_to_much_ends_the_connection() {
    // One field of 4,000 octets, put in the table and then referred to with one octet a time.
    let mut bytes = vec![0; 9];
    bytes.extend([0x88, 0x40, 0x01, b'a', 0x7f, 0xa1, 0x1e]);
    bytes.extend([b'b'; 4_000]);
    bytes.extend([0xbe; 4_000]);
    seal_block(&mut bytes, 0, stream(1), false, 16_384);
    ends_at(ErrorCode::ENHANCE_YOUR_CALM, "header_list_hard_cap", &bytes);
}

#[test]
fn a_goaway_neither_raises_the_last_stream_nor_names_one_of_its_sender() {
    // RFC 9113 6.8; wire-rules 76
    let code = ErrorCode::PROTOCOL_ERROR;
    ends(code, "GOAWAY raises the last stream", async |server| {
        server.go_away_after(stream(3), ErrorCode::NO_ERROR, b"").await;
        server.go_away_after(stream(5), ErrorCode::NO_ERROR, b"").await;
    });
    ends(code, "GOAWAY names a stream of its sender", async |server| {
        let frame = GoAway { last_stream: stream(4), code: ErrorCode::NO_ERROR, debug: b"" };
        server.send(&[Frame::GoAway(frame)]).await;
    });
}

#[test]
fn a_server_that_never_acknowledges_our_settings_is_left() {
    // RFC 9113 6.5.3; http2-abuse 10
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let mut config = PeerConfig::server();
        config.answer_settings = false;
        let served = async {
            let mut server = ServerPeer::server(acceptor.accept_raw().await, config);
            server.read_preface().await;
            server.send_settings().await;
            server.request().await;
            let (_, code, _) = server.expect_go_away().await;
            assert_eq!(code, ErrorCode::SETTINGS_TIMEOUT);
        };
        let begun = tokio::time::Instant::now();
        let (reply, ()) = tokio::join!(unary(&channel, message("")), served);
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("SETTINGS not acknowledged in time"), "{status}");
        assert_eq!(begun.elapsed().as_secs(), 10);
    });
}

#[test]
fn nothing_is_asked_of_a_server_before_its_settings_have_come() {
    // RFC 9113 3.4; wire-rules 86: what it takes is not known before.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut config = PeerConfig::server();
            config.answer_settings = false;
            let mut server = ServerPeer::server(acceptor.accept_raw().await, config);
            server.read_preface().await;
            tokio::time::sleep(Duration::from_secs(9)).await;
            assert_eq!(server.drain().await, [], "a call before the server has said what it takes");
            server.send_settings().await;
            server.send_bytes(&raw_frame(SETTINGS, 1, CONNECTION, b"")).await;
            let asked = server.request().await;
            server.reply(asked.stream, b"slow").await;
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, message("")), served);
        assert_eq!(reply.unwrap().into_inner(), message("slow"));
    });
}

#[test]
fn the_servers_settings_may_change_at_any_time() {
    // RFC 9113 6.5.3; wire-rules 86: each is acknowledged, one after the other.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for frame_size in [16_384, 1 << 20, (1 << 24) - 1, 16_384] {
            server.settings(&[Setting::MaxFrameSize(frame_size), Setting::HeaderTableSize(0)]).await;
            settle().await;
            let (reply, ()) = tokio::join!(unary(&channel, message("x")), async {
                let mut acknowledged = false;
                let stream = loop {
                    match server.frame().await {
                        Some(Received::SettingsAck) => acknowledged = true,
                        Some(Received::Headers { stream, .. }) => break stream,
                        _ => {}
                    }
                };
                assert!(acknowledged, "the acknowledgement goes before what follows the new values");
                server.reply(stream, b"y").await;
            });
            reply.unwrap();
        }
    });
}
