//! Rows of `http2-abuse` whose point is what exactly is answered, more than how much.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use peregrine_codec::{BuffaCodec, ProstCodec};
use peregrine_core::{Codec, DecodeLimits, Payload};
use peregrine_http2::frame::{Frame, Headers, RstStream, Setting, Settings};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_server::Server;
use peregrine_testkit::peer::{Ending, PREFACE, data_frame, message, request_head};
use peregrine_testkit::service::{BIDI, SERVER_STREAM, UNARY};
use peregrine_testkit::{
    CountingAllocator, Journal, Peer, PeerConfig, Received, Reply, Served, TestService, serve, settle,
    virtual_time,
};

/// A server with the test service, and what its handlers did.
fn server() -> (Server, Arc<Journal>) {
    let journal = Arc::new(Journal::default());
    (Server::builder().add_service(TestService::new(Arc::clone(&journal))), journal)
}

async fn start() -> (Served, Peer, Arc<Journal>) {
    let (server, journal) = server();
    let served = serve(server);
    let peer = served.peer().await;
    (served, peer, journal)
}

type Field<'f> = (&'f str, &'f [u8]);

/// A complete request whose head is the usual one, changed by `change`.
async fn exchange(peer: &mut Peer, change: impl FnOnce(&mut Vec<(String, Bytes)>)) -> Reply {
    let mut head = request_head(UNARY);
    change(&mut head);
    let stream = peer.open();
    let mut bytes = Vec::new();
    peer.encode_headers(stream, &head, false, &mut bytes);
    data_frame(stream, &message(b"x"), true).encode(&mut bytes);
    peer.send_bytes(&bytes).await;
    peer.reply(stream).await
}

fn field((name, value): Field<'_>) -> (String, Bytes) {
    (name.to_owned(), Bytes::copy_from_slice(value))
}

// http2-abuse 17: a reply that gets no window is given up after the stall timeout, with its memory.
#[test]
fn abuse_17_a_thousand_replies_without_window_are_given_up() {
    virtual_time(async {
        let (server, journal) = server();
        let served = serve(server);
        let mut peers = Vec::new();
        for _ in 0..10 {
            let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
            let script = [("script", "many 1 1000")];
            let mut streams = Vec::new();
            for _ in 0..100 {
                streams.push(peer.request(UNARY, &script, &message(b""), true).await);
            }
            peers.push((peer, streams));
        }
        journal.until(|counts| counts.ended == 1_000).await;
        // The slow reader has nothing to wait for but the timeout; one with a window is served meanwhile.
        let mut canary = served.peer().await;
        assert_eq!(canary.call(UNARY, &[("script", "many 1 1000")], b"").await.code(), 0);
        for (peer, streams) in &mut peers {
            for stream in streams {
                let reply = peer.reply(*stream).await;
                assert_eq!((reply.ending, reply.messages.len()), (Some(Ending::Reset(ErrorCode::CANCEL)), 0));
            }
        }
        let (mut last, _) = peers.pop().expect("ten peers");
        drop(peers);
        // Whoever then reads is served.
        last.settings(&[Setting::InitialWindowSize(65_535)]).await;
        assert_eq!(last.call(UNARY, &[], b"on").await.texts(), ["on"]);
        served.finish([last, canary]).await;
    });
}

