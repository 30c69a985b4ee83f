//! Streams attacked where messages join the ones before them: sizes that leave a few bytes of a frame, windows of a few
//! bytes, codecs that go wrong in the middle of a batch. A naive reader compares what comes with what was sent.

use bytes::Bytes;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::{InterceptedCall, Sender};
use peregrine_http2::StreamId;
use peregrine_http2::frame::Setting;
use peregrine_server::Server;
use peregrine_testkit::peer::{PeerConfig, message, prefixed, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Moody, Peer, Reply, serve, settle};

use crate::compressed_formats::Doubled;
use crate::feed::Feed;
use crate::{Stage, code, in_each_mode};

/// Sends `messages`; behind every third it yields, and behind every `flush_each`th it waits for it to leave.
fn feed(messages: Vec<Bytes>, flush_each: usize) -> Feed<Moody> {
    Feed::new(move |sender: Sender<Bytes>| {
        let messages = messages.clone();
        async move {
            for (index, message) in messages.into_iter().enumerate() {
                sender.send(message).await?;
                if (index + 1) % flush_each == 0 {
                    sender.flush().await?;
                } else if index % 3 == 2 {
                    tokio::task::yield_now().await;
                }
            }
            Ok(())
        }
    })
}

const NEVER: usize = usize::MAX;
const FRAME: usize = 16_384;

/// Lengths of messages around everything that there is a border at.
fn borders() -> Vec<Vec<usize>> {
    let mut rows = vec![
        vec![0; 50],
        vec![
            1, 0, 4_095, 4_096, 4_097, 0, 8_192, 16_374, 16_378, 16_379, 16_380, FRAME, 20_000, 3, 33_000, 1,
        ],
        vec![32_763, 5, 32_768, 32_758, 0, 0, 1],
        vec![5_000; 12],
        vec![37; 1_000],
    ];
    // One that leaves so many bytes of its frame, and what may just fit in there or not.
    rows.extend((0..=12).map(|left| vec![FRAME - 5 - left, 0, 1, FRAME - 5 - left, 3, 4_100]));
    rows
}

// wire-rules B1, B5, Z2, Z3: every message arrives as it was, in order, and its codec was asked for it once, also where
// it does not fit behind the ones before it.
#[test]
fn messages_around_every_border_arrive_whole_and_are_encoded_once() {
    in_each_mode(async |stage: Stage| {
        for lengths in borders() {
            for flush_each in [NEVER, 2] {
                let expected = Moody::messages(&lengths);
                let served = serve(stage.server().add_service(feed(expected.clone(), flush_each)));
                let mut peer = served.peer().await;
                Moody::take_encoded();
                let reply = peer.call(Feed::<Moody>::PATH, &[], b"").await;
                assert_eq!((reply.code(), reply.rest.len()), (code::OK, 0), "{lengths:?}");
                assert!(reply.messages == expected, "{lengths:?}");
                assert!(reply.data_frames.iter().all(|&len| len <= FRAME), "{:?}", reply.data_frames);
                assert_eq!(Moody::take_encoded(), lengths.len(), "{lengths:?}");
                served.finish([peer]).await;
            }
        }
    });
}

