//! Compressed messages: what is read, and what is said of it.

use bytes::Bytes;
use peregrine_core::compression::Compression;
use peregrine_core::message::{Deframer, Encoding};
use peregrine_server::MethodConfig;
use peregrine_testkit::peer::{Reply, message, prefixed, request_head};
use peregrine_testkit::serve;
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};

use crate::{Stage, code, in_each_mode};

/// "hello" by other implementations.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
const DEFLATE: &[u8] = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";
const SNAPPY: &[u8] = b"\xff\x06\0\0sNaPpY\x01\x09\0\0\xbb\x1f\x1c\x19hello";

const HELLO: [(&str, &[u8]); 4] = [("gzip", GZIP), ("deflate", DEFLATE), ("zstd", ZSTD), ("snappy", SNAPPY)];

fn framed(flag: u8, body: &[u8]) -> Vec<u8> {
    prefixed(flag, body.len() as u32, body)
}

// wire-rules 31, 32, 33, 38, 40, N5 and the table "Header versus flag"; bug-reports 80: whatever is wrong ends the call at
// once, and only that call.
#[test]
fn header_and_flag_decide_together() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (encoding, packed) in HELLO {
            let rows = [
                ("raw", message(b"hello"), code::OK, vec!["hello"]),
                ("compressed", framed(1, packed), code::OK, vec!["hello"]),
                ("an empty message", framed(1, b""), code::OK, vec![""]),
                ("raw with flag 1", framed(1, b"hello"), code::INTERNAL, vec![]),
                ("cut short", framed(1, &packed[..packed.len() - 3]), code::INTERNAL, vec![]),
                ("bytes behind", framed(1, &[packed, b"?"].concat()), code::INTERNAL, vec![]),
                ("flag 2", framed(2, packed), code::INTERNAL, vec![]),
                ("flag 128", framed(128, packed), code::INTERNAL, vec![]),
            ];
            for (what, body, expected, texts) in rows {
                for path in [UNARY, SERVER_STREAM] {
                    for cut in [0, 3, body.len() - 1] {
                        let stream = peer.request(path, &[("grpc-encoding", encoding)], b"", false).await;
                        peer.data(stream, &body[..cut], false).await;
                        peer.data(stream, &body[cut..], true).await;
                        let reply = peer.reply(stream).await;
                        let row = format!("{encoding}, {what}, {path}, cut at {cut}");
                        assert_eq!((reply.code(), reply.texts()), (expected, texts.clone()), "{row}");
                    }
                }
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 33, 39, S1: each message of a stream by itself.
#[test]
fn a_stream_mixes_compressed_and_raw_messages() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (encoding, packed) in HELLO {
            let body = [framed(1, packed), message(b"raw"), framed(1, packed)].concat();
            let fields = [("grpc-encoding", encoding)];
            let stream = peer.request(BIDI, &fields, &body, true).await;
            assert_eq!(peer.reply(stream).await.texts(), ["hello", "raw", "hello"], "{encoding}");
            let stream = peer.request(CLIENT_STREAM, &fields, &body, true).await;
            assert_eq!(peer.reply(stream).await.texts(), ["3 messages, 13 bytes"], "{encoding}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 43: the limit is that of the inflated message.
#[test]
fn a_message_that_inflates_past_the_limit_is_refused() {
    in_each_mode(async |stage: Stage| {
        for (limit, expected) in [(5, code::OK), (4, code::RESOURCE_EXHAUSTED)] {
            let served = serve(stage.server().max_receive_message_size(limit.max(DEFLATE.len())));
            let mut peer = served.peer().await;
            // 17 bytes in 11: the prefix is within the limit, the message is not.
            let packed = b"\x78\x9c\xab\xa8\x40\x03\0\x47\xc9\x07\xf9";
            let body = if limit == 5 { framed(1, DEFLATE) } else { framed(1, packed) };
            for path in [UNARY, BIDI] {
                let stream = peer.request(path, &[("grpc-encoding", "deflate")], &body, true).await;
                assert_eq!(peer.reply(stream).await.code(), expected, "{path}");
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules 18, 37: a client that says what it accepts hears what this server accepts.
#[test]
fn accepted_encodings_are_named_to_those_who_name_theirs() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let plain = peer.call(UNARY, &[], b"hello").await;
        assert_eq!(plain.head_value("grpc-accept-encoding"), None);
        let asking = peer.call(UNARY, &[("grpc-accept-encoding", "gzip")], b"hello").await;
        assert_eq!(asking.head_value("grpc-accept-encoding"), Some("zstd,gzip,deflate,snappy,identity"));
        assert_eq!(asking.head_value("grpc-encoding"), None, "nothing is compressed unless it is turned on");
        served.finish([peer]).await;
    });
}

/// Bytes that every codec makes smaller, and that differ from place to place.
fn text(len: usize) -> Vec<u8> {
    (0..len).map(|index| b"compressible "[index % 13] ^ (index / 997) as u8).collect()
}

/// The messages of a reply as a reader has them.
fn inflated(reply: &Reply) -> Vec<Vec<u8>> {
    let encoding = reply.head_value("grpc-encoding").unwrap_or("identity");
    let mut deframer = Deframer::new(Encoding::from_wire(encoding.as_bytes()).expect("ours"), usize::MAX);
    for (&flag, message) in reply.flags.iter().zip(&reply.messages) {
        deframer.push(&framed(flag, message));
    }
    std::iter::from_fn(|| deframer.next_message().expect("ours").map(|message| message.as_slice().to_vec()))
        .collect()
}

// wire-rules S1, T1, F1, B4, 39, 40, N7, bug-reports 82
#[test]
fn sizes_decide_the_flags_of_a_reply() {
    let messages: Vec<_> = [10, 5_000, 0, 1_024, 1_023, 70_000].into_iter().map(text).collect();
    let body: Vec<_> = messages.iter().flat_map(|text| message(text)).collect();
    in_each_mode(async |stage: Stage| {
        for (encoding, _) in HELLO {
            let served = serve(stage.server().compression(Compression::adaptive()));
            let mut peer = served.peer().await;
            let stream = peer.request(BIDI, &[("grpc-accept-encoding", encoding)], b"", false).await;
            peer.send_body(stream, &body, true).await;
            let reply = peer.reply(stream).await;
            assert_eq!(reply.head_value("grpc-encoding"), Some(encoding));
            assert_eq!(reply.flags, [0, 1, 0, 1, 0, 1], "{encoding}");
            assert!(inflated(&reply) == messages, "{encoding}");
            for (text, flag) in messages.iter().zip([0, 1, 0, 1, 0, 1]) {
                let stream = peer.request(UNARY, &[("grpc-accept-encoding", encoding)], b"", false).await;
                peer.send_body(stream, &message(text), true).await;
                let reply = peer.reply(stream).await;
                assert_eq!((reply.code(), &reply.flags[..]), (code::OK, &[flag][..]), "{encoding}, unary");
                assert!(inflated(&reply)[0] == *text, "{encoding}, unary");
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules 36, 41, N4, P1, N7: the server's order counts, and nothing that the client does not name; independent of
// the encoding of the request.
#[test]
fn the_first_of_ours_that_the_client_accepts_is_used() {
    let setting = Compression::prefer([Encoding::Gzip, Encoding::Zstd, Encoding::Deflate]);
    let lists: [(&[&str], Option<&str>); 12] = [
        (&[], None),
        (&["gzip"], Some("gzip")),
        (&["zstd,gzip"], Some("gzip")),
        (&["deflate, zstd"], Some("zstd")),
        (&["identity,deflate"], Some("deflate")),
        (&["gzip,"], Some("gzip")),
        (&["deflate", "gzip"], Some("gzip")),
        (&["snappy"], None),
        (&["x-gzip"], None),
        (&["gzipx,notgzip"], None),
        (&["identity"], None),
        (&[""], None),
    ];
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().compression(setting));
        let mut peer = served.peer().await;
        for (lists, expected) in lists {
            for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                let mut fields = vec![("grpc-encoding", "deflate"), ("script", "many 1 2000")];
                fields.extend(lists.iter().map(|list| ("grpc-accept-encoding", *list)));
                let reply = peer.call(path, &fields, b"").await;
                assert_eq!(reply.head_value("grpc-encoding"), expected, "{lists:?}, {path}");
                assert_eq!(reply.flags, [u8::from(expected.is_some())], "{lists:?}, {path}");
                assert_eq!(inflated(&reply), [[b'm'; 2_000]], "{lists:?}, {path}");
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules T3, T8, P2: server, service, method, response, message; each may say otherwise.
#[test]
fn the_nearer_setting_counts() {
    in_each_mode(async |stage: Stage| {
        let gzip = Compression::only(Encoding::Gzip);
        let server = stage
            .server()
            .compression(Compression::only(Encoding::Zstd))
            .configure("test.Test", MethodConfig::new().compression(gzip))
            .configure("test.Test/Bidi", MethodConfig::new().compression(Compression::off()));
        let served = serve(server);
        let mut peer = served.peer().await;
        let rows: [(&str, &str, Option<&str>, &[u8]); 8] = [
            (SERVER_STREAM, "many 2 2000", Some("gzip"), &[1, 1]),
            (BIDI, "many 2 2000", None, &[0, 0]),
            (BIDI, "compress deflate; many 2 2000", Some("deflate"), &[1, 1]),
            (SERVER_STREAM, "compress off; many 2 2000", None, &[0, 0]),
            (UNARY, "compress off; many 1 2000", None, &[0]),
            (UNARY, "compress gzip threshold=0; many 1 200", Some("gzip"), &[1]),
            (SERVER_STREAM, "compress gzip threshold=off; many 1 2000", None, &[0]),
            (
                SERVER_STREAM,
                "many 1 2000; compressed no; many 1 2000; many 1 50; compressed yes; many 2 50; yield; compressed no; \
                 yield; many 1 2000",
                Some("gzip"),
                &[1, 0, 0, 1, 0, 0],
            ),
        ];
        for (path, script, encoding, flags) in rows {
            let fields = [("grpc-accept-encoding", "gzip,deflate,zstd"), ("script", script)];
            let reply = peer.call(path, &fields, b"").await;
            assert_eq!(reply.head_value("grpc-encoding"), encoding, "{path}: {script}");
            assert_eq!(reply.flags, flags, "{path}: {script}");
        }
        // Not even a response of its own goes out in what the client does not accept (wire-rules 36).
        let fields = [("grpc-accept-encoding", "deflate"), ("script", "compress gzip; many 1 2000")];
        let reply = peer.call(UNARY, &fields, b"").await;
        assert_eq!((reply.head_value("grpc-encoding"), &reply.flags[..]), (None, &[0][..]));
        served.finish([peer]).await;
    });
}

// wire-rules F3: a reply without messages says nothing of their encoding.
#[test]
fn trailers_only_names_no_encoding() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().compression(Compression::adaptive()));
        let mut peer = served.peer().await;
        let fields = [("grpc-accept-encoding", "gzip"), ("script", "refuse 5 no")];
        let reply = peer.call(UNARY, &fields, b"").await;
        assert!(reply.is_trailers_only());
        assert_eq!(reply.head_value("grpc-encoding"), None);
        served.finish([peer]).await;
    });
}

// wire-rules T4
#[tokio::test]
async fn a_setting_that_cannot_be_meant_is_an_error_at_the_start() {
    let journal = std::sync::Arc::default();
    let server = || {
        peregrine_server::Server::builder()
            .add_service(peregrine_testkit::TestService::new(std::sync::Arc::clone(&journal)))
    };
    let wrong = Compression::only(Encoding::Gzip).level(11);
    let of_method = server().configure("test.Test/Unary", MethodConfig::new().compression(wrong));
    for (server, of) in [(server().compression(wrong), "the server"), (of_method, "test.Test/Unary")] {
        let error = server.serve("127.0.0.1:0").await.unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains(of) && text.contains("levels 1 to 9"), "{text}");
    }
}

// wire-rules N4: bytes of every kind in the list, and no longer an item than the one that is meant.
#[test]
fn a_list_of_any_bytes_is_read_item_by_item() {
    let long = [&vec![b'x'; 8_190][..], b",gzip"].concat();
    let many = [b"br,".repeat(3_000), b"\t gzip".to_vec()].concat();
    let lists: [(&[&[u8]], Option<&str>); 13] = [
        (&[b"gzip;q=0"], None),
        (&[b"gzip;q=1.0"], None),
        (&[b"GZIP"], None),
        (&[b"*"], None),
        (&[b"\"gzip\""], None),
        (&[b"gzip deflate"], None),
        (&[b"\xff\xfe,gzip"], Some("gzip")),
        (&[b"gz\xffip", b"gzip\xff"], None),
        (&[b"gzip\t,\tdeflate"], Some("gzip")),
        (&[&long], Some("gzip")),
        (&[&many], Some("gzip")),
        (&[b"", b",,", b"gzip"], Some("gzip")),
        (&[b"gzip,identity", b"zstd"], Some("zstd")),
    ];
    in_each_mode(async |stage: Stage| {
        let server = stage.server().compression(Compression::adaptive()).max_header_list_size(64 * 1024);
        let served = serve(server);
        let mut peer = served.peer().await;
        for (lists, expected) in lists {
            let mut head = request_head(UNARY);
            head.push(("script".to_owned(), "many 1 2000".into()));
            head.extend(
                lists.iter().map(|list| ("grpc-accept-encoding".to_owned(), Bytes::copy_from_slice(list))),
            );
            let stream = peer.open();
            peer.headers(stream, &head, false).await;
            peer.data(stream, &message(b""), true).await;
            let reply = peer.reply(stream).await;
            let got = (reply.code(), reply.head_value("grpc-encoding"));
            assert_eq!(got, (code::OK, expected), "{}", lists[0][..lists[0].len().min(20)].escape_ascii());
        }
        served.finish([peer]).await;
    });
}

// wire-rules P2: what is said is said of one message of one call, and outlives the wait for it.
#[test]
fn what_is_said_of_a_message_stays_with_its_call_and_outlives_the_wait() {
    let accept = ("grpc-accept-encoding", "gzip");
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().compression(Encoding::Gzip));
        let mut peer = served.peer().await;
        let befores = [
            (UNARY, "compressed yes; send x"),
            (UNARY, "compressed no; fail 5 x"),
            (SERVER_STREAM, "compressed yes; fail 5 x"),
            (SERVER_STREAM, "compressed yes; panic secret"),
            (BIDI, "compressed yes"),
        ];
        for (path, script) in befores {
            let waiting = [accept, ("script", "compressed no; gate; many 2 3000")];
            let waiting = peer.request(BIDI, &waiting, b"", true).await;
            peer.call(path, &[accept, ("script", script)], b"").await;
            let fields = [accept, ("script", "many 1 60; many 1 3000; many 1 60")];
            assert_eq!(peer.call(SERVER_STREAM, &fields, b"").await.flags, [0, 1, 0], "{path} {script}");
            stage.journal.open_gate(1);
            assert_eq!(peer.reply(waiting).await.flags, [0, 1], "{path} {script}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 39, 40: every message stands alone, and a compressed nothing is nothing.
#[test]
fn a_message_that_needs_another_one_to_be_inflated_is_refused() {
    const RAW_DEFLATE: &[u8] = b"\xcb\x48\xcd\xc9\xc9\x07\0";
    const WITH_DICTIONARY: &[u8] = b"\x78\xbb\x05\x8c\x01\xf5\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15";
    const ZSTD_WITH_DICTIONARY: &[u8] = b"\x28\xb5\x2f\xfd\x21\x07\x05\x29\0\0hello";
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (encoding, broken) in
            [("deflate", RAW_DEFLATE), ("deflate", WITH_DICTIONARY), ("zstd", ZSTD_WITH_DICTIONARY)]
        {
            let good = HELLO.iter().find(|(name, _)| *name == encoding).unwrap().1;
            let body = [framed(1, good), framed(1, broken)].concat();
            let stream = peer.request(BIDI, &[("grpc-encoding", encoding)], &body, true).await;
            let reply = peer.reply(stream).await;
            assert_eq!(
                (reply.code(), reply.texts()),
                (code::INTERNAL, vec!["hello"]),
                "{encoding}: {reply:?}"
            );
        }
        let nothing: [(&str, &[u8]); 3] = [
            ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0"),
            ("deflate", b"\x78\x9c\x03\0\0\0\0\x01"),
            ("zstd", b"\x28\xb5\x2f\xfd\x20\0\x01\0\0"),
        ];
        for (encoding, packed) in nothing {
            let body = [framed(1, packed), framed(1, b""), framed(0, b"")].concat();
            let stream = peer.request(BIDI, &[("grpc-encoding", encoding)], &body, true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["", "", ""]), "{encoding}: {reply:?}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 36, 39 to 41: what one call's client takes says nothing of the next one's on the same connection, and an
// empty message is never compressed, though its handler asks for it.
#[test]
fn calls_on_one_connection_are_each_answered_in_what_they_accept() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().compression(Compression::adaptive()));
        let mut peer = served.peer().await;
        for _ in 0..3 {
            for accepted in ["gzip", "deflate", "", "zstd", "br", "gzip", "identity"] {
                for path in [SERVER_STREAM, BIDI] {
                    let fields = [
                        ("grpc-encoding", "gzip"),
                        ("grpc-accept-encoding", accepted),
                        ("script", "many 1 0; compressed yes; many 1 2000"),
                    ];
                    let reply = peer.call(path, &fields, b"").await;
                    let ours = ["gzip", "deflate", "zstd"].contains(&accepted);
                    assert_eq!(reply.head_value("grpc-encoding"), ours.then_some(accepted), "{accepted}");
                    assert_eq!(reply.flags, [0, u8::from(ours)], "{accepted} {path}");
                }
            }
        }
        let fields = [
            ("grpc-accept-encoding", "gzip"),
            ("script", "compress gzip threshold=0; compressed yes; many 1 0; many 1 2000"),
        ];
        let reply = peer.call(SERVER_STREAM, &fields, b"").await;
        assert_eq!((reply.code(), &reply.flags[..]), (code::OK, &[0, 1][..]));
        served.finish([peer]).await;
    });
}
