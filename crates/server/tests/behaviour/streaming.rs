//! Streams of messages: when they leave, in how many frames and writes, and what holds them back.

use bytes::Bytes;
use peregrine_core::BytesCodec;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_server::{Execution, Server};
use peregrine_testkit::peer::{PeerConfig, Received, message, raw_frame, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{serve, settle, virtual_time};

use crate::feed::{Brittle, Feed};
use crate::{Stage, code, in_each_mode};

// wire-rules B1, S2
#[test]
fn messages_that_are_ready_together_share_data_frames() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let reply = peer.call(SERVER_STREAM, &[("script", "many 100 32")], b"").await;
        assert_eq!((reply.code(), reply.messages.len()), (code::OK, 100));
        assert_eq!(reply.data_frames.iter().filter(|&&len| len > 0).count(), 1, "{:?}", reply.data_frames);
        let reply = peer.call(SERVER_STREAM, &[("script", "many 1000 256")], b"").await;
        assert_eq!((reply.code(), reply.messages.len()), (code::OK, 1_000));
        let frames = reply.data_frames.len();
        // 261,000 bytes in frames of at most 16,384 are 16; a batch may end early at its threshold.
        assert!(frames <= 32, "{frames} frames");
        served.finish([peer]).await;
    });
}

// wire-rules B1: 16 messages of 256 bytes that are ready together are one DATA frame and one write.
#[test]
fn sixteen_ready_messages_are_one_frame_and_one_write() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [SERVER_STREAM, BIDI] {
            let before = peer.io().writes_of_other_end();
            let reply = peer.call(path, &[("script", "many 16 256")], b"").await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 16));
            assert_eq!(reply.data_frames, [16 * 261], "{path}");
            assert_eq!(peer.io().writes_of_other_end() - before, 1, "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules B1: "a cooperative yield of the source is no reason to flush".
#[test]
fn a_source_that_yields_does_not_cost_a_write_each_time() {
    virtual_time(async {
        let stage = Stage::new(Execution::Inline);
        let (served, mut peer) = stage.start().await;
        let script = "many 1 256; yield; ".repeat(16);
        let before = peer.io().writes_of_other_end();
        let reply = peer.call(SERVER_STREAM, &[("script", &script)], b"").await;
        assert_eq!((reply.code(), reply.data_frames), (code::OK, vec![16 * 261]));
        assert_eq!(peer.io().writes_of_other_end() - before, 1);
        served.finish([peer]).await;
    });
}

// wire-rules B1: a source that is always ready lets a batch leave when that has reached its size, and a message is
// never split for it.
#[test]
fn a_batch_ends_at_its_size_and_a_larger_message_travels_whole() {
    in_each_mode(async |stage: Stage| {
        for (size, batch) in [(4_096, 4_096), (10_000, 10_000), (1, 1)] {
            let served = serve(stage.server().stream_batch_size(size));
            let mut peer = served.peer().await;
            peer.io().set_capacity(1 << 20);
            let before = peer.io().writes_of_other_end();
            let reply = peer.call(SERVER_STREAM, &[("script", "many 40 1019")], b"").await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 40));
            // 1,024 bytes with the prefix: so many fill a batch, the last one goes beyond.
            let filled = batch_len(batch);
            let writes = peer.io().writes_of_other_end() - before;
            assert!(writes >= 40 * 1_024 / filled, "{writes} writes for batches of {size}");
            assert!(reply.data_frames.iter().all(|&len| len <= filled), "{:?}", reply.data_frames);
            let reply = peer.call(SERVER_STREAM, &[("script", "many 2 65536")], b"").await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 2));
            served.finish([peer]).await;
        }
    });
}

/// The batch of 1,024-byte pieces that reaches `size`, in bytes.
fn batch_len(size: usize) -> usize {
    size.div_ceil(1_024) * 1_024
}

// wire-rules B7: one write carries what many streams of a connection have ready.
#[test]
fn the_batches_of_many_streams_leave_in_one_write() {
    virtual_time(async {
        let stage = Stage::new(Execution::Inline);
        let (served, mut peer) = stage.start().await;
        let mut streams = Vec::new();
        for _ in 0..20 {
            let script = [("script", "gate; many 16 256")];
            streams.push(peer.request(SERVER_STREAM, &script, &message(b""), true).await);
        }
        stage.journal.until(|counts| counts.started == 20).await;
        settle().await;
        peer.read_all().await;
        let before = peer.io().writes_of_other_end();
        stage.journal.open_gate(20);
        for stream in streams {
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 16));
        }
        assert_eq!(peer.io().writes_of_other_end() - before, 1);
        served.finish([peer]).await;
    });
}

