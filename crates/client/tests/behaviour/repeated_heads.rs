//! Heads that come again octet for octet: of requests, which the channel has at hand, and of responses, which it has
//! decoded before. Neither may outlive what it depended on.

use std::time::Duration;

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::{Code, MetadataMap, Request, Status};
use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Asked, ServerPeer, message as framed, raw_frame};
use peregrine_testkit::virtual_time;

use crate::{connected, list, message, unary};

/// How often a head comes before it is believed to be remembered.
const TIMES: usize = 6;

const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

async fn exchange(
    channel: &Channel,
    server: &mut ServerPeer,
    request: Request<Bytes>,
) -> (Result<Bytes, Status>, Asked) {
    let (reply, asked) = tokio::join!(unary(channel, request), async {
        let asked = server.request().await;
        server.reply(asked.stream, b"m").await;
        asked
    });
    (reply.map(peregrine_core::Response::into_inner), asked)
}

// wire-rules 13, 20, 27, 86; RFC 7541 4.2
#[test]
fn requests_at_hand_keep_to_settings_and_options_that_change() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let plain = || Request::new(message("x"));
        let timed = |millis| plain().timeout(Duration::from_millis(millis));
        let mut sizes = [4_096, 0, 4_096, 64, 0, 65_536, 4_096].into_iter();
        loop {
            let mut plain_head = None;
            for _ in 0..TIMES {
                let (reply, asked) = exchange(&channel, &mut server, plain()).await;
                reply.unwrap();
                assert_eq!(asked.field("grpc-timeout"), None);
                assert_eq!(asked.field("k"), None);
                let head = plain_head.get_or_insert_with(|| asked.head.clone());
                assert_eq!(*head, asked.head);
                for millis in [5_000, 7_000, 5_000] {
                    let (reply, asked) = exchange(&channel, &mut server, timed(millis)).await;
                    reply.unwrap();
                    assert_eq!(asked.field("grpc-timeout").unwrap(), format!("{}u", millis * 1_000));
                }
                for value in ["1", "2"] {
                    let mut request = timed(5_000);
                    request.metadata_mut().append("k", value).unwrap();
                    let (reply, asked) = exchange(&channel, &mut server, request).await;
                    reply.unwrap();
                    assert_eq!(
                        (asked.field("k"), asked.field("grpc-timeout")),
                        (Some(value), Some("5000000u"))
                    );
                }
            }
            // The peer's decoder follows what the client says of its table, so a stale index shows.
            let Some(table) = sizes.next() else { break };
            server.settings(&[Setting::HeaderTableSize(table)]).await;
            server.drain().await;
        }
        // What was sent a moment ago is too large now.
        server.settings(&[Setting::MaxHeaderListSize(100)]).await;
        server.drain().await;
        for request in [plain(), timed(5_000), plain()] {
            assert_eq!(unary(&channel, request).await.unwrap_err().code(), Code::ResourceExhausted);
        }
        assert_eq!(server.drain().await, []);
        server.settings(&[Setting::MaxHeaderListSize(10_000)]).await;
        server.drain().await;
        exchange(&channel, &mut server, plain()).await.0.unwrap();
    });
}

// wire-rules H1, 20, 23, 86; RFC 7541 4.2
#[test]
fn metadata_that_comes_again_is_sent_as_it_was_the_first_time() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut common = MetadataMap::new();
        common.append("k", "common").unwrap();
        common.append_bin("k-bin", &[0, 255]).unwrap();
        common.append("token", "secret").unwrap();
        assert!(common.set_sensitive("token"));
        let with = |metadata: &MetadataMap| {
            let mut request = Request::new(message("x"));
            *request.metadata_mut() = metadata.clone();
            request
        };
        let mut sizes = [0, 4_096, 64, 4_096].into_iter();
        let mut first = None;
        loop {
            for round in 0..TIMES {
                let (reply, asked) = exchange(&channel, &mut server, with(&common)).await;
                reply.unwrap();
                assert_eq!(*first.get_or_insert_with(|| asked.head.clone()), asked.head, "round {round}");
                assert_eq!((asked.field("token"), asked.field("k-bin")), (Some("secret"), Some("AP8")));
                // What a call changes in its copy is its own.
                let mut request = with(&common);
                request.metadata_mut().insert("k", &format!("request {round}")).unwrap();
                let (reply, asked) = exchange(&channel, &mut server, request).await;
                reply.unwrap();
                assert_eq!(asked.field("k"), Some(&*format!("request {round}")));
                assert_eq!(common.get("k"), Some("common"));
                let (reply, asked) = exchange(&channel, &mut server, Request::new(message("x"))).await;
                reply.unwrap();
                assert_eq!((asked.field("k"), asked.field("token")), (None, None));
            }
            let Some(table) = sizes.next() else { break };
            server.settings(&[Setting::HeaderTableSize(table)]).await;
            server.drain().await;
        }
        // Of other entries that look alike, not one is taken for these.
        let mut open = common.clone();
        open.remove("token");
        open.append("token", "secret").unwrap();
        for _ in 0..TIMES {
            for metadata in [&open, &common] {
                let (reply, asked) = exchange(&channel, &mut server, with(metadata)).await;
                reply.unwrap();
                assert_eq!(Some(&asked.head), first.as_ref());
            }
        }
    });
}

/// A literal field that goes into the table, and one that does not.
fn literal(kind: u8, name: &str, value: &str) -> Vec<u8> {
    let mut out = vec![kind];
    for text in [name, value] {
        out.push(u8::try_from(text.len()).expect("short texts"));
        out.extend_from_slice(text.as_bytes());
    }
    out
}

