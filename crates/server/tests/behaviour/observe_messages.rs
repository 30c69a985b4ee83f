//! What an observer of a server hears of messages, and of what compression makes of them.

use peregrine_core::Observe;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::observe::{CompressionSetting, MessageCompression, MessageEvent, MessageSize};
use peregrine_server::MethodConfig;
use peregrine_testkit::peer::{Reply, message, prefixed};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{MessageRecorder, serve};

use crate::{Stage, code, in_each_mode};

/// "hello" by another implementation.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";

fn parts(size: &MessageSize) -> (usize, usize, MessageCompression) {
    (size.raw_len, size.wire_len, size.compression)
}

/// What was heard of received and of sent messages, all of which have to be of the method with this path.
fn heard(recorder: &MessageRecorder, path: &str) -> [Vec<(usize, usize, MessageCompression)>; 2] {
    let heard = recorder.take();
    let of = |direction: &str| {
        let what = format!("{direction} {path}");
        heard.iter().filter(|(name, _)| *name == what).map(|(_, size)| parts(size)).collect::<Vec<_>>()
    };
    let [received, sent] = [of("Received"), of("Sent")];
    assert_eq!(received.len() + sent.len(), heard.len(), "of other methods: {heard:?}");
    [received, sent]
}

/// What a reply's messages are on the wire.
fn wire_lens(reply: &Reply) -> Vec<usize> {
    reply.messages.iter().map(bytes::Bytes::len).collect()
}

// wire-rules T8: the setting of the server, of services and of methods, each once, the later of two for one name.
#[test]
fn what_the_settings_came_to_is_told_once_when_the_server_starts() {
    in_each_mode(async |stage: Stage| {
        let recorder = MessageRecorder::default();
        let both = Compression::prefer([Encoding::Snappy, Encoding::Gzip]).threshold(21);
        let config = |setting| MethodConfig::new().compression(setting);
        let server = stage
            .server()
            .compression(both)
            .configure("test.Test/Unary", config(Compression::only(Encoding::Zstd).level(3).always()))
            .configure("test.Test", config(Compression::only(Encoding::Gzip).level(6)))
            .configure("/test.Test/Unary", config(Compression::off()))
            .configure("test.Test/Bidi", MethodConfig::new())
            .observe(recorder.clone());
        assert_eq!(recorder.take_settings(), [""; 0], "not before it starts");
        let served = serve(server);
        let mut peer = served.peer().await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.texts(), ["x"]);
        let told = [
            "Server Default: snappy,gzip@1 from 21, saving 5",
            "Server Service(\"test.Test\"): gzip@6 from 1024, saving 5",
            "Server Method(\"test.Test/Unary\"): off",
        ];
        assert_eq!(recorder.take_settings(), told);
        served.finish([peer]).await;
    });
}

// wire-rules T1, T8: raw and wire length of each message of each shape, and what decided; what the peer counts.
#[test]
fn messages_are_told_with_both_sizes_and_what_decided() {
    const SIZES: [usize; 4] = [10, 5_000, 0, 1_024];
    let texts: Vec<_> = SIZES.iter().map(|&len| vec![b'a'; len]).collect();
    let body: Vec<_> = texts.iter().flat_map(|text| message(text)).collect();
    let accept = [("grpc-accept-encoding", "gzip")];
    in_each_mode(async |stage: Stage| {
        let recorder = MessageRecorder::default();
        let server = stage.server().compression(Compression::only(Encoding::Gzip));
        let served = serve(server.observe(recorder.clone()));
        let mut peer = served.peer().await;
        let expected = |wire: &[usize]| -> Vec<_> {
            let compression = |&raw: &usize| match raw {
                1_024.. => MessageCompression::With(Encoding::Gzip),
                _ => MessageCompression::BelowThreshold,
            };
            SIZES.iter().zip(wire).map(|(raw, wire)| (*raw, *wire, compression(raw))).collect()
        };
        let raw = SIZES.map(|len| (len, len, MessageCompression::NotByPeer));

        let stream = peer.request(BIDI, &accept, &body, true).await;
        let reply = peer.reply(stream).await;
        assert_eq!(reply.flags, [0, 1, 0, 1]);
        let [received, sent] = heard(&recorder, BIDI);
        assert_eq!((received, sent), (raw.to_vec(), expected(&wire_lens(&reply))));

        let mut wire = Vec::new();
        for (text, raw) in texts.iter().zip(raw) {
            let reply = peer.call(UNARY, &accept, text).await;
            let [received, sent] = heard(&recorder, UNARY);
            assert_eq!((received, sent.len()), (vec![raw], 1));
            assert_eq!(sent[0].1, reply.messages[0].len());
            wire.push(sent[0]);
        }
        assert_eq!(wire, expected(&wire.iter().map(|size| size.1).collect::<Vec<_>>()));

        // A client that accepts nothing.
        let stream = peer.request(CLIENT_STREAM, &[], &body, true).await;
        let reply = peer.reply(stream).await;
        let [received, sent] = heard(&recorder, CLIENT_STREAM);
        let len = reply.messages[0].len();
        assert_eq!((received, sent), (raw.to_vec(), vec![(len, len, MessageCompression::Off)]));
        served.finish([peer]).await;
    });
}