// wire-rules 83, 84, B1, B5: no frame is larger than the window at any time, nothing is lost or mixed up in it. The pipe
// takes little at a time, so that frames are cut anywhere.
#[test]
fn messages_arrive_whole_through_windows_of_a_few_bytes() {
    let rows: [(u32, &[usize]); 6] = [
        (1, &[3, 0, 0, 7, 1]),
        (5, &[0, 1, 0, 5, 10, 0, 0, 4]),
        (6, &[1, 1, 1, 0, 2, 7]),
        (1_000, &[990, 0, 0, 995, 996, 5_000, 1, 994, 1]),
        (FRAME as u32 - 1, &[16_373, 0, 16_378, 16_379, 1, 40_000, 2]),
        (65_535, &[65_530, 0, 65_531, 1, 16_374, 4_100, 4_100, 4_100, 0]),
    ];
    in_each_mode(async |stage: Stage| {
        for (window, lengths) in rows {
            for (capacity, is_watched) in [(7, false), (100, true), (1 << 20, false)] {
                let expected = Moody::messages(lengths);
                let mut server = stage.server().add_service(feed(expected.clone(), 4));
                if is_watched {
                    server = server.interceptor(|call: &mut InterceptedCall<'_>| {
                        call.on_response_message(|_| Ok(()));
                        Ok(())
                    });
                }
                let served = serve(server);
                let config = PeerConfig { refill_windows: true, ..PeerConfig::with_stream_window(window) };
                let mut peer = served.peer_with(config).await;
                peer.io().set_capacity(capacity);
                let reply = peer.call(Feed::<Moody>::PATH, &[], b"").await;
                let row = format!("window {window}, capacity {capacity}");
                assert_eq!((reply.code(), reply.rest.len()), (code::OK, 0), "{row}");
                assert!(reply.messages == expected, "{row}");
                assert!(reply.data_frames.iter().all(|&len| len <= window as usize), "{row}");
                served.finish([peer]).await;
            }
        }
    });
}

// wire-rules B3, Z3, E1, E3, 83: what goes wrong anywhere in a batch takes nothing of the messages before it along, leaves
// nothing of itself, and costs nothing of the connection's window.
#[test]
fn a_codec_that_goes_wrong_in_a_batch_takes_back_its_own_message_only() {
    const WINDOW: usize = 65_535;
    let rows: [(&[usize], usize); 8] = [
        (&[], 10),
        (&[10], 10),
        (&[10, 0, 10], 6_000),
        // Room for the prefix, and no more; and for one byte of the message.
        (&[FRAME - 10], 4),
        (&[FRAME - 11], 4),
        (&[16_000, 370, 4], 30),
        (&[4_096, 4_096], 4_096),
        (&[20_000, 3], 10),
    ];
    in_each_mode(async |stage: Stage| {
        for (before, bad_len) in rows {
            for (stream_window, mood) in [0x7fff_ffff, 8].into_iter().flat_map(|w| b"!?+-20".map(|m| (w, m)))
            {
                let good = Moody::messages(before);
                let mut all = good.clone();
                all.extend([Bytes::from(vec![mood; bad_len]), Bytes::from_static(b"never")]);
                let served = serve(stage.server().add_service(feed(all, NEVER)));
                let config = PeerConfig { connection_window: 0, ..PeerConfig::default() };
                let mut peer = served.peer_with(config).await;
                peer.settings(&[Setting::InitialWindowSize(stream_window)]).await;
                let stream = peer.request(Feed::<Moody>::PATH, &[], &message(b""), true).await;
                settle().await;
                peer.settings(&[Setting::InitialWindowSize(0x7fff_ffff)]).await;
                let reply = peer.reply(stream).await;
                let row = format!("{before:?}, then {bad_len} of {:?}, window {stream_window}", mood as char);
                let expected = if mood == b'!' { code::UNKNOWN } else { code::INTERNAL };
                let (code, text) = reply.status();
                assert_eq!((code, reply.rest.len()), (expected, 0), "{row}");
                assert!(reply.messages == good && !text.contains("secret"), "{row}: {text}");
                // All that is left of the connection's window can be used.
                let used: usize = before.iter().map(|len| len + 5).sum();
                let script = format!("many 1 {}", WINDOW - used - 5);
                let reply = peer.call(SERVER_STREAM, &[("script", &script)], b"").await;
                assert_eq!((reply.code(), reply.messages[0].len()), (code::OK, WINDOW - used - 5), "{row}");
                served.finish([peer]).await;
            }
        }
    });
}

/// The server with each setting that must not show.
fn settings(stage: &Stage) -> [Server; 3] {
    [
        stage.server(),
        stage.server().compression(Compression::only(Encoding::Gzip).always()),
        stage.server().interceptor(|call: &mut InterceptedCall<'_>| {
            call.on_request_message(|_| Ok(()));
            call.on_end(|_| ());
            Ok(())
        }),
    ]
}