// http2-abuse 24: a refused stream's block still counts for the table, also one whose stream is refused amid it.
#[test]
fn abuse_24_later_requests_decode_right_after_refused_blocks() {
    virtual_time(async {
        let (server, journal) = server();
        let served = serve(server.max_concurrent_streams(1));
        let mut peer = served.peer().await;
        for round in 0..50 {
            let first = peer.request(UNARY, &[("script", "gate; tell")], &message(b""), true).await;
            // Each refused block brings entries that later ones refer to.
            let (name, value) = (format!("x-{round}"), "v".repeat(round * 7));
            let refused = peer.request(UNARY, &[(&*name, &*value)], &message(b""), true).await;
            assert_eq!(peer.expect_reset(refused).await, ErrorCode::REFUSED_STREAM);
            let bad = peer.open();
            let mut bytes = Vec::new();
            peer.encode_headers(bad, &[("x-bad", "1"), (":path", "/late")], true, &mut bytes);
            peer.send_bytes(&bytes).await;
            assert!(matches!(
                peer.expect_reset(bad).await,
                ErrorCode::REFUSED_STREAM | ErrorCode::PROTOCOL_ERROR
            ));
            journal.open_gate(1);
            assert_eq!(peer.reply(first).await.code(), 0);
            let reply = peer.call(UNARY, &[(&*name, &*value), ("x-bad", "1"), ("script", "tell")], b"").await;
            assert_eq!(reply.texts(), [format!("{name}: {value}\nx-bad: 1\n")]);
        }
        served.finish([peer]).await;
    });
}

// http2-abuse 24: an error amid a block loses the table, so the connection cannot go on.
#[test]
fn abuse_24_a_broken_block_ends_the_connection() {
    virtual_time(async {
        let (served, mut peer, journal) = start().await;
        let stream = peer.open();
        // A good entry for the table, then an index far beyond it.
        let fragment = [&[0x40, 0x01, b'x', 0x01, b'y'][..], &[0xff, 0x20]].concat();
        let head = Headers {
            stream,
            dependency: None,
            fragment: &fragment,
            end_stream: true,
            end_headers: true,
            padding: None,
        };
        peer.send(&[Frame::Headers(head)]).await;
        let (_, code, _) = peer.expect_go_away().await;
        assert_eq!(code, ErrorCode::COMPRESSION_ERROR);
        peer.expect_closed().await;
        assert_eq!(journal.counts().started, 0);
        served.finish([peer]).await;
    });
}

// http2-abuse 29: a client that never saw the limit is held to it, whatever it sends in its first write.
#[test]
fn abuse_29_a_limit_of_one_holds_before_it_is_known() {
    virtual_time(async {
        let (server, journal) = server();
        let served = serve(server.max_concurrent_streams(1));
        let mut peer = Peer::new(served.connect(), PeerConfig::default());
        let mut bytes = PREFACE.to_vec();
        Settings::encode_entries(&[], &mut bytes);
        let mut streams = Vec::new();
        for _ in 0..100 {
            let stream = peer.open();
            let mut head = request_head(BIDI);
            head.push(field(("script", b"gate; send done")));
            peer.encode_headers(stream, &head, true, &mut bytes);
            streams.push(stream);
        }
        peer.send_bytes(&bytes).await;
        for stream in &streams[1..] {
            assert_eq!(peer.expect_reset(*stream).await, ErrorCode::REFUSED_STREAM);
        }
        journal.open_gate(1);
        assert_eq!(peer.reply(streams[0]).await.texts(), ["done"]);
        assert_eq!((journal.counts().started, journal.counts().most), (1, 1));
        served.finish([peer]).await;
    });
}

// http2-abuse 30: the last id there is, first of all: that call is answered, and the client is sent away.
#[test]
fn abuse_30_the_highest_stream_id_first() {
    virtual_time(async {
        let (served, mut peer, _) = start().await;
        let mut bytes = Vec::new();
        peer.encode_headers(StreamId::MAX, &request_head(UNARY), false, &mut bytes);
        data_frame(StreamId::MAX, &message(b"last"), true).encode(&mut bytes);
        peer.send_bytes(&bytes).await;
        let (last, code, _) = peer.expect_go_away().await;
        assert_eq!((last, code), (StreamId::MAX, ErrorCode::NO_ERROR));
        assert_eq!(peer.reply(StreamId::MAX).await.texts(), ["last"]);
        peer.expect_closed().await;
        // A new connection is as good as ever.
        let mut next = served.peer().await;
        assert_eq!(next.call(UNARY, &[], b"on").await.texts(), ["on"]);
        served.finish([peer, next]).await;
    });
}