// wire-rules B7: streams that wait for the connection's window leave together when it opens.
#[test]
fn streams_that_one_window_update_lets_go_leave_in_one_write() {
    virtual_time(async {
        let stage = Stage::new(Execution::Inline);
        let served = stage.serve();
        let config = PeerConfig { connection_window: 0, ..PeerConfig::default() };
        let mut peer = served.peer_with(config).await;
        let given = 65_535;
        let mut streams = Vec::new();
        for _ in 0..20 {
            let script = [("script", "gate; many 16 256")];
            streams.push(peer.request(SERVER_STREAM, &script, &message(b""), true).await);
        }
        // What fills the connection's window.
        let filler = format!("many 1 {}", given - 5);
        let first = peer.request(SERVER_STREAM, &[("script", &filler)], &message(b""), true).await;
        assert_eq!(peer.reply(first).await.code(), code::OK);
        stage.journal.open_gate(20);
        settle().await;
        peer.read_all().await;
        let before = peer.io().writes_of_other_end();
        peer.give_window(StreamId::CONNECTION, 1 << 20).await;
        for stream in streams {
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 16));
        }
        assert_eq!(peer.io().writes_of_other_end() - before, 1);
        served.finish([peer]).await;
    });
}

// wire-rules B4, B7, S2: streams that share a write decide on compression message by message all the same.
#[test]
fn batches_that_share_a_write_are_marked_message_by_message() {
    virtual_time(async {
        let stage = Stage::new(Execution::Inline);
        let served = serve(stage.server().compression(Compression::only(Encoding::Gzip)));
        let mut peer = served.peer().await;
        let mut streams = Vec::new();
        for count in 1..=10 {
            let script = format!(
                "gate; many {count} 2000; many 1 10; compressed no; many 1 2000; compressed yes; many 1 0; compressed yes; many 1 500"
            );
            let fields = [("script", &*script), ("grpc-accept-encoding", "gzip")];
            streams.push((peer.request(SERVER_STREAM, &fields, &message(b""), true).await, count));
        }
        stage.journal.until(|counts| counts.started == 10).await;
        settle().await;
        peer.read_all().await;
        let before = peer.io().writes_of_other_end();
        stage.journal.open_gate(10);
        for (stream, count) in streams {
            let reply = peer.reply(stream).await;
            let flags: Vec<_> = std::iter::repeat_n(1, count).chain([0, 0, 0, 1]).collect();
            assert_eq!((reply.code(), reply.flags), (code::OK, flags));
        }
        assert_eq!(peer.io().writes_of_other_end() - before, 1);
        served.finish([peer]).await;
    });
}

// wire-rules M4, 28: the head is there when its last CONTINUATION is, and the handler starts then and not before.
#[test]
fn a_handler_of_a_request_stream_starts_with_the_last_piece_of_its_head() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (turn, path) in [CLIENT_STREAM, BIDI].into_iter().enumerate() {
            let stream = peer.open();
            let mut frame = Vec::new();
            peer.encode_headers(stream, &request_head(path), false, &mut frame);
            let block = &frame[9..];
            let (first, rest) = block.split_at(block.len() / 2);
            let (second, third) = rest.split_at(1);
            peer.send_bytes(&raw_frame(1, 0, stream, first)).await;
            settle().await;
            peer.send_bytes(&raw_frame(9, 0, stream, second)).await;
            settle().await;
            assert_eq!(stage.counts().started, 2 * turn, "{path} started too early");
            peer.send_bytes(&raw_frame(9, 4, stream, third)).await;
            stage.journal.until(|counts| counts.started == 2 * turn + 1).await;
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.code(), code::OK);
            // A head that is all of the request starts it too.
            let stream = peer.request(path, &[], b"", true).await;
            assert_eq!(peer.reply(stream).await.code(), code::OK);
            assert_eq!(stage.counts().started, 2 * turn + 2);
        }
        served.finish([peer]).await;
    });
}

