//! Compressed requests that are cut, doubled, mislabelled or made to burst: each fails its call at once, in bounded
//! memory, and no other.

use peregrine_testkit::peer::prefixed;
use peregrine_testkit::serve;
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};

use crate::{Stage, code, in_each_mode};

/// "hello" deflated, with its checksum and length as gzip has them.
const BODY: &[u8] = b"\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
const DEFLATE: &[u8] = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";

fn framed(flag: u8, body: &[u8]) -> Vec<u8> {
    prefixed(flag, body.len() as u32, body)
}

// wire-rules 38, bug-reports 80
#[test]
fn a_compressed_message_cut_anywhere_fails_at_once() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (encoding, packed) in [("gzip", GZIP), ("deflate", DEFLATE), ("zstd", ZSTD)] {
            for cut in 1..packed.len() {
                for path in [UNARY, BIDI] {
                    let fields = [("grpc-encoding", encoding)];
                    // The stream of requests stays open: nothing more has to come for the call to fail.
                    let ends = path == UNARY;
                    let stream = peer.request(path, &fields, &framed(1, &packed[..cut]), ends).await;
                    let reply = peer.reply(stream).await;
                    assert_eq!((reply.code(), reply.texts().len()), (code::INTERNAL, 0), "{encoding} {cut}");
                }
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 38 and the table "Header versus flag": what RFC 1952 lets a member have, and what it does not.
#[test]
fn a_gzip_member_may_have_every_optional_field_and_no_neighbour() {
    let member = |flags: u8, optional: &[u8]| {
        let mut member = vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 255];
        member.extend_from_slice(optional);
        member.extend_from_slice(BODY);
        member
    };
    let fine = [
        member(1, b""),
        member(4, b"\x03\0abc"),
        member(8, b"name\0"),
        member(16, b"comment\0"),
        member(4 | 8 | 16, b"\x01\0xname\0comment\0"),
    ];
    let mut wrong_sum = GZIP.to_vec();
    wrong_sum[GZIP.len() - 8] ^= 1;
    let mut wrong_length = GZIP.to_vec();
    wrong_length[GZIP.len() - 1] = 1;
    let broken = [
        member(0xe0, b""),
        member(4, b"\xff\xffabc"),
        member(8, b"name"),
        wrong_sum,
        wrong_length,
        [GZIP, GZIP].concat(),
        [GZIP, &[0]].concat(),
        DEFLATE.to_vec(),
        ZSTD.to_vec(),
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let fields = [("grpc-encoding", "gzip")];
        for (index, body) in fine.iter().enumerate() {
            let stream = peer.request(UNARY, &fields, &framed(1, body), true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{index}");
        }
        for (index, body) in broken.iter().enumerate() {
            let stream = peer.request(UNARY, &fields, &framed(1, body), true).await;
            assert_eq!(peer.reply(stream).await.code(), code::INTERNAL, "{index}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 43: sizes that are promised are not believed.
#[test]
fn a_frame_that_promises_an_exabyte_is_refused() {
    let mut exabyte = b"\x28\xb5\x2f\xfd\xe0".to_vec();
    exabyte.extend((1_u64 << 60).to_le_bytes());
    exabyte.extend(b"\x29\0\0hello");
    // No size at all, and the largest window that a header can ask for.
    let window = b"\x28\xb5\x2f\xfd\0\xff\x29\0\0hello".to_vec();
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for body in [&exabyte, &window] {
            let fields = [("grpc-encoding", "zstd")];
            let stream = peer.request(UNARY, &fields, &framed(1, body), true).await;
            let code = peer.reply(stream).await.code();
            assert!([code::INTERNAL, code::RESOURCE_EXHAUSTED].contains(&code), "{code}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 42, 43, bug-reports 81: limits that are no limits.
#[test]
fn the_largest_limits_take_compressed_messages() {
    in_each_mode(async |stage: Stage| {
        for limit in [25, i32::MAX as usize, u32::MAX as usize, usize::MAX] {
            let served = serve(stage.server().max_receive_message_size(limit));
            let mut peer = served.peer().await;
            for (encoding, packed) in [("gzip", GZIP), ("deflate", DEFLATE), ("zstd", ZSTD)] {
                for path in [UNARY, SERVER_STREAM, BIDI] {
                    let fields = [("grpc-encoding", encoding)];
                    let stream = peer.request(path, &fields, &framed(1, packed), true).await;
                    assert_eq!(peer.reply(stream).await.texts(), ["hello"], "{limit} {encoding}");
                }
            }
            served.finish([peer]).await;
        }
        // The prefix counts as well: 25 octets on the wire for five.
        let served = serve(stage.server().max_receive_message_size(24));
        let mut peer = served.peer().await;
        let stream = peer.request(UNARY, &[("grpc-encoding", "gzip")], &framed(1, GZIP), true).await;
        assert_eq!(peer.reply(stream).await.code(), code::RESOURCE_EXHAUSTED);
        served.finish([peer]).await;
    });
}

// wire-rules 18, 34, 37, N5
#[test]
fn names_that_nearly_are_encodings_are_none() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for name in
            ["GZIP", "gzip,gzip", "gzip, identity", "identity,gzip", "gzip;q=1", "x-gzip", "br", "\u{fc}"]
        {
            for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                let stream = peer.request(path, &[("grpc-encoding", name)], &framed(1, GZIP), true).await;
                let reply = peer.reply(stream).await;
                assert_eq!((reply.http_status(), reply.code()), (200, code::UNIMPLEMENTED), "{name} {path}");
                let accepted: Vec<_> =
                    reply.head_value("grpc-accept-encoding").expect(name).split(',').map(str::trim).collect();
                assert!(accepted.contains(&"gzip") && !accepted.contains(&name), "{accepted:?}");
            }
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}