// http2-abuse 32: one canonical path, compared octet by octet; whatever else ends UNIMPLEMENTED before any handler.
#[test]
fn abuse_32_paths_that_are_not_canonical() {
    virtual_time(async {
        let (served, mut peer, journal) = start().await;
        let paths: &[&[u8]] = &[
            b"test.Test/Unary",
            b"//test.Test/Unary",
            b"/test.Test//Unary",
            b"/test.Test/Unary/",
            b"/test.Test/Unary?x=1",
            b"/test.Test/Unary#x",
            b"/./test.Test/Unary",
            b"/x/../test.Test/Unary",
            b"/test.Test/%55nary",
            b"/test%2eTest/Unary",
            b"/test.Test%2fUnary",
            b"/test.Test/Unary%00",
            b"/test.Test/Unary;x",
            b"/TEST.Test/Unary",
            b"\\test.Test\\Unary",
            b"http://test.example/test.Test/Unary",
            b"*",
            b"/",
        ];
        for path in paths {
            let reply = exchange(&mut peer, |head| head[2].1 = Bytes::copy_from_slice(path)).await;
            assert_eq!(reply.code(), 12, "{}", path.escape_ascii());
        }
        assert_eq!(journal.counts().started, 0);
        assert_eq!(exchange(&mut peer, |_| {}).await.code(), 0);
        served.finish([peer]).await;
    });
}

// http2-abuse 33
#[test]
fn abuse_33_smuggling_by_pseudo_headers_and_fields() {
    let authority_twice: &[Field<'_>] = &[(":authority", b"other.example")];
    let added: &[&[Field<'_>]] = &[
        authority_twice,
        &[(":method", b"POST")],
        &[(":scheme", b"http")],
        &[(":path", b"/test.Test/Unary")],
        &[(":status", b"200")],
        &[(":protocol", b"websocket")],
        &[(":unknown", b"x")],
        &[(":", b"x")],
        &[("x", b"a\rb")],
        &[("x", b"a\nb")],
        &[("x", b"a\r\nhost: evil.example")],
        &[("x", b"a\0b")],
        &[("x\r\ny", b"z")],
        &[("x y", b"z")],
        &[("x:y", b"z")],
        &[("X-Upper", b"z")],
        &[("x\0", b"z")],
        &[("x\x7f", b"z")],
        &[("", b"z")],
        &[("connection", b"close")],
        &[("connection", b"te")],
        &[("keep-alive", b"1")],
        &[("proxy-connection", b"close")],
        &[("transfer-encoding", b"chunked")],
        &[("upgrade", b"h2c")],
        &[("te", b"gzip")],
        &[("te", b"trailers, deflate")],
        &[("host", b"a.example"), ("host", b"b.example")],
        &[("content-length", b"x")],
        &[("content-length", b"-1")],
        &[("content-length", b"6"), ("content-length", b"7")],
        &[("content-length", b"6, 6")],
    ];
    virtual_time(async {
        let (served, mut peer, journal) = start().await;
        for fields in added {
            let reply = exchange(&mut peer, |head| head.extend(fields.iter().map(|f| field(*f)))).await;
            assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)), "{fields:?}");
        }
        // In front, where pseudo-headers belong, each of them a second time.
        for name in [":method", ":scheme", ":path", ":authority"] {
            let reply = exchange(&mut peer, |head| head.insert(0, field((name, b"x")))).await;
            assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)), "{name} twice");
        }
        // Missing, and behind a regular field.
        for index in 0..3 {
            let reply = exchange(&mut peer, |head| drop(head.remove(index))).await;
            assert_eq!(
                reply.ending,
                Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)),
                "number {index} missing"
            );
            let reply = exchange(&mut peer, |head| {
                let pseudo = head.remove(index);
                head.push(pseudo);
            })
            .await;
            assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)), "number {index} late");
        }
        assert_eq!(journal.counts().started, 0, "no handler runs");
        assert_eq!(exchange(&mut peer, |_| {}).await.code(), 0);
        served.finish([peer]).await;
    });
}