// wire-rules Z1, M3, 85: the message is found wherever in the buffer padding and its neighbours put it.
#[test]
fn messages_at_odd_offsets_are_read_whole() {
    const PADDED: u8 = 8;
    const END_STREAM: u8 = 1;
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for padding in [0_u8, 5, 17, 255] {
            for len in [0, 1, 5, 17, 100] {
                let text = "x".repeat(len);
                let padded = |body: &[u8]| {
                    let mut payload = vec![padding];
                    payload.extend_from_slice(body);
                    payload.resize(payload.len() + usize::from(padding), 0);
                    payload
                };
                let one = message(text.as_bytes());
                for path in [UNARY, SERVER_STREAM] {
                    let stream = peer.request(path, &[], b"", false).await;
                    peer.send_bytes(&raw_frame(0, PADDED | END_STREAM, stream, &padded(&one))).await;
                    assert_eq!(peer.reply(stream).await.texts(), [&*text], "{path} {padding}");
                }
                let stream = peer.request(BIDI, &[("script", "echo-all")], b"", false).await;
                let two = [message(b"first"), one.clone(), message(b"")].concat();
                peer.send_bytes(&raw_frame(0, PADDED | END_STREAM, stream, &padded(&two))).await;
                assert_eq!(peer.reply(stream).await.texts(), ["first", &*text, ""], "{padding}");
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules B2: what a sender flushes does not wait for what follows in the same turn.
#[test]
fn a_flushed_message_leaves_before_the_ones_that_follow() {
    virtual_time(async {
        let service = Feed::<BytesCodec>::new(|sender| async move {
            for n in 0..3 {
                sender.send(Bytes::from(vec![n; 10])).await?;
                sender.flush().await?;
            }
            Ok(())
        });
        let served = serve(Server::builder().add_service(service));
        let mut peer = served.peer().await;
        let before = peer.io().writes_of_other_end();
        let reply = peer.call(Feed::<BytesCodec>::PATH, &[], b"").await;
        assert_eq!((reply.code(), reply.data_frames), (code::OK, vec![15; 3]));
        assert!(peer.io().writes_of_other_end() - before >= 3);
        served.finish([peer]).await;
    });
}

// wire-rules B3: a message that fails in the middle of its encoding leaves nothing behind; what was complete before
// it is delivered, then the status.
#[test]
fn an_encoding_error_discards_the_partial_message_only() {
    for execution in [Execution::Inline, Execution::Spawn] {
        virtual_time(async {
            let service = Feed::<Brittle>::new(|sender| async move {
                for text in ["one", "two", "broken", "never"] {
                    sender.send(Bytes::from_static(text.as_bytes())).await?;
                }
                Ok(())
            });
            let served = serve(Server::builder().execution(execution).add_service(service));
            let mut peer = served.peer().await;
            let reply = peer.call(Feed::<Brittle>::PATH, &[], b"").await;
            assert_eq!(reply.texts(), ["one", "two"]);
            assert_eq!((reply.code(), reply.rest.len()), (code::INTERNAL, 0));
            served.finish([peer]).await;
        });
    }
}

// wire-rules B2
#[test]
fn a_message_leaves_while_its_source_waits() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [SERVER_STREAM, BIDI] {
            let script = [("script", "send one; gate; send two")];
            let stream = peer.request(path, &script, &message(b""), true).await;
            assert_eq!(peer.messages(stream, 1).await.texts(), ["one"]);
            stage.journal.open_gate(1);
            let Some(Received::Data { data, .. }) = peer.frame_of(stream).await else { panic!("no message") };
            assert_eq!(data, message(b"two"));
        }
        served.finish([peer]).await;
    });
}

// wire-rules B3
#[test]
fn an_error_of_the_source_comes_after_every_message_before_it() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for path in [SERVER_STREAM, BIDI] {
            let script = [("script", "send one; send two; fail 5 gone; send three")];
            let reply = peer.call(path, &script, b"").await;
            assert_eq!(reply.texts(), ["one", "two"], "{path}");
            assert_eq!(reply.status(), (code::NOT_FOUND, "gone".to_owned()));
        }
        served.finish([peer]).await;
    });
}

