//! Compressed responses, against a scripted server.

use peregrine_core::message::Encoding;
use peregrine_core::{Code, Request};
use peregrine_testkit::peer::prefixed;
use peregrine_testkit::virtual_time;

use crate::{connected, list, message, pair, unary};

/// "hello" by other implementations.
const HELLO: [(&str, &[u8]); 4] = [
    ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"),
    ("deflate", b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15"),
    ("zstd", b"\x28\xb5\x2f\xfd\0\x58\x29\0\0hello"),
    ("snappy", b"\xff\x06\0\0sNaPpY\x01\x09\0\0\xbb\x1f\x1c\x19hello"),
];

fn framed(flag: u8, body: &[u8]) -> Vec<u8> {
    prefixed(flag, body.len() as u32, body)
}

// wire-rules 33, 38, F2 and the table "Header versus flag"; bug-reports 80
#[test]
fn header_and_flag_decide_together() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (encoding, packed) in HELLO {
            let rows = [
                ("raw", framed(0, b"hello"), Ok("hello")),
                ("compressed", framed(1, packed), Ok("hello")),
                ("an empty message", framed(1, b""), Ok("")),
                ("raw with flag 1", framed(1, b"hello"), Err(Code::Internal)),
                ("cut short", framed(1, &packed[..packed.len() - 3]), Err(Code::Internal)),
                ("bytes behind", framed(1, &[packed, b"?"].concat()), Err(Code::Internal)),
                ("flag 2", framed(2, packed), Err(Code::Internal)),
            ];
            for (what, body, expected) in rows {
                let answer = async |server: &mut peregrine_testkit::ServerPeer| {
                    let stream = server.request().await.stream;
                    server.head(stream, &[("grpc-encoding", encoding)]).await;
                    server.data(stream, &body, false).await;
                    server.trailers(stream, &[("grpc-status", "0")]).await;
                };
                let (reply, ()) = tokio::join!(unary(&channel, message("hi")), answer(&mut server));
                let reply = reply.map(peregrine_core::Response::into_inner).map_err(|status| status.code());
                assert_eq!(reply, expected.map(message), "{encoding}, {what}");
                let (replies, ()) = tokio::join!(list(&channel, message("hi")), answer(&mut server));
                let reply = replies.unwrap().message().await.map_err(|status| status.code());
                assert_eq!(reply, expected.map(|text| Some(message(text))), "{encoding}, {what}, streamed");
            }
        }
    });
}

// wire-rules 39, S1: each message by itself; the encoding is known only when the head comes, long after the stream
// was made.
#[test]
fn a_response_stream_mixes_compressed_and_raw_messages() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (encoding, packed) in HELLO {
            let mut replies = list(&channel, message("hi")).await.unwrap();
            let stream = server.request().await.stream;
            let script = async {
                server.head(stream, &[("grpc-encoding", encoding)]).await;
                for piece in [framed(1, packed), framed(0, b"raw"), framed(1, packed)].concat().chunks(7) {
                    server.data(stream, piece, false).await;
                }
                server.trailers(stream, &[("grpc-status", "0")]).await;
            };
            let read = async {
                let mut texts = Vec::new();
                while let Some(text) = replies.message().await.unwrap() {
                    texts.push(text);
                }
                texts
            };
            let (texts, ()) = tokio::join!(read, script);
            assert_eq!(texts, ["hello", "raw", "hello"].map(message), "{encoding}");
        }
    });
}

// wire-rules 43
#[test]
fn a_response_that_inflates_past_the_limit_ends_the_call() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        // Seventeen bytes in eleven.
        let packed = b"\x78\x9c\xab\xa8\x40\x03\0\x47\xc9\x07\xf9";
        for (limit, expected) in [(17, Code::Ok), (16, Code::ResourceExhausted)] {
            let request = Request::new(message("hi")).max_response_size(limit);
            let script = async {
                let stream = server.request().await.stream;
                server.head(stream, &[("grpc-encoding", "deflate")]).await;
                server.data(stream, &framed(1, packed), false).await;
                server.trailers(stream, &[("grpc-status", "0")]).await;
            };
            let (reply, ()) = tokio::join!(unary(&channel, request), script);
            assert_eq!(reply.map_or_else(|status| status.code(), |_| Code::Ok), expected, "limit {limit}");
        }
    });
}

// wire-rules 36, P3: what the channel accepts is told, and can be told otherwise.
#[test]
fn accepted_encodings_are_named_unless_turned_off() {
    let named = |encodings: Option<&[Encoding]>| {
        virtual_time(async {
            let (mut builder, mut acceptor) = pair();
            if let Some(encodings) = encodings {
                builder = builder.accept_encodings(encodings.iter().copied());
            }
            let channel = builder.build().unwrap();
            let script = async {
                let mut server = acceptor.accept().await;
                let asked = server.request().await;
                assert_eq!(asked.field("grpc-encoding"), None, "requests go as they are unless told");
                let named = asked.field("grpc-accept-encoding").map(str::to_owned);
                server.reply(asked.stream, b"").await;
                (named, server)
            };
            let (reply, (named, _server)) = tokio::join!(unary(&channel, message("hi")), script);
            reply.unwrap();
            named
        })
    };
    assert_eq!(named(None).as_deref(), Some("zstd,gzip,deflate,snappy,identity"));
    assert_eq!(named(Some(&[Encoding::Gzip])).as_deref(), Some("gzip,identity"));
    assert_eq!(named(Some(&[])), None);
    assert_eq!(named(Some(&[Encoding::Identity])), None);
}