/// `:status` 200 and the content type, no table needed.
fn head(more: &[u8]) -> Vec<u8> {
    [&[0x88][..], &literal(0, "content-type", "application/grpc"), more].concat()
}

/// Answers with these blocks and one message.
async fn answer(server: &mut ServerPeer, stream: StreamId, head: &[u8], trailers: &[u8]) {
    server.send_bytes(&raw_frame(HEADERS, END_HEADERS, stream, head)).await;
    server.data(stream, &framed(b"m"), false).await;
    server.send_bytes(&raw_frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers)).await;
}

// RFC 7541 2.3.2
#[test]
fn the_same_octets_of_a_response_may_mean_another_field() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let ended = literal(0, "grpc-status", "0");
        let newest = head(&[0xbe]);
        for value in ["1", "2", "1", "3"] {
            let insert = head(&literal(0x40, "k", value));
            for block in std::iter::once(&insert).chain(std::iter::repeat_n(&newest, TIMES)) {
                let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                    let stream = server.request().await.stream;
                    answer(&mut server, stream, block, &ended).await;
                });
                assert_eq!(reply.unwrap().metadata().get("k"), Some(value));
            }
        }
        // A status by index: whatever the table says now.
        for status in ["0", "5", "0", "7"] {
            let insert = literal(0x40, "grpc-status", status);
            for trailers in std::iter::once(&insert).chain(std::iter::repeat_n(&vec![0xbe], TIMES)) {
                let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                    let stream = server.request().await.stream;
                    answer(&mut server, stream, &head(&[]), trailers).await;
                });
                let code = reply.map_or_else(|status| status.code(), |_| Code::Ok);
                assert_eq!(code, Code::from_i32(status.parse().unwrap()), "{status}");
            }
        }
    });
}

// wire-rules M3, 62: a reply that lies whole in the input has all that one has that comes in pieces.
#[test]
fn a_reply_has_its_metadata_however_often_its_blocks_come() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let ended = literal(0, "grpc-status", "0");
        let more = |block: &[u8], value: &str| [block, &literal(0, "k", value)].concat();
        let replies = [
            (head(&[]), ended.clone(), (None, None)),
            (more(&head(&[]), "head"), ended.clone(), (Some("head"), None)),
            (head(&[]), more(&ended, "tail"), (None, Some("tail"))),
            (more(&head(&[]), "a"), more(&ended, "b"), (Some("a"), Some("b"))),
        ];
        for times in [TIMES, 1, 1, 1] {
            for (head, trailers, expected) in &replies {
                for time in 0..times {
                    let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                        let stream = server.request().await.stream;
                        answer(&mut server, stream, head, trailers).await;
                    });
                    let reply = reply.unwrap();
                    let seen = (reply.metadata().get("k"), reply.trailers().get("k"));
                    assert_eq!(seen, *expected, "time {time}");
                    assert_eq!(
                        (reply.metadata().len(), reply.trailers().len()),
                        (usize::from(expected.0.is_some()), usize::from(expected.1.is_some()))
                    );
                }
            }
        }
    });
}

// wire-rules 49 to 51, 56: a block is judged by its place, each time.
#[test]
fn octets_that_were_right_as_trailers_are_wrong_as_a_head() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (head, ended) = (head(&[]), literal(0, "grpc-status", "0"));
        for _ in 0..TIMES {
            let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                answer(&mut server, stream, &head, &ended).await;
            });
            reply.unwrap();
        }
        for _ in 0..TIMES {
            // Trailers alone have no :status.
            let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                server.send_bytes(&raw_frame(HEADERS, END_HEADERS | END_STREAM, stream, &ended)).await;
                assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
            });
            assert_eq!(reply.unwrap_err().code(), Code::Internal);
            // A head has one, where trailers have none.
            let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                answer(&mut server, stream, &head, &head).await;
                assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
            });
            assert_eq!(reply.unwrap_err().code(), Code::Internal);
            // The same head, alone: gRPC without a status (wire-rules 53).
            let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                let stream = server.request().await.stream;
                server.send_bytes(&raw_frame(HEADERS, END_HEADERS | END_STREAM, stream, &head)).await;
            });
            assert_eq!(reply.unwrap_err().code(), Code::Unknown);
        }
    });
}

// wire-rules 25, 27, 35: what was wrong once is wrong again, for streams and single replies.
#[test]
fn a_response_has_the_same_outcome_however_often_it_comes() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let ended = literal(0, "grpc-status", "0");
        let cases = [
            (head(&literal(0, "k-bin", "*")), ended.clone(), Code::Internal),
            (head(&literal(0, "grpc-encoding", "foo")), ended.clone(), Code::Internal),
            (head(&[]), literal(0, "k-bin", "*").into_iter().chain(ended.clone()).collect(), Code::Internal),
            (head(&[]), literal(0, "grpc-status", "x"), Code::Unknown),
            (head(&literal(0, "k-bin", "AQ")), ended.clone(), Code::Ok),
        ];
        for round in 0..TIMES {
            for (head, trailers, expected) in &cases {
                let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
                    let stream = server.request().await.stream;
                    answer(&mut server, stream, head, trailers).await;
                });
                let code = reply.map_or_else(|status| status.code(), |_| Code::Ok);
                assert_eq!(code, *expected, "round {round}: {head:?}");
                let mut replies = list(&channel, message("")).await.unwrap();
                let stream = server.request().await.stream;
                answer(&mut server, stream, head, trailers).await;
                let code = loop {
                    match replies.message().await {
                        Ok(Some(_)) => {}
                        Ok(None) => break Code::Ok,
                        Err(status) => break status.code(),
                    }
                };
                assert_eq!(code, *expected, "round {round}: {head:?}, streamed");
                server.drain().await;
            }
        }
    });
}
