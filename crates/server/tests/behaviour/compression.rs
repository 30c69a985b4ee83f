//! Compressed messages: what is read, and what is said of it.

use peregrine_testkit::peer::{message, prefixed};
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
