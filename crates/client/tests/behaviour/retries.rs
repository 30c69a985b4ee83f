//! Calls that are made again without their caller noticing: those that the peer certainly has not worked on, and no
//! others. What was made again is counted by what the server saw.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::{Code, Request, Status, Stream, iter};
use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Asked, PeerConfig, Received, ServerPeer};
use peregrine_testkit::{settle, virtual_time};

use crate::{Acceptor, chat, collect, connected, connected_with, list, message, pair, unary};

/// The kinds of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Unary,
    List,
    Collect,
    Chat,
}

const SHAPES: [Shape; 4] = [Shape::Unary, Shape::List, Shape::Collect, Shape::Chat];

/// The one message of the shapes that have one, and several of the others.
fn requests(shape: Shape) -> &'static [&'static str] {
    match shape {
        Shape::Unary | Shape::List => &["a"],
        Shape::Collect | Shape::Chat => &["a", "bc", "", "def"],
    }
}

fn body_of(shape: Shape) -> Vec<u8> {
    requests(shape).iter().flat_map(|text| peregrine_testkit::peer::message(text.as_bytes())).collect()
}

/// Makes a call and waits for its end.
async fn call(shape: Shape, channel: &Channel) -> Result<Vec<Bytes>, Status> {
    let source = iter(requests(shape).iter().map(|text| message(text)));
    let mut replies = match shape {
        Shape::Unary => return Ok(vec![unary(channel, message("a")).await?.into_inner()]),
        Shape::Collect => return Ok(vec![collect(channel, source).await?.into_inner()]),
        Shape::List => list(channel, message("a")).await?,
        Shape::Chat => chat(channel, source).await?,
    };
    let mut all = Vec::new();
    while let Some(reply) = replies.message().await? {
        all.push(reply);
    }
    Ok(all)
}

/// Makes a call of each shape against a server that does `script`, which answers with the streams it saw.
#[expect(clippy::needless_pass_by_value, reason = "closures are written where they are passed")]
fn for_each_shape(
    script: impl AsyncFn(&mut Acceptor, Shape) -> Vec<ServerPeer>,
    check: impl Fn(Result<Vec<Bytes>, Status>, Shape),
) {
    for shape in SHAPES {
        virtual_time(async {
            let (builder, mut acceptor) = pair();
            let channel = builder.build().expect("the target is one");
            let (result, mut servers) = tokio::join!(call(shape, &channel), script(&mut acceptor, shape));
            check(result, shape);
            drop(channel);
            for server in &mut servers {
                while let Some(frame) = server.next().await {
                    let is_goodbye = matches!(frame, Received::GoAway { code: ErrorCode::NO_ERROR, .. });
                    assert!(is_goodbye, "{shape:?}: the server sees more of the call: {frame:?}");
                }
            }
            assert_eq!(acceptor.connections(), servers.len(), "{shape:?}");
        });
    }
}

fn is_ok(result: Result<Vec<Bytes>, Status>, shape: Shape) {
    assert_eq!(result.expect("the call is made again"), [message("done")], "{shape:?}");
}

fn is_unavailable(result: Result<Vec<Bytes>, Status>, shape: Shape) {
    let status = result.expect_err("the call is not made again");
    assert_eq!(status.code(), Code::Unavailable, "{shape:?}: {status}");
}

#[test]
fn a_refused_call_is_made_again_with_all_of_its_messages() {
    // wire-rules 67
    for_each_shape(
        async |acceptor, shape| {
            let mut server = acceptor.accept().await;
            let refused = server.request().await;
            assert_eq!(refused.body, body_of(shape), "{shape:?}");
            server.reset(refused.stream, ErrorCode::REFUSED_STREAM).await;
            let again = server.request().await;
            assert_eq!((again.body, &again.head), (body_of(shape), &refused.head), "{shape:?}");
            server.reply(again.stream, b"done").await;
            vec![server]
        },
        is_ok,
    );
}

#[test]
fn a_call_refused_before_it_is_complete_is_made_again() {
    // wire-rules 67: at its head, which is when servers refuse.
    for_each_shape(
        async |acceptor, shape| {
            let mut server = acceptor.accept().await;
            let refused = server.request_head().await.stream;
            server.reset(refused, ErrorCode::REFUSED_STREAM).await;
            let again = loop {
                let mut asked = server.request_head().await;
                if asked.stream != refused {
                    server.rest_of(&mut asked).await;
                    break asked;
                }
            };
            assert_eq!(again.body, body_of(shape), "{shape:?}");
            server.reply(again.stream, b"done").await;
            // What was on its way of the first one.
            server.drain().await;
            vec![server]
        },
        is_ok,
    );
}