// http2-abuse 34
#[test]
fn abuse_34_content_length_that_lies() {
    virtual_time(async {
        let (served, mut peer, journal) = start().await;
        // The body has six bytes.
        for length in [&b"0"[..], b"5", b"7", b"18446744073709551614"] {
            let reply = exchange(&mut peer, |head| head.push(field(("content-length", length)))).await;
            assert_eq!(
                reply.ending,
                Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)),
                "{}",
                length.escape_ascii()
            );
        }
        // Said, and ended by the head.
        let stream = peer.open();
        let mut head = request_head(UNARY);
        head.push(field(("content-length", b"5")));
        peer.headers(stream, &head, true).await;
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::PROTOCOL_ERROR);
        // Said, and ended by trailers.
        let stream = peer.open();
        let mut bytes = Vec::new();
        peer.encode_headers(stream, &head, false, &mut bytes);
        peer.encode_headers(stream, &[("x", "y")], true, &mut bytes);
        peer.send_bytes(&bytes).await;
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::PROTOCOL_ERROR);
        assert_eq!(journal.counts().started, 0);
        let reply = exchange(&mut peer, |head| head.push(field(("content-length", b"6")))).await;
        assert_eq!(reply.code(), 0);
        served.finish([peer]).await;
    });
}

// http2-abuse 35: every combination of a bad field and one that is large.
#[test]
fn abuse_35_bad_fields_beside_large_ones() {
    virtual_time(async {
        let (served, mut peer, journal) = start().await;
        let large = vec![b'y'; 9_000];
        let bad: &[Field<'_>] =
            &[("te", b"x"), ("te", b""), (":scheme", b"x"), ("host", b"a"), ("content-length", b"y")];
        let mut offences = 0;
        for field_bad in bad {
            for large_first in [true, false] {
                let reply = exchange(&mut peer, |head| {
                    let large = field(("x", &large));
                    let at = if large_first { head.len() } else { 4 };
                    head.insert(at, large);
                    head.push(field(*field_bad));
                })
                .await;
                match reply.ending {
                    Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)) => offences += 1,
                    Some(Ending::Stream) => assert_eq!(field_bad.0, "host", "{field_bad:?}"),
                    other => panic!("{field_bad:?}: {other:?}"),
                }
            }
        }
        assert_eq!((offences, journal.counts().started), (8, 2));
        served.finish([peer]).await;
    });
}

// http2-abuse 38: the legitimate extreme: a message of exactly the limit.
#[test]
fn extreme_a_message_of_exactly_the_limit() {
    virtual_time(async {
        let (served, mut peer, _) = start().await;
        let stream = peer.request(UNARY, &[], b"", false).await;
        let largest = vec![7; 4 << 20];
        peer.send_body(stream, &message(&largest), true).await;
        assert_eq!(peer.reply(stream).await.messages, [largest]);
        let stream = peer.request(UNARY, &[], &[0, 0, 0x40, 0, 1], false).await;
        assert_eq!(peer.reply(stream).await.code(), 8);
        served.finish([peer]).await;
    });
}

/// `google.protobuf.Value` inside of a list inside of a value, so many times.
fn nested_values(depth: usize) -> Vec<u8> {
    let mut body = Vec::new();
    for level in 0..2 * depth {
        // Value.list_value is field 6, ListValue.values field 1.
        let tag = if level % 2 == 0 { 0x0a } else { 0x32 };
        let mut outer = vec![tag];
        let mut len = body.len();
        while len >= 0x80 {
            outer.push(len as u8 | 0x80);
            len >>= 7;
        }
        outer.push(len as u8);
        outer.append(&mut body);
        body = outer;
    }
    body
}