// wire-rules B1: the threshold bounds a batch, never a message. 84 with the peer's windows.
#[test]
fn a_message_of_any_size_travels_whole_through_small_windows() {
    let config = PeerConfig { refill_windows: true, ..PeerConfig::with_stream_window(65_535) };
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(config.clone()).await;
        for size in [65_535, 65_536, 1_000_000] {
            let script = format!("many 2 {size}; send end");
            let reply = peer.call(SERVER_STREAM, &[("script", &script)], b"").await;
            assert_eq!(reply.code(), code::OK);
            assert_eq!(reply.messages.iter().map(Bytes::len).collect::<Vec<_>>(), [size, size, 3]);
            assert!(reply.data_frames.iter().all(|&len| len <= 16_384));
        }
        served.finish([peer]).await;
    });
}

/// The bytes a call may have made ahead of a peer that takes nothing: the stream's queue, and for a spawned call
/// what is on its way to the connection. Generous; what must not happen is "all of them".
const AHEAD: usize = 300_000;

// wire-rules 84, B2: the engine fills its output up to a mark, and a call that was held back there goes on in the
// same turn; nothing else comes to wake the connection when the peer has no window to give.
#[test]
fn a_stream_many_times_the_write_buffer_leaves_as_fast_as_the_socket_takes_it() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for script in ["many 100 65536", "many 8 1000000", "many 20000 200"] {
            let reply = peer.call(SERVER_STREAM, &[("script", script)], b"").await;
            assert_eq!(reply.code(), code::OK, "{script}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 84
#[test]
fn a_source_is_polled_only_while_the_peers_window_has_room() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(1_000)).await;
        let script = [("script", "many 10000 1000")];
        let stream = peer.request(SERVER_STREAM, &script, &message(b""), true).await;
        settle().await;
        let before = stage.counts().made;
        assert!(before * 1_005 < AHEAD, "{before} messages made for a window of 1,000 bytes");
        let received: usize = data_len(&peer.drain().await);
        assert_eq!(received, 1_000);
        // Room makes it go on, as far as the room goes.
        peer.give_window(stream, 500_000).await;
        assert_eq!(data_len(&peer.drain().await), 500_000);
        let after = stage.counts().made;
        assert!(after > before && after * 1_005 < 501_000 + AHEAD, "{before}, then {after} messages");
        peer.reset(stream, ErrorCode::CANCEL).await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        served.finish([peer]).await;
    });
}

// http2-abuse 16
#[test]
fn a_source_is_held_back_by_a_peer_that_does_not_read() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.io().set_capacity(64 * 1024);
        let script = [("script", "many 100000 1000")];
        let stream = peer.request(SERVER_STREAM, &script, &message(b""), true).await;
        settle().await;
        let made = stage.counts().made;
        // The engine's high-water mark of 256 KiB comes on top.
        assert!(made * 1_005 < AHEAD + 64 * 1024 + 256 * 1024, "{made} messages made");
        peer.reset(stream, ErrorCode::CANCEL).await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        served.finish([peer]).await;
    });
}

// wire-rules 84
#[test]
fn a_stream_without_window_does_not_hold_up_the_others() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(0)).await;
        let script = [("script", "many 10000 1000")];
        let blocked = peer.request(SERVER_STREAM, &script, &message(b""), true).await;
        let other = peer.request(UNARY, &[], &message(&vec![b'x'; 50_000]), true).await;
        settle().await;
        peer.give_window(other, 100_000).await;
        let reply = peer.reply(other).await;
        assert_eq!((reply.code(), reply.messages[0].len()), (code::OK, 50_000));
        peer.reset(blocked, ErrorCode::CANCEL).await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        served.finish([peer]).await;
    });
}

// wire-rules M4, M1
#[test]
fn handlers_of_request_streams_start_on_headers_and_others_on_the_end() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (index, path) in [CLIENT_STREAM, BIDI].into_iter().enumerate() {
            let stream = peer.request(path, &[], b"", false).await;
            stage.journal.until(|counts| counts.started == index + 1).await;
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.code(), code::OK);
        }
        for path in [UNARY, SERVER_STREAM] {
            let stream = peer.request(path, &[], &message(b"hello"), false).await;
            settle().await;
            assert_eq!(stage.counts().started, stage.counts().ended, "{path} started too early");
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.texts(), ["hello"]);
        }
        served.finish([peer]).await;
    });
}