// wire-rules 31, T8: a message that came compressed, in one piece and in several, and one in a stream.
#[test]
fn what_the_peer_compressed_is_told() {
    let fields = [("grpc-encoding", "gzip")];
    let body = prefixed(1, GZIP.len() as u32, GZIP);
    let hello = (5, GZIP.len(), MessageCompression::With(Encoding::Gzip));
    in_each_mode(async |stage: Stage| {
        let recorder = MessageRecorder::default();
        let served = serve(stage.server().observe(recorder.clone()));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, BIDI] {
            for cut in [0, 3, body.len() - 1] {
                let stream = peer.request(path, &fields, &body[..cut], false).await;
                peer.data(stream, &body[cut..], true).await;
                assert_eq!(peer.reply(stream).await.texts(), ["hello"]);
                let [received, sent] = heard(&recorder, path);
                let plain = (5, 5, MessageCompression::Off);
                assert_eq!((received, sent), (vec![hello], vec![plain]), "{path}, cut at {cut}");
            }
        }
        // What cannot be read is not told, nor what is over the limit.
        let broken = prefixed(1, 5, b"hello");
        let stream = peer.request(UNARY, &fields, &broken, true).await;
        assert_eq!(peer.reply(stream).await.code(), code::INTERNAL);
        assert_eq!(recorder.take(), []);
        served.finish([peer]).await;
    });
}

/// 2,000 bytes that do not shrink.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(2_000).collect()
}

// wire-rules T5, T6, T8, P2
#[test]
fn messages_that_do_not_shrink_are_told_as_such_and_then_as_skipped() {
    let noise = noise();
    in_each_mode(async |stage: Stage| {
        let recorder = MessageRecorder::default();
        let server = stage.server().compression(Compression::only(Encoding::Gzip));
        let served = serve(server.observe(recorder.clone()));
        let mut peer = served.peer().await;
        let mut seen = Vec::new();
        for _ in 0..6 {
            let reply = peer.call(UNARY, &[("grpc-accept-encoding", "gzip")], &noise).await;
            assert_eq!(reply.flags, [0]);
            let [_, sent] = heard(&recorder, UNARY);
            assert_eq!((sent[0].0, sent[0].1), (2_000, 2_000));
            seen.push(sent[0].2);
        }
        let tried = MessageCompression::NoGain;
        assert_eq!(seen, [tried, tried, tried, tried, MessageCompression::BackedOff, tried]);
        served.finish([peer]).await;
    });
}

// wire-rules T6, T7: what did not shrink on one method says nothing of another's messages; and 20 bytes never shrink.
#[test]
fn a_method_backs_off_by_itself() {
    let noise = noise();
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().compression(Compression::only(Encoding::Gzip)));
        let mut peers = [served.peer().await, served.peer().await];
        let fields = [("grpc-accept-encoding", "gzip")];
        let zeros = [0; 2_000];
        for _ in 0..4 {
            assert_eq!(peers[0].call(UNARY, &fields, &noise).await.flags, [0]);
        }
        // The method's on every connection, and the method's only.
        assert_eq!(peers[1].call(SERVER_STREAM, &fields, &zeros).await.flags, [1]);
        assert_eq!(peers[0].call(BIDI, &fields, &zeros).await.flags, [1]);
        assert_eq!(peers[1].call(UNARY, &fields, &zeros).await.flags, [0], "backed off");
        assert_eq!(peers[0].call(UNARY, &fields, &zeros).await.flags, [1], "and tried again");
        served.finish(peers).await;

        let served =
            serve(stage.server().compression(Compression::only(Encoding::Gzip).always().back_off(false)));
        let mut peer = served.peer().await;
        for len in 0..=20 {
            let reply = peer.call(UNARY, &fields, &zeros[..len]).await;
            assert_eq!((reply.flags, reply.messages[0].len()), (vec![0], len));
        }
        served.finish([peer]).await;
    });
}

#[derive(Debug)]
struct Panicking;

impl Observe for Panicking {
    fn compression(&self, _setting: &CompressionSetting<'_>) {
        panic!("an observer that panics");
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, _event: &MessageEvent<'_>) {
        panic!("an observer that panics");
    }
}

#[test]
fn an_observer_of_messages_that_panics_harms_nobody() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().observe(Panicking));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, BIDI] {
            assert_eq!(peer.call(path, &[], b"x").await.texts(), ["x"]);
        }
        served.finish([peer]).await;
    });
}

/// Does not want messages.
#[derive(Debug)]
struct Reluctant(MessageRecorder);

impl Observe for Reluctant {
    fn message(&self, event: &MessageEvent<'_>) {
        self.0.message(event);
    }
}

#[test]
fn an_observer_that_does_not_want_messages_is_not_told_of_them() {
    in_each_mode(async |stage: Stage| {
        let recorder = MessageRecorder::default();
        let served = serve(stage.server().observe(Reluctant(recorder.clone())));
        let mut peer = served.peer().await;
        for path in [UNARY, BIDI] {
            assert_eq!(peer.call(path, &[], b"x").await.texts(), ["x"]);
        }
        assert_eq!(recorder.take(), []);
        served.finish([peer]).await;
    });
}