// http2-abuse 40
#[test]
fn abuse_40_messages_nested_too_deep_do_not_decode() {
    let limits = DecodeLimits::default();
    let nested = nested_values(3_000);
    assert!(
        <BuffaCodec as Codec<buffa_types::google::protobuf::Value>>::decode(
            Payload::Borrowed(&nested),
            &limits
        )
        .is_err()
    );
    assert!(<ProstCodec as Codec<prost_types::Value>>::decode(Payload::Borrowed(&nested), &limits).is_err());
    let nested = nested_values(20);
    assert!(
        <BuffaCodec as Codec<buffa_types::google::protobuf::Value>>::decode(
            Payload::Borrowed(&nested),
            &limits
        )
        .is_ok()
    );
    assert!(<ProstCodec as Codec<prost_types::Value>>::decode(Payload::Borrowed(&nested), &limits).is_ok());
    // Groups of fields that nobody knows.
    let groups = [vec![0x1b; 10_000], vec![0x1c; 10_000]].concat();
    assert!(
        <BuffaCodec as Codec<buffa_types::google::protobuf::Value>>::decode(
            Payload::Borrowed(&groups),
            &limits
        )
        .is_err()
    );
    assert!(<ProstCodec as Codec<prost_types::Value>>::decode(Payload::Borrowed(&groups), &limits).is_err());
}

// http2-abuse 41: the code arrives whatever the peer's limit; the text is cut.
#[test]
fn abuse_41_a_status_text_of_a_mebibyte_is_cut() {
    virtual_time(async {
        let (server, _) = server();
        let served = serve(server);
        for limit in [None, Some(8_192), Some(500)] {
            let mut config = PeerConfig::default();
            config.settings.extend(limit.map(Setting::MaxHeaderListSize));
            let mut peer = served.peer_with(config).await;
            for path in [UNARY, SERVER_STREAM] {
                let stream = peer.request(path, &[("script", "fail-request 5")], b"", false).await;
                peer.send_body(stream, &message(&vec![b'x'; 1 << 20]), true).await;
                let reply = peer.reply(stream).await;
                let (code, text) = reply.status();
                assert_eq!(code, 5, "{path}");
                assert!(text.bytes().all(|octet| octet == b'x') || text.contains("xxxx"), "{path}");
                if let Some(limit) = limit {
                    let block = reply.trailers.as_ref().unwrap_or(&reply.head);
                    let size: usize = block.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
                    assert!(size <= limit as usize, "{size} of {limit}");
                }
            }
            drop(peer);
        }
        served.finish([]).await;
    });
}

// http2-abuse 48: GOAWAY with every last stream there is; the client's calls are its own, not what GOAWAY speaks of.
#[test]
fn abuse_48_goaway_of_a_client_cuts_no_call() {
    virtual_time(async {
        for last in [0, 1, 2, 99, 0x7fff_ffff] {
            let (served, mut peer, journal) = start().await;
            let stream = peer.request(BIDI, &[("script", "gate; echo; echo")], &message(b"one"), false).await;
            journal.until(|counts| counts.started == 1).await;
            let go_away = peregrine_http2::frame::GoAway {
                last_stream: StreamId::new(last),
                code: ErrorCode::INTERNAL_ERROR,
                debug: b"so long",
            };
            peer.send(&[Frame::GoAway(go_away)]).await;
            settle().await;
            peer.data(stream, &message(b"two"), true).await;
            journal.open_gate(1);
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (0, vec!["one", "two"]), "last stream {last}");
            served.finish([peer]).await;
        }
    });
}

// Only here: a wake-up, a reply or credit that comes late belongs to a call that is gone, and its place in the table
// to another one.
#[test]
fn abuse_00_late_signs_of_a_reset_call_do_not_reach_its_successor() {
    for execution in [peregrine_server::Execution::Inline, peregrine_server::Execution::Spawn] {
        virtual_time(async {
            let (server, journal) = server();
            let served = serve(server.execution(execution));
            let mut peer = served.peer().await;
            for round in 0..100 {
                // Wakes itself over and over, and has made a message when it is reset.
                let script = [("script", "yield; send stale; yield; yield; send stale; gate")];
                let first = peer.request(BIDI, &script, &message(b"x"), false).await;
                let mut bytes = Vec::new();
                RstStream { stream: first, code: ErrorCode::CANCEL }.encode(&mut bytes);
                if round % 2 == 0 {
                    settle().await;
                }
                peer.send_bytes(&bytes).await;
                let text = format!("fresh {round}");
                let second = peer
                    .request(BIDI, &[("script", "yield; echo; yield")], &message(text.as_bytes()), true)
                    .await;
                let reply = peer.reply(second).await;
                assert_eq!((reply.code(), reply.texts()), (0, vec![&*text]));
            }
            settle().await;
            assert_eq!(journal.counts().running(), 0);
            served.finish([peer]).await;
        });
    }
}