const JSON: (&str, &str) = ("content-type", "application/grpc+json");

/// The head of a request with `fields`, of which a content-type counts in place of the usual one.
async fn begin(peer: &mut Peer, path: &str, fields: &[(&str, &str)], end_stream: bool) -> StreamId {
    let mut head = request_head(path);
    head.retain(|(name, _)| !fields.iter().any(|(other, _)| other == name));
    let more =
        fields.iter().map(|&(name, value)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes())));
    head.extend(more);
    let stream = peer.open();
    peer.headers(stream, &head, end_stream).await;
    stream
}

// wire-rules M4, R4: whatever the head says besides, a request stream's handler starts with it, unless it is refused by
// it; other handlers wait for the end.
#[test]
fn handlers_of_request_streams_start_on_headers_whatever_these_say() {
    let heads: [&[(&str, &str)]; 5] = [
        &[("grpc-encoding", "gzip")],
        &[("grpc-encoding", "identity"), ("grpc-accept-encoding", "gzip")],
        &[("grpc-timeout", "1H"), ("x-bin", "AAA")],
        &[JSON],
        &[JSON, ("grpc-encoding", "zstd"), ("grpc-accept-encoding", "zstd,gzip")],
    ];
    in_each_mode(async |stage: Stage| {
        for server in settings(&stage) {
            let served = serve(server.json(Doubled));
            let mut peer = served.peer().await;
            for fields in heads {
                for path in [CLIENT_STREAM, BIDI] {
                    let before = stage.counts().started;
                    let stream = begin(&mut peer, path, fields, false).await;
                    stage.journal.until(|counts| counts.started == before + 1).await;
                    peer.data(stream, b"", true).await;
                    assert_eq!(peer.reply(stream).await.code(), code::OK, "{path} {fields:?}");
                    let stream = begin(&mut peer, path, fields, true).await;
                    assert_eq!(peer.reply(stream).await.code(), code::OK, "{path} {fields:?}");
                }
                for path in [UNARY, SERVER_STREAM] {
                    let before = stage.counts().started;
                    let stream = begin(&mut peer, path, fields, false).await;
                    peer.data(stream, b"", false).await;
                    peer.data(stream, &prefixed(0, 0, b""), false).await;
                    settle().await;
                    assert_eq!(stage.counts().started, before, "{path} {fields:?} started too early");
                    peer.data(stream, b"", true).await;
                    assert_eq!(peer.reply(stream).await.code(), code::OK, "{path} {fields:?}");
                }
            }
            // The head alone is enough to refuse a call, and its handler never starts.
            for (fields, expected) in [
                (&[("grpc-encoding", "foo")][..], code::UNIMPLEMENTED),
                (&[("grpc-encoding", "gzip"), ("grpc-encoding", "gzip")], code::INTERNAL),
                (&[("grpc-timeout", "0n")], code::DEADLINE_EXCEEDED),
                (&[("grpc-timeout", "1s")], code::INTERNAL),
            ] {
                for path in [CLIENT_STREAM, BIDI] {
                    let before = stage.counts().started;
                    let stream = begin(&mut peer, path, fields, false).await;
                    assert_eq!(peer.reply(stream).await.code(), expected, "{path} {fields:?}");
                    assert_eq!(stage.counts().started, before, "{path} {fields:?}");
                }
            }
            served.finish([peer]).await;
        }
    });
}

/// The first message as it was on the wire: its flag, and how long it was.
fn first(reply: &Reply) -> (u8, usize) {
    (reply.flags[0], reply.messages[0].len())
}