#[test]
fn a_call_that_is_refused_twice_fails() {
    // wire-rules 67, 89: more is for a retry policy to decide.
    for_each_shape(
        async |acceptor, _| {
            let mut server = acceptor.accept().await;
            for _ in 0..2 {
                let stream = server.request().await.stream;
                server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            }
            vec![server]
        },
        is_unavailable,
    );
}

#[test]
fn a_call_refused_after_its_answer_has_begun_fails() {
    // wire-rules 89
    for_each_shape(
        async |acceptor, _| {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.head(stream, &[]).await;
            server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            vec![server]
        },
        is_unavailable,
    );
}

#[test]
fn resets_that_say_nothing_of_refusal_are_final() {
    // wire-rules 65 to 70
    for code in [
        ErrorCode::NO_ERROR,
        ErrorCode::PROTOCOL_ERROR,
        ErrorCode::INTERNAL_ERROR,
        ErrorCode::FLOW_CONTROL_ERROR,
        ErrorCode::STREAM_CLOSED,
        ErrorCode::CANCEL,
        ErrorCode::ENHANCE_YOUR_CALM,
        ErrorCode::HTTP_1_1_REQUIRED,
    ] {
        for_each_shape(
            async |acceptor, _| {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.reset(stream, code).await;
                vec![server]
            },
            |result, shape| {
                let status = result.expect_err("the call is not made again");
                assert_ne!(status.code(), Code::Unavailable, "{shape:?}: {status}");
            },
        );
    }
}

#[test]
fn bug_55_a_call_above_the_last_stream_of_a_goaway_is_made_again_elsewhere() {
    // wire-rules 75
    for_each_shape(
        async |acceptor, shape| {
            let mut first = acceptor.accept().await;
            let missed = first.request().await;
            first.go_away(ErrorCode::NO_ERROR).await;
            let mut second = acceptor.accept().await;
            let again = second.request().await;
            assert_eq!((again.body, &again.head), (missed.body, &missed.head), "{shape:?}");
            second.reply(again.stream, b"done").await;
            vec![first, second]
        },
        is_ok,
    );
}

#[test]
fn a_peer_whose_connections_serve_nothing_is_given_up() {
    for_each_shape(
        async |acceptor, _| {
            let mut servers = Vec::new();
            for _ in 0..6 {
                let mut server = acceptor.accept().await;
                server.request().await;
                server.go_away(ErrorCode::NO_ERROR).await;
                servers.push(server);
            }
            servers
        },
        is_unavailable,
    );
}

#[test]
fn a_call_at_or_below_the_last_stream_is_final() {
    // wire-rules 75, 81
    for_each_shape(
        async |acceptor, _| {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
            server.io().cut();
            vec![server]
        },
        is_unavailable,
    );
}

#[test]
fn a_call_below_the_last_stream_of_a_goaway_gets_its_answer() {
    // wire-rules 75
    for_each_shape(
        async |acceptor, _| {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.go_away_after(StreamId::MAX, ErrorCode::NO_ERROR, b"").await;
            server.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
            settle().await;
            server.reply(stream, b"done").await;
            vec![server]
        },
        is_ok,
    );
}

#[test]
fn a_lost_connection_is_the_end_of_what_was_sent_on_it() {
    // wire-rules 81: the peer may have worked on it.
    for how in [Loss::Cut, Loss::Close, Loss::HalfClose] {
        for_each_shape(
            async |acceptor, _| {
                let mut server = acceptor.accept().await;
                server.request().await;
                how.end(&mut server).await;
                vec![server]
            },
            is_unavailable,
        );
    }
}

/// How a server goes without a word.
#[derive(Clone, Copy)]
enum Loss {
    Cut,
    Close,
    HalfClose,
}

impl Loss {
    async fn end(self, server: &mut ServerPeer) {
        match self {
            Self::Cut => server.io().cut(),
            Self::Close => {
                let (mut other, _) = peregrine_testkit::pipe();
                std::mem::swap(server.io(), &mut other);
            }
            Self::HalfClose => server.half_close().await,
        }
    }
}

#[test]
fn a_call_that_did_not_reach_the_socket_is_made_again() {
    // wire-rules 81: the connection is lost in the same moment in which the call is made. A server that has only closed
    // its own side would still read the call among the last words, and do its work twice.
    for how in [Loss::Cut, Loss::HalfClose] {
        for shape in SHAPES {
            virtual_time(async {
                let (builder, mut acceptor) = pair();
                let (channel, mut first) = tokio::join!(builder.connect(), acceptor.accept());
                let channel = channel.unwrap();
                settle().await;
                how.end(&mut first).await;
                let (result, _second) = tokio::join!(biased; call(shape, &channel), async {
                    let mut second = acceptor.accept().await;
                    let asked = second.request().await;
                    assert_eq!(asked.body, body_of(shape), "{shape:?}");
                    second.reply(asked.stream, b"done").await;
                    second
                });
                is_ok(result, shape);
                assert_eq!(first.next().await, None, "{shape:?}: the first connection has seen nothing");
            });
        }
    }
}