// Only here: the server's pre-encoded blocks follow the client's table, whatever games it plays with its size.
#[test]
fn abuse_00_replies_decode_whatever_the_client_does_to_its_table() {
    virtual_time(async {
        let (served, mut peer, _) = start().await;
        for round in 0..500_usize {
            let sizes = [4_096, 0, 64, 4_096, 31, 200, 0, 0, 4_096, 1];
            let mut bytes = Vec::new();
            for step in 0..=round % 3 {
                let size = sizes[(round * 7 + step) % sizes.len()];
                Settings::encode_entries(&[Setting::HeaderTableSize(size)], &mut bytes);
            }
            peer.send_bytes(&bytes).await;
            let script = format!("head x-head {round}; trail x-trail {round}; echo");
            let reply = peer.call(SERVER_STREAM, &[("script", &script)], b"body").await;
            let number = round.to_string();
            assert_eq!((reply.code(), reply.texts()), (0, vec!["body"]));
            assert_eq!(
                (reply.head_value("x-head"), reply.trailer_value("x-trail")),
                (Some(&*number), Some(&*number))
            );
        }
        served.finish([peer]).await;
    });
}

// http2-abuse 16: beside the attack: what a handler makes while nobody reads is bounded, and goes on when one does.
#[test]
fn abuse_16_a_producer_waits_for_its_reader() {
    virtual_time(async {
        let (served, mut peer, journal) = start().await;
        let stream =
            peer.request(SERVER_STREAM, &[("script", "many 65536 16384")], &message(b""), true).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let made = journal.counts().made;
        // The pipe holds 16 of them, the output 16, the stream 2; some more are on their way.
        assert!(made <= 64, "{made} messages of 16 KiB made for nobody");
        assert_eq!(peer.messages(stream, 200).await.messages.len(), 200);
        let made = journal.counts().made;
        assert!((200..=264).contains(&made), "{made}");
        peer.reset(stream, ErrorCode::CANCEL).await;
        journal.until(|counts| counts.cancelled == 1).await;
        while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(1), peer.frame()).await {
            assert!(!matches!(frame, Received::GoAway { .. }));
        }
        served.finish([peer]).await;
    });
}

// Of this design alone: calls that are put off while replies pile up, each reset before it begins.
#[test]
fn abuse_00_calls_that_are_put_off_and_reset_leave_nothing_behind() {
    virtual_time(async {
        let (server, journal) = server();
        let served = serve(server.max_queued_replies(100_000));
        let mut peer = served.peer().await;
        peer.io().set_capacity(1_000);
        for _ in 0..12 {
            peer.request(UNARY, &[("script", "many 1 50000")], &message(b""), true).await;
            settle().await;
        }
        let started = journal.counts().started;
        let (mut live, mut next) = (0, 101);
        for round in 0..40 {
            for _ in 0..500 {
                // The peer's own books would count every request.
                let (stream, mut bytes) = (StreamId::new(next), Vec::new());
                next += 2;
                peer.encode_headers(stream, &request_head(UNARY), false, &mut bytes);
                data_frame(stream, &message(b""), true).encode(&mut bytes);
                RstStream { stream, code: ErrorCode::CANCEL }.encode(&mut bytes);
                peer.send_bytes(&bytes).await;
            }
            // As fast as resets are forgiven, and always reading a little.
            tokio::time::sleep(Duration::from_secs(1)).await;
            if round == 4 {
                live = CountingAllocator::thread_live_bytes();
            }
        }
        assert_eq!(journal.counts().started, started, "nothing began meanwhile");
        let grown = CountingAllocator::thread_live_bytes() - live;
        assert!(grown < 32 * 1_024, "{grown} bytes more after 17,500 calls that are gone");
        drop(peer);
        served.finish([]).await;
    });
}