// wire-rules 63
#[test]
fn the_head_of_a_stream_leaves_before_any_request_message_is_there() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(BIDI, &[("script", "head x-first 1; echo-all")], b"", false).await;
        let Some(Received::Headers { fields, end_stream: false, .. }) = peer.frame_of(stream).await else {
            panic!("the head does not wait for a message");
        };
        assert!(fields.iter().any(|(name, _)| name == "x-first"));
        peer.data(stream, b"", true).await;
        settle().await;
        served.finish([peer]).await;
    });
}

#[test]
fn a_bidirectional_call_answers_message_by_message() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(BIDI, &[], b"", false).await;
        let Some(Received::Headers { .. }) = peer.frame_of(stream).await else { panic!("no head") };
        for turn in 0..50 {
            let text = format!("turn {turn}");
            peer.data(stream, &message(text.as_bytes()), false).await;
            let Some(Received::Data { data, .. }) = peer.frame_of(stream).await else { panic!("no answer") };
            assert_eq!(data, message(text.as_bytes()));
        }
        peer.data(stream, b"", true).await;
        settle().await;
        assert_eq!(stage.counts().ended, 1);
        served.finish([peer]).await;
    });
}

// wire-rules 63, bug-reports 16
#[test]
fn bug_16_a_call_that_ends_early_resets_the_requests_rest_without_error() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (path, script, expected) in [
            (BIDI, "send enough", code::OK),
            (BIDI, "read; fail 5 no", code::NOT_FOUND),
            (CLIENT_STREAM, "send enough", code::OK),
            (CLIENT_STREAM, "refuse 5 no", code::NOT_FOUND),
        ] {
            let stream = peer.request(path, &[("script", script)], &message(b"first"), false).await;
            let reply = peer.reply(stream).await;
            assert_eq!(reply.code(), expected, "{path} {script}");
            assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR, "{path} {script}");
            // What the client had under way does not hurt.
            peer.data(stream, &message(b"late"), false).await;
            peer.data(stream, &message(b"later"), true).await;
        }
        // A client that has ended its side is not reset.
        assert_eq!(peer.call(CLIENT_STREAM, &[], b"").await.code(), code::OK);
        assert_eq!(peer.drain().await, []);
        served.finish([peer]).await;
    });
}

// bug-reports 50, 7: what comes for a handler that does not want it costs no window.
#[test]
fn bug_7_50_requests_that_nobody_reads_give_their_window_back() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let body = message(&vec![b'x'; 1_000_000]);
        // The handler goes on without its requests.
        let script = [("script", "read; leave; gate; send late")];
        let stream = peer.request(BIDI, &script, &message(b"first"), false).await;
        peer.send_body(stream, &body.repeat(3), false).await;
        stage.journal.open_gate(1);
        assert_eq!(peer.reply(stream).await.texts(), ["late"]);
        assert_eq!(peer.expect_reset(stream).await, ErrorCode::NO_ERROR);
        // The call is over, the client has not heard of it yet. Far more than the connection's window in all.
        for _ in 0..100 {
            let stream = peer.request(BIDI, &[("script", "send enough")], b"", false).await;
            peer.send_body(stream, &vec![0; 100_000], true).await;
            assert_eq!(peer.reply(stream).await.texts(), ["enough"]);
        }
        served.finish([peer]).await;
    });
}

// bug-reports 15
#[test]
fn bug_15_both_sides_may_send_before_either_reads() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer_with(PeerConfig::with_stream_window(65_535)).await;
        let stream = peer.request(BIDI, &[], b"", false).await;
        // Until the server's window is full: its replies have filled the client's.
        let body = message(&[b'x'; 995]);
        while peer.window(stream) >= 1_000 {
            peer.send_body(stream, &body, false).await;
            peer.read_all().await;
        }
        assert!(stage.counts().made < 1_000);
        peer.give_window(stream, 1 << 30).await;
        peer.send_body(stream, &body.repeat(100), true).await;
        let reply = peer.reply(stream).await;
        assert_eq!(reply.code(), code::OK);
        assert_eq!(reply.messages.len(), stage.counts().read);
        served.finish([peer]).await;
    });
}