#[test]
fn time_goes_on_while_a_call_is_made_again() {
    // wire-rules 13: what is left is what the server is told, and there is no more in all than the caller gave.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let request = Request::new(message("a")).timeout(Duration::from_secs(5));
        let begun = tokio::time::Instant::now();
        let (result, ()) = tokio::join!(unary(&channel, request), async {
            let asked = server.request().await;
            assert_eq!(asked.field("grpc-timeout"), Some("5000000u"));
            tokio::time::sleep(Duration::from_secs(3)).await;
            server.reset(asked.stream, ErrorCode::REFUSED_STREAM).await;
            let asked = server.request().await;
            let left = asked.field("grpc-timeout").unwrap();
            assert!(left.starts_with("2000000") || left.starts_with("1999"), "{left}");
            assert_eq!(server.reset_of(asked.stream).await, ErrorCode::CANCEL);
        });
        assert_eq!(result.unwrap_err().code(), Code::DeadlineExceeded);
        assert_eq!(begun.elapsed().as_secs(), 5);
    });
}

/// Gives a message each time it is told to; tells when it is dropped.
struct Told {
    messages: tokio::sync::mpsc::UnboundedReceiver<Bytes>,
    _held: Arc<()>,
}

impl Stream for Told {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.messages.poll_recv(cx)
    }
}

fn told() -> (tokio::sync::mpsc::UnboundedSender<Bytes>, Told, Arc<()>) {
    let (sender, messages) = tokio::sync::mpsc::unbounded_channel();
    let held = Arc::new(());
    (sender, Told { messages, _held: Arc::clone(&held) }, held)
}

/// The next request up to `count` bytes of its body.
async fn request_up_to(server: &mut ServerPeer, count: usize) -> Asked {
    let mut asked = server.request_head().await;
    while asked.body.len() < count {
        match server.frame_of(asked.stream).await {
            Some(Received::Data { data, .. }) => asked.body.extend_from_slice(&data),
            other => panic!("{other:?}"),
        }
    }
    asked
}

#[test]
fn a_refused_stream_of_requests_goes_on_where_it_was() {
    // wire-rules 67: what was taken from the source is sent again, what follows comes behind it.
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (sender, source, _held) = told();
        for text in ["one", "two"] {
            sender.send(message(text)).unwrap();
        }
        let served = async {
            let refused = request_up_to(&mut server, 16).await;
            server.reset(refused.stream, ErrorCode::REFUSED_STREAM).await;
            let mut again = request_up_to(&mut server, 16).await;
            sender.send(message("three")).unwrap();
            drop(sender);
            server.rest_of(&mut again).await;
            assert_eq!(again.body, b"\0\0\0\0\x03one\0\0\0\0\x03two\0\0\0\0\x05three");
            server.reply(again.stream, b"done").await;
        };
        let (reply, ()) = tokio::join!(collect(&channel, source), served);
        assert_eq!(reply.unwrap().into_inner(), message("done"));

        let (sender, source, held) = told();
        for text in ["one", "two"] {
            sender.send(message(text)).unwrap();
        }
        let mut replies = chat(&channel, source).await.unwrap();
        let refused = request_up_to(&mut server, 16).await;
        server.reset(refused.stream, ErrorCode::REFUSED_STREAM).await;
        let mut again = request_up_to(&mut server, 16).await;
        server.head(again.stream, &[]).await;
        server.message(again.stream, b"first").await;
        assert_eq!(replies.message().await.unwrap(), Some(message("first")));
        sender.send(message("three")).unwrap();
        drop(sender);
        server.rest_of(&mut again).await;
        assert_eq!(again.body, b"\0\0\0\0\x03one\0\0\0\0\x03two\0\0\0\0\x05three");
        server.trailers(again.stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap(), None);
        settle().await;
        assert_eq!(Arc::strong_count(&held), 1, "the source is dropped");
    });
}