// wire-rules T2, T5, T7, 40, S1: with a threshold of 0 everything but the empty message is tried, and what does not get
// smaller goes as it is, in unary replies and in streams; gzip can never help below 21 bytes.
#[test]
fn no_message_gets_longer_by_a_threshold_of_nothing() {
    let encodings = [
        ("gzip", Encoding::Gzip, 21),
        ("deflate", Encoding::Deflate, 1),
        ("snappy", Encoding::Snappy, 1),
        ("zstd", Encoding::Zstd, 1),
    ];
    in_each_mode(async |stage: Stage| {
        for (name, encoding, floor) in encodings {
            for setting in [Compression::only(encoding).threshold(0), Compression::only(encoding).always()] {
                let served = serve(stage.server().compression(setting));
                let mut peer = served.peer().await;
                let accepts = ("grpc-accept-encoding", name);
                for len in (0..=40).chain([1_000]) {
                    for script in [format!("many 1 {len}"), format!("compressed yes; many 1 {len}")] {
                        for path in [UNARY, SERVER_STREAM] {
                            let reply = peer.call(path, &[accepts, ("script", &script)], b"").await;
                            let row = format!("{path} {name} {script} {setting:?}: {:?}", first(&reply));
                            let (flag, sent) = first(&reply);
                            assert!(flag == 1 && sent < len || flag == 0 && sent == len, "{row}");
                            assert!(flag == 0 || len >= floor, "{row}");
                            assert!(flag == 1 || len < 1_000, "{row}");
                        }
                    }
                }
                served.finish([peer]).await;
            }
        }
    });
}

// wire-rules B6, 32, 36: `identity` is no compression whoever names it, and no flag may be set under it.
#[test]
fn identity_by_name_is_no_compression_in_either_direction() {
    in_each_mode(async |stage: Stage| {
        let served =
            serve(stage.server().json(Doubled).compression(Compression::only(Encoding::Gzip).always()));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            for accepts in ["identity", "identity, br", "IDENTITY", "gzipx,identity"] {
                for kind in [("content-type", "application/grpc"), JSON] {
                    let fields = [("grpc-encoding", "identity"), ("grpc-accept-encoding", accepts), kind];
                    let text = [b'm'; 2_000];
                    let stream = begin(&mut peer, path, &fields, false).await;
                    peer.data(stream, &message(&text), true).await;
                    let reply = peer.reply(stream).await;
                    assert_eq!((reply.code(), &reply.flags[..]), (code::OK, &[0][..]), "{path} {fields:?}");
                    assert!(!matches!(reply.head_value("grpc-encoding"), Some("gzip")), "{path} {fields:?}");
                    let stream = begin(&mut peer, path, &fields, false).await;
                    peer.data(stream, &prefixed(1, 4, b"abab"), true).await;
                    assert_eq!(peer.reply(stream).await.code(), code::INTERNAL, "{path} {fields:?}");
                }
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 64: statuses of the application that read like the library's own are its own, with text and trailers, and
// no stream is reset for them.
#[test]
fn cancelled_and_deadline_exceeded_of_a_handler_are_passed_on_as_they_are() {
    in_each_mode(async |stage: Stage| {
        for server in settings(&stage) {
            let served = serve(server);
            let mut peer = served.peer().await;
            for code in [1, code::UNKNOWN, code::DEADLINE_EXCEEDED] {
                for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                    for yields in ["", "yield; "] {
                        let script = format!("{yields}fail {code} of its own");
                        let fields = [("script", &*script), ("grpc-timeout", "1H")];
                        let reply = peer.call(path, &fields, b"").await;
                        assert_eq!(reply.status(), (code, "of its own".to_owned()), "{path} {script}");
                    }
                }
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules B1, B4, P2: what is said of one message where nothing is compressed changes neither it nor the batch.
#[test]
fn a_wish_without_compression_leaves_the_batch_as_it_is() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer().await;
        let script = "many 2 10; compressed yes; many 1 2000; compressed no; many 1 0; many 2 10";
        for path in [SERVER_STREAM, BIDI] {
            let reply = peer.call(path, &[("script", script), ("grpc-accept-encoding", "gzip")], b"").await;
            assert_eq!((reply.code(), &reply.flags[..]), (code::OK, &[0; 6][..]), "{path}");
            assert_eq!(reply.data_frames, [4 * 15 + 2_005 + 5], "{path}");
        }
        served.finish([peer]).await;
    });
}