#[test]
fn a_very_long_stream_leaves_room_for_its_neighbours() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let mut other = served.peer().await;
        let long = [("script", "many 1000000 100")];
        let stream = peer.request(SERVER_STREAM, &long, &message(b""), true).await;
        peer.messages(stream, 1_000).await;
        // On the same connection, and on another one of the same thread.
        assert_eq!(peer.call(UNARY, &[], b"same").await.texts(), ["same"]);
        assert_eq!(peer.call(UNARY, &[("script", "yield; echo")], b"same").await.texts(), ["same"]);
        assert_eq!(other.call(UNARY, &[], b"other").await.texts(), ["other"]);
        peer.reset(stream, ErrorCode::CANCEL).await;
        stage.journal.until(|counts| counts.cancelled == 1).await;
        served.finish([peer, other]).await;
    });
}

// Tokio lets a task do so much before it has to yield; calls in place share their connection's allowance.
#[test]
fn more_ready_calls_than_a_task_may_run_in_one_go_all_end() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_concurrent_streams(1_000));
        let mut peer = served.peer().await;
        stage.journal.open_gate(2_000);
        let mut streams = Vec::new();
        for _ in 0..500 {
            streams.push(peer.request(UNARY, &[("script", "gate; gate; echo")], &message(b"x"), true).await);
        }
        for stream in streams {
            assert_eq!(peer.reply(stream).await.texts(), ["x"]);
        }
        served.finish([peer]).await;
    });
}

// wire-rules 83, 84
#[test]
fn a_handler_that_does_not_read_holds_its_client_back_and_no_other() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().initial_stream_window(20_000).initial_connection_window(1_000_000));
        let mut peer = served.peer().await;
        let stream = peer.request(CLIENT_STREAM, &[("script", "gate; count")], b"", false).await;
        let body = message(&[b'x'; 995]).repeat(20);
        peer.send_body(stream, &body, false).await;
        settle().await;
        assert_eq!(peer.window(stream), 0);
        assert_eq!(peer.drain().await, [], "no window comes back before anything was read");
        assert_eq!(peer.window(stream), 0);
        assert_eq!(peer.call(UNARY, &[], b"free").await.texts(), ["free"]);
        stage.journal.open_gate(1);
        peer.send_body(stream, &body, true).await;
        let reply = peer.reply(stream).await;
        assert_eq!(reply.texts(), ["40 messages, 39800 bytes"]);
        served.finish([peer]).await;
    });
}

// wire-rules 83: what is read comes back as window, over and over.
#[test]
fn an_upload_many_times_the_window_flows() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(CLIENT_STREAM, &[], b"", false).await;
        let body = message(&[b'x'; 1_019]).repeat(4 * 1024);
        peer.send_body(stream, &body, true).await;
        assert_eq!(peer.reply(stream).await.texts(), ["4096 messages, 4173824 bytes"]);
        served.finish([peer]).await;
    });
}

// wire-rules 85, bug-reports 3: padding costs window and comes back.
#[test]
fn bug_3_padding_is_given_back() {
    use peregrine_http2::frame::{Data, Frame};
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let stream = peer.request(CLIENT_STREAM, &[], b"", false).await;
        // 261 bytes of window for each 5 of data: 10,000 of them are far above both windows.
        let body = message(b"");
        let padded = Frame::Data(Data { stream, data: &body, end_stream: false, padding: Some(255) });
        for _ in 0..100 {
            peer.send(&[padded; 100]).await;
            peer.drain().await;
        }
        peer.data(stream, b"", true).await;
        assert_eq!(peer.reply(stream).await.texts(), ["10000 messages, 0 bytes"]);
        served.finish([peer]).await;
    });
}

// design.md section 5: coalesced writes. In place only: spawned calls come back through a queue.
#[test]
fn replies_to_what_one_read_brought_leave_in_one_write() {
    virtual_time(async {
        let stage = Stage::new(Execution::Inline);
        let (served, mut peer) = stage.start().await;
        peer.call(UNARY, &[], b"warm").await;
        let mut bytes = Vec::new();
        let mut streams = Vec::new();
        for _ in 0..32 {
            let stream = peer.open();
            let head = request_head(UNARY);
            peer.encode_headers(stream, &head, false, &mut bytes);
            peregrine_testkit::peer::data_frame(stream, &message(b"hello"), true).encode(&mut bytes);
            streams.push(stream);
        }
        let before = peer.io().writes_of_other_end();
        peer.send_bytes(&bytes).await;
        for stream in streams {
            assert_eq!(peer.reply(stream).await.texts(), ["hello"]);
        }
        assert_eq!(peer.io().writes_of_other_end() - before, 1);
        served.finish([peer]).await;
    });
}