#[test]
fn a_stream_of_requests_that_is_too_long_to_be_kept_is_not_made_again() {
    for shape in [Shape::Collect, Shape::Chat] {
        virtual_time(async {
            let mut config = PeerConfig::server();
            config.settings.push(Setting::InitialWindowSize(1 << 20));
            let (channel, mut server) = connected_with(config).await;
            // By number, and by size.
            for (count, size) in [(65, 1), (2, 40_000)] {
                let source = iter((0..count).map(move |_| Bytes::from(vec![0; size])));
                let calls = async {
                    match shape {
                        Shape::Collect => collect(&channel, source).await.map(|_| ()),
                        _ => chat(&channel, source).await?.message().await.map(|_| ()),
                    }
                };
                let (result, ()) = tokio::join!(calls, async {
                    let asked = server.request().await;
                    assert_eq!(asked.body.len(), count * (size + 5));
                    server.reset(asked.stream, ErrorCode::REFUSED_STREAM).await;
                });
                assert_eq!(result.unwrap_err().code(), Code::Unavailable, "{shape:?}");
                assert_eq!(server.drain().await, [], "{shape:?}");
            }
        });
    }
}

#[test]
fn a_refused_call_that_nobody_waits_for_is_not_made_again() {
    for shape in [Shape::List, Shape::Chat] {
        virtual_time(async {
            let (channel, mut server) = connected().await;
            let (sender, source, held) = told();
            sender.send(message("a")).unwrap();
            let replies = match shape {
                Shape::List => {
                    drop(source);
                    list(&channel, message("a")).await.unwrap()
                }
                _ => chat(&channel, source).await.unwrap(),
            };
            let stream = request_up_to(&mut server, 6).await.stream;
            server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            drop(replies);
            settle().await;
            let seen = server.drain().await;
            let is_request = |frame: &Received| matches!(frame, Received::Headers { .. });
            assert!(!seen.iter().any(is_request), "{shape:?}: {seen:?}");
            assert_eq!(Arc::strong_count(&held), 1, "{shape:?}: the source is dropped");
        });
    }
}

#[test]
fn bug_55_a_server_that_closes_after_ten_calls_loses_none_of_three_hundred() {
    // wire-rules 75: each connection serves ten calls and says GOAWAY; the rest of the burst goes to the next one, and
    // the last calls have been turned away 29 times.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for call in 0..300_u32 {
            let channel = channel.clone();
            calls.spawn(async move {
                let text = Bytes::copy_from_slice(&call.to_be_bytes());
                let reply = match call % 3 {
                    0 => unary(&channel, text.clone()).await.map(peregrine_core::Response::into_inner),
                    1 => collect(&channel, iter([text.clone()]))
                        .await
                        .map(peregrine_core::Response::into_inner),
                    _ => {
                        let mut replies = list(&channel, text.clone()).await.unwrap();
                        replies.message().await.map(Option::unwrap_or_default)
                    }
                };
                assert_eq!(reply.expect("no call is lost"), text);
            });
        }
        let served = async {
            let mut seen = Vec::new();
            while seen.len() < 300 {
                let mut server = acceptor.accept().await;
                for _ in 0..10 {
                    let asked = server.request().await;
                    server.reply(asked.stream, &asked.body[5..]).await;
                    seen.push(asked.body);
                    if seen.len() % 10 == 0 {
                        server.go_away_after(asked.stream, ErrorCode::NO_ERROR, b"").await;
                    }
                }
                // Whatever else was sent on the connection is not looked at.
                tokio::spawn(async move { server.expect_closed().await });
            }
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 300, "each was served once");
        };
        let ((), ()) =
            tokio::join!(served, async { while calls.join_next().await.transpose().unwrap().is_some() {} });
        assert_eq!(acceptor.connections(), 30);
        drop(channel);
    });
}

#[test]
fn abuse_29_a_limit_that_is_lowered_in_a_burst_is_kept_from_then_on() {
    // wire-rules 82: streams that are open stay open; what the server refuses meanwhile is made again in its turn.
    virtual_time(async {
        let mut config = PeerConfig::server();
        config.settings = vec![Setting::MaxConcurrentStreams(100)];
        let (channel, mut server) = connected_with(config).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..150 {
            let channel = channel.clone();
            calls.spawn(async move { unary(&channel, message("x")).await.map(|_| ()) });
        }
        let mut open = Vec::new();
        for _ in 0..100 {
            open.push(server.request().await.stream);
        }
        server.settings(&[Setting::MaxConcurrentStreams(1)]).await;
        for stream in open.drain(50..) {
            server.reset(stream, ErrorCode::REFUSED_STREAM).await;
        }
        assert_eq!(server.drain().await, [], "a stream beyond the new limit");
        for stream in open {
            server.reply(stream, b"").await;
        }
        for _ in 0..100 {
            let stream = server.request().await.stream;
            assert_eq!(server.drain().await, [], "a second stream");
            server.reply(stream, b"").await;
        }
        for result in calls.join_all().await {
            result.unwrap();
        }
    });
}