fn data_len(frames: &[Received]) -> usize {
    frames.iter().map(|frame| if let Received::Data { data, .. } = frame { data.len() } else { 0 }).sum()
}

// wire-rules 83, bug-reports 5: a hundred replies that wait for windows which shrink below zero meanwhile all end.
#[test]
fn bug_5_windows_that_shrink_while_a_hundred_replies_wait_lock_none_of_them_out() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut config = PeerConfig::with_stream_window(100);
        config.connection_window = 0;
        let mut peer = served.peer_with(config).await;
        let mut streams = Vec::new();
        for _ in 0..100 {
            streams
                .push(peer.request(SERVER_STREAM, &[("script", "many 5 2000")], &message(b""), true).await);
        }
        settle().await;
        for size in [0, 50, 0, 20_000] {
            peer.settings(&[Setting::InitialWindowSize(size)]).await;
            settle().await;
        }
        peer.give_window(StreamId::CONNECTION, 2_000_000).await;
        for stream in streams.into_iter().rev() {
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.messages.len()), (code::OK, 5));
        }
        served.finish([peer]).await;
    });
}

// bug-reports 7: what comes behind a refusal for size is given back, however much of it there is.
#[test]
fn bug_7_requests_over_the_limit_give_their_window_back() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().max_receive_message_size(10).initial_connection_window(65_535));
        let mut peer = served.peer().await;
        settle().await;
        peer.read_all().await;
        let before = peer.window(StreamId::CONNECTION);
        for round in 0..60 {
            let path = [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI][round % 4];
            let stream = peer.request(path, &[], &message(&[0; 9_000]), false).await;
            peer.data(stream, &[0; 3_000], true).await;
            assert_eq!(peer.reply(stream).await.code(), code::RESOURCE_EXHAUSTED, "{path}");
            peer.read_all().await;
        }
        settle().await;
        peer.read_all().await;
        let kept = before - peer.window(StreamId::CONNECTION);
        assert!(kept <= 65_535 / 2, "{kept} of {before} octets are kept");
        assert_eq!(peer.call(UNARY, &[], b"fine").await.texts(), ["fine"]);
        served.finish([peer]).await;
    });
}

// bug-reports 10, 13: requests around the size of a window of 65,535, and windows that are raised before any call.
#[test]
fn bug_10_13_requests_around_the_size_of_the_window_arrive() {
    in_each_mode(async |stage: Stage| {
        for window in [65_535, 8 << 20] {
            let served =
                serve(stage.server().initial_stream_window(window).initial_connection_window(window));
            let mut peer = served.peer().await;
            settle().await;
            peer.read_all().await;
            assert_eq!(peer.window(StreamId::CONNECTION), i64::from(window));
            for size in [65_522, 65_523, 65_529, 65_530, 65_531, 65_535, 65_536, 131_070] {
                for path in [UNARY, CLIENT_STREAM] {
                    let fields = [("script", "count")];
                    let stream = peer.request(path, &fields, b"", false).await;
                    peer.send_body(stream, &message(&vec![0; size]), true).await;
                    let expected = format!("1 messages, {size} bytes");
                    assert_eq!(peer.reply(stream).await.texts(), [expected], "{path}");
                }
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules 78: an answer to a PING does not wait behind a stream that has all the window it wants.
#[test]
fn a_ping_is_answered_in_the_middle_of_an_endless_reply() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        peer.io().set_capacity(16_384);
        let stream =
            peer.request(SERVER_STREAM, &[("script", "many 1000000 1000")], &message(b""), true).await;
        for round in 0..10_u8 {
            peer.ping([round; 8]).await;
            let mut behind = 0;
            loop {
                match peer.frame().await.expect("not closed") {
                    Received::Ping { ack: true, payload } => break assert_eq!(payload, [round; 8]),
                    Received::Data { data, .. } => behind += data.len(),
                    _ => {}
                }
            }
            assert!(behind < 512 * 1024, "{behind} octets before the answer");
        }
        peer.reset(stream, ErrorCode::CANCEL).await;
        drop(peer);
        served.finish([]).await;
    });
}
