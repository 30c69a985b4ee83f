//! A call's life has moments: no connection yet, a connection that starts, no stream free, no window, no answer, half an
//! answer. At each of them its time may run out, its caller may give up, and the server may go away.

use std::future::{Future, pending, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::{Code, Request, Status, iter};
use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, Keepalive, StreamId};
use peregrine_testkit::peer::{PeerConfig, Received, message as framed, raw_frame};
use peregrine_testkit::{PipeEnd, settle, virtual_time};

use crate::{chat, collect, connected, connected_with, list, message, pair, unary};

const STREAM_LIMIT_1: Setting = Setting::MaxConcurrentStreams(1);

fn limited(time: u64) -> Request<Bytes> {
    Request::new(message("")).timeout(Duration::from_millis(time))
}

/// A peer that gives no window beyond the first.
fn stingy() -> PeerConfig {
    PeerConfig { connection_window: 0, refill_windows: false, ..PeerConfig::server() }
}

fn deadline_text(result: Result<impl Sized, Status>) -> String {
    let Err(status) = result else { panic!("the call succeeded") };
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    assert!(status.metadata().is_empty());
    status.message().to_owned()
}

// wire-rules 71, 72, 98
#[test]
fn a_deadline_says_at_which_moment_it_passed() {
    // Opening a socket takes for ever.
    let text = virtual_time(async {
        let channel =
            Channel::builder("server.test:1").connector(pending::<io::Result<PipeEnd>>).build().unwrap();
        deadline_text(unary(&channel, limited(50)).await)
    });
    assert!(text.contains("50ms") && text.contains("while connecting to"), "{text}");

    // Every attempt fails, and the call waits for one that does not.
    let text = virtual_time(async {
        let channel = Channel::builder("server.test:1")
            .connector(|| ready(Err::<PipeEnd, _>(io::Error::other("nobody there"))))
            .build()
            .unwrap();
        deadline_text(unary(&channel, limited(5_000).wait_for_ready()).await)
    });
    assert!(text.contains("of 5s") && text.contains("connecting") && text.contains("nobody there"), "{text}");

    // No stream is free.
    let text = virtual_time(async {
        let config = PeerConfig { settings: vec![Setting::MaxConcurrentStreams(0)], ..PeerConfig::server() };
        let (channel, _server) = connected_with(config).await;
        deadline_text(unary(&channel, limited(50)).await)
    });
    assert!(text.contains("50ms") && text.contains("streams"), "{text}");

    // The request has no window: each shape says that it was still sending.
    let big = || Bytes::from(vec![0; 200_000]);
    let time = Duration::from_millis(50);
    let text = virtual_time(async {
        let (channel, _server) = connected_with(stingy()).await;
        deadline_text(unary(&channel, Request::new(big()).timeout(time)).await)
    });
    assert!(text.contains("sen") && text.contains("request"), "{text}");
    let text = virtual_time(async {
        let (channel, _server) = connected_with(stingy()).await;
        deadline_text(collect(&channel, Request::new(iter([big()])).timeout(time)).await)
    });
    assert!(text.contains("sen") && text.contains("request"), "{text}");

    // A head, then nothing; a part of a message, then nothing; a message, then no trailers.
    let body = framed(b"message");
    for sent in [0, 3, 8, body.len()] {
        let text = virtual_time(async {
            let (channel, mut server) = connected().await;
            let (result, ()) = tokio::join!(unary(&channel, limited(50)), async {
                let stream = server.request().await.stream;
                server.head(stream, &[("k", "v")]).await;
                server.data(stream, &body[..sent], false).await;
                assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
            });
            deadline_text(result)
        });
        assert!(text.contains("50ms") && text.contains("response"), "{sent}: {text}");
    }

    // A stream of replies between two messages.
    let text = virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, limited(50)).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.message(stream, b"one").await;
        assert_eq!(replies.message().await.unwrap(), Some(message("one")));
        deadline_text(replies.message().await)
    });
    assert!(text.contains("50ms"), "{text}");
}

// wire-rules 72, 98: a deadline that passes while nobody polls the call is not missed either.
#[test]
fn a_deadline_passes_though_the_caller_looks_elsewhere() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, limited(50)).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.message(stream, b"one").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        // What had arrived may still be read, or not; the end is the deadline.
        let end = loop {
            match replies.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the call succeeded"),
                Err(status) => break status,
            }
        };
        assert_eq!(end.code(), Code::DeadlineExceeded);
    });
}

/// Polls a future so many times, letting the runtime go on in between, then drops it.
async fn give_up_after(polls: usize, future: impl Future<Output = impl Sized>) {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        let polled = Pin::as_mut(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
        settle().await;
    }
}

// wire-rules 72, 98
#[test]
fn a_call_that_is_given_up_leaves_neither_stream_nor_window() {
    // Never polled, polled once with the driver not run, polled and sent.
    virtual_time(async {
        let config = PeerConfig { settings: vec![STREAM_LIMIT_1], ..stingy() };
        let (channel, mut server) = connected_with(config).await;
        for _ in 0..50 {
            drop(unary(&channel, message("never")));
            {
                let mut call = Box::pin(unary(&channel, message("once")));
                let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(matches!(polled, Poll::Pending));
            }
            give_up_after(2, unary(&channel, Bytes::from(vec![0; 100_000]))).await;
        }
        settle().await;
        // Whatever streams the server has seen, each has been reset.
        let mut open = 0;
        for frame in server.drain().await {
            match frame {
                Received::Headers { .. } => open += 1,
                Received::Reset { code, .. } => {
                    assert_eq!(code, ErrorCode::CANCEL);
                    open -= 1;
                }
                Received::Data { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(open, 0);
        // The one stream is free.
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request_head().await.stream;
            server.trailers_only(stream, &[("grpc-status", "5")]).await;
        });
        assert_eq!(reply.unwrap_err().code(), Code::NotFound);
    });
    // While connecting: nothing of it is sent, and the connection is there for others.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        give_up_after(1, unary(&channel, message("given up"))).await;
        let (reply, ()) = tokio::join!(unary(&channel, message("kept")), async {
            let mut server = acceptor.accept().await;
            let asked = server.request().await;
            assert_eq!((asked.stream, asked.body), (StreamId::new(1), framed(b"kept")));
            server.reply(asked.stream, b"").await;
        });
        reply.unwrap();
    });
    // While it waits for a stream, in the middle of the queue.
    virtual_time(async {
        let config = PeerConfig { settings: vec![STREAM_LIMIT_1], ..PeerConfig::server() };
        let (channel, mut server) = connected_with(config).await;
        let first = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        let kept = tokio::spawn({
            let channel = channel.clone();
            async move { unary(&channel, message("kept")).await.map(|_| ()) }
        });
        give_up_after(1, unary(&channel, message("given up"))).await;
        server.trailers_only(stream, &[("grpc-status", "0")]).await;
        let asked = server.request().await;
        assert_eq!(asked.body, framed(b"kept"));
        server.reply(asked.stream, b"").await;
        kept.await.unwrap().unwrap();
        drop(first);
    });
}

/// What was sent before a GOAWAY came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    Nothing,
    Head,
    Message,
}

async fn all(channel: &Channel, chatty: bool) -> Result<Vec<Bytes>, Status> {
    let mut replies =
        if chatty { chat(channel, iter([message("a")])).await? } else { list(channel, message("a")).await? };
    let mut all = Vec::new();
    while let Some(reply) = replies.message().await? {
        all.push(reply);
    }
    Ok(all)
}

// wire-rules 75, 76
#[test]
fn a_goaway_at_each_moment_ends_as_its_last_stream_says() {
    for chatty in [false, true] {
        for answered in [Answered::Nothing, Answered::Head, Answered::Message] {
            for (last, code, closes) in [
                // Below the call's stream: not processed, so made again, unless its answer had begun.
                (0, ErrorCode::NO_ERROR, false),
                (0, ErrorCode::ENHANCE_YOUR_CALM, true),
                (0, ErrorCode::INTERNAL_ERROR, true),
                // At it or above: its answer counts, or its connection's end.
                (1, ErrorCode::NO_ERROR, false),
                (1, ErrorCode::INTERNAL_ERROR, true),
                (0x7fff_ffff, ErrorCode::NO_ERROR, false),
                (0x7fff_ffff, ErrorCode::PROTOCOL_ERROR, true),
            ] {
                let case = format!("{chatty} {answered:?} last {last} {code} closes {closes}");
                let is_refused = last == 0;
                let result = virtual_time(async {
                    let (builder, mut acceptor) = pair();
                    let channel = builder.build().unwrap();
                    let served = async {
                        let mut first = acceptor.accept().await;
                        let stream = first.request().await.stream;
                        if answered != Answered::Nothing {
                            first.head(stream, &[]).await;
                        }
                        if answered == Answered::Message {
                            first.message(stream, b"m").await;
                        }
                        settle().await;
                        first.go_away_after(StreamId::new(last), code, b"\xff\x00why").await;
                        settle().await;
                        if closes {
                            drop(first);
                        } else if !is_refused {
                            if answered == Answered::Nothing {
                                first.head(stream, &[]).await;
                            }
                            first.trailers(stream, &[("grpc-status", "0")]).await;
                            settle().await;
                        }
                        if is_refused && answered == Answered::Nothing {
                            let mut second = acceptor.accept().await;
                            let stream = second.request().await.stream;
                            second.head(stream, &[]).await;
                            second.message(stream, b"again").await;
                            second.trailers(stream, &[("grpc-status", "0")]).await;
                            settle().await;
                        }
                    };
                    let (result, ()) = tokio::join!(all(&channel, chatty), served);
                    result
                });
                match (is_refused, answered, closes) {
                    (true, Answered::Nothing, _) => assert_eq!(result.unwrap(), [message("again")], "{case}"),
                    (true, ..) | (false, _, true) => {
                        let status = result.expect_err(&case);
                        assert_eq!(status.code(), Code::Unavailable, "{case}");
                    }
                    (false, ..) => {
                        let count = usize::from(answered == Answered::Message);
                        assert_eq!(result.unwrap().len(), count, "{case}");
                    }
                }
            }
        }
    }
}

// wire-rules 75, 82: calls that wait for a stream, or for their connection's start, go elsewhere.
#[test]
fn calls_that_wait_for_a_stream_move_when_the_server_goes_away() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let serving = async {
            let config = PeerConfig { settings: vec![STREAM_LIMIT_1], ..PeerConfig::server() };
            let mut first = acceptor.accept_with(config).await;
            let stream = first.request().await.stream;
            settle().await;
            first.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
            let mut second = acceptor.accept().await;
            for _ in 0..20 {
                let stream = second.request().await.stream;
                second.reply(stream, b"second").await;
            }
            first.reply(stream, b"first").await;
            settle().await;
        };
        let calls = async {
            let mut calls = Vec::new();
            for _ in 0..21 {
                let channel = channel.clone();
                calls.push(tokio::spawn(async move { unary(&channel, message("")).await }));
            }
            let mut texts = Vec::new();
            for call in calls {
                texts.push(call.await.unwrap().unwrap().into_inner());
            }
            texts
        };
        let (texts, ()) = tokio::join!(calls, serving);
        assert_eq!(texts.iter().filter(|text| **text == message("first")).count(), 1);
    });
}

// wire-rules 76: the first GOAWAY names no stream, the second the real one; what lies between is made again.
#[test]
fn the_second_goaway_of_two_decides() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let serving = async {
            let mut first = acceptor.accept().await;
            let mut streams = Vec::new();
            for _ in 0..3 {
                streams.push(first.request().await.stream);
            }
            first.go_away_after(StreamId::new(0x7fff_ffff), ErrorCode::NO_ERROR, b"").await;
            settle().await;
            first.go_away_after(streams[0], ErrorCode::NO_ERROR, b"").await;
            let mut second = acceptor.accept().await;
            for _ in 0..2 {
                let stream = second.request().await.stream;
                second.reply(stream, b"again").await;
            }
            first.reply(streams[0], b"first").await;
            settle().await;
        };
        let call = || unary(&channel, message(""));
        let (a, b, c, ()) = tokio::join!(call(), call(), call(), serving);
        let mut texts = [a, b, c].map(|reply| reply.unwrap().into_inner());
        texts.sort();
        assert_eq!(texts, [message("again"), message("again"), message("first")]);
        assert_eq!(acceptor.connections(), 2);
    });
}

// wire-rules 75, 79: what the server says is passed on, whatever octets it uses, and bounded.
#[test]
fn the_text_of_a_goaway_is_fit_to_be_read() {
    let status = virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            let text = [&b"go\x1b[31m\r\n\xff\x00"[..], &[b'x'; 16_000]].concat();
            server.go_away_after(stream, ErrorCode::ENHANCE_YOUR_CALM, &text).await;
            drop(server);
        });
        result.unwrap_err()
    });
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().len() < 2_000, "{} bytes", status.message().len());
    assert!(!status.message().contains(char::is_control), "{:?}", status.message());
}

// wire-rules 82
#[test]
fn a_stream_limit_below_what_is_open_ends_nothing() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let config = PeerConfig { settings: vec![Setting::MaxConcurrentStreams(10)], ..PeerConfig::server() };
        let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept_with(config));
        let channel = channel.unwrap();
        let mut open = Vec::new();
        for _ in 0..10 {
            open.push(list(&channel, message("")).await.unwrap());
        }
        let mut streams = Vec::new();
        for _ in 0..10 {
            streams.push(server.request().await.stream);
        }
        server.settings(&[Setting::MaxConcurrentStreams(2)]).await;
        settle().await;
        let waiting = tokio::spawn({
            let channel = channel.clone();
            async move { unary(&channel, message("late")).await.map(|_| ()) }
        });
        // Nine of ten may end before there is room.
        for stream in streams.drain(..8) {
            server.head(stream, &[]).await;
            server.trailers(stream, &[("grpc-status", "0")]).await;
            assert_eq!(server.drain().await, [], "two streams are still open");
        }
        server.settings(&[Setting::MaxConcurrentStreams(0)]).await;
        server.trailers_only(streams.remove(0), &[("grpc-status", "0")]).await;
        assert_eq!(server.drain().await, [], "none is allowed");
        server.settings(&[Setting::MaxConcurrentStreams(2)]).await;
        let asked = server.request().await;
        assert_eq!(asked.body, framed(b"late"));
        server.reply(asked.stream, b"").await;
        waiting.await.unwrap().unwrap();
        server.trailers_only(streams.remove(0), &[("grpc-status", "0")]).await;
        for mut replies in open {
            assert_eq!(replies.message().await.unwrap(), None);
        }
        assert_eq!(acceptor.connections(), 1);
    });
}

// wire-rules 83, 84: no window at first, a window below zero, and windows for another stream only.
#[test]
fn windows_may_be_nothing_and_change_while_a_request_is_sent() {
    virtual_time(async {
        let mut config = stingy();
        config.settings.push(Setting::InitialWindowSize(0));
        let (channel, mut server) = connected_with(config).await;
        let sent = Bytes::from((0..50_000_u32).map(|index| index as u8).collect::<Vec<_>>());
        let (reply, body) = tokio::join!(unary(&channel, sent.clone()), async {
            let mut asked = server.request_head().await;
            let stream = asked.stream;
            assert_eq!(server.drain().await, []);
            // One octet by WINDOW_UPDATE, four by SETTINGS, three taken away again: -2, then up by odd steps.
            server.give_window(stream, 1).await;
            server.settings(&[Setting::InitialWindowSize(4)]).await;
            settle().await;
            server.settings(&[Setting::InitialWindowSize(1)]).await;
            settle().await;
            server.give_window(stream, 3).await;
            settle().await;
            let mut got = 0;
            for frame in server.drain().await {
                let Received::Data { data, end_stream, .. } = frame else { panic!("{frame:?}") };
                assert!(!end_stream);
                got += data.len();
                asked.body.extend_from_slice(&data);
            }
            assert_eq!(got, 5, "1 + 4, then -3 and +3");
            for step in [1, 2, 3, 5_000, 16_383, 16_384, 16_385] {
                server.give_window(stream, step).await;
            }
            server.settings(&[Setting::InitialWindowSize(0x7fff_0000 - 60_000)]).await;
            server.rest_of(&mut asked).await;
            server.reply(stream, b"").await;
            asked.body
        });
        reply.unwrap();
        assert_eq!(body, framed(&sent));
    });
}

// wire-rules 83
#[test]
fn a_window_update_of_zero_costs_its_stream_and_on_the_connection_all() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            server.send_bytes(&raw_frame(8, 0, stream, &[0; 4])).await;
            assert_eq!(server.reset_of(stream).await, ErrorCode::PROTOCOL_ERROR);
        });
        assert_eq!(result.unwrap_err().code(), Code::Internal);
        let (result, ()) = tokio::join!(unary(&channel, message("")), async {
            server.request().await;
            server.send_bytes(&raw_frame(8, 0, StreamId::CONNECTION, &[0; 4])).await;
            assert_eq!(server.expect_go_away().await.1, ErrorCode::PROTOCOL_ERROR);
        });
        assert!(matches!(result.unwrap_err().code(), Code::Internal | Code::Unavailable));
    });
}

// wire-rules 96
#[test]
fn calls_wait_while_connecting_and_fail_at_once_while_that_has_failed() {
    virtual_time(async {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&attempts);
        // Each attempt takes two seconds and fails.
        let channel = Channel::builder("server.test:1")
            .connector(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                async {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    Err::<PipeEnd, _>(io::Error::other("nobody there"))
                }
            })
            .build()
            .unwrap();
        let begun = tokio::time::Instant::now();
        // IDLE and CONNECTING: both wait for the same attempt, then fail.
        let call = || unary(&channel, message(""));
        let (a, b) = tokio::join!(call(), call());
        for status in [a.unwrap_err(), b.unwrap_err()] {
            assert_eq!(status.code(), Code::Unavailable);
            assert!(status.message().contains("nobody there"), "{status}");
        }
        assert_eq!((begun.elapsed().as_secs(), attempts.load(Ordering::Relaxed)), (2, 1));
        // TRANSIENT_FAILURE: at once, and without another attempt.
        let again = call().await.unwrap_err();
        assert_eq!(again.code(), Code::Unavailable);
        assert_eq!(begun.elapsed().as_secs(), 2);
        // One that waits for ready outlives this, and ends when its caller gives up.
        give_up_after(3, unary(&channel, Request::new(message("")).wait_for_ready())).await;
        let text = deadline_text(unary(&channel, limited(60_000).wait_for_ready()).await);
        assert!(text.contains("nobody there"), "{text}");
        assert!(attempts.load(Ordering::Relaxed) > 2);
    });
}

// wire-rules 14, 16, 13
#[test]
fn timeouts_are_sent_in_the_finest_unit_that_fits_eight_digits() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (timeout, expected) in [
            (Duration::from_nanos(1), "1n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_millis(100), "100000u"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_micros(99_999_999), "99999999u"),
            (Duration::from_nanos(99_999_999_001), "100000m"),
            (Duration::from_millis(99_999_999), "99999999m"),
            (Duration::from_micros(99_999_999_001), "100000S"),
            (Duration::from_secs(99_999_999), "99999999S"),
            (Duration::from_millis(99_999_999_001), "1666667M"),
            (Duration::from_mins(99_999_999), "99999999M"),
            (Duration::from_mins(99_999_999) + Duration::from_nanos(1), "1666667H"),
        ] {
            let (_ended, asked) =
                tokio::join!(unary(&channel, Request::new(message("")).timeout(timeout)), async {
                    let mut asked = server.request_head().await;
                    asked.is_complete = true;
                    server.trailers_only(asked.stream, &[("grpc-status", "5")]).await;
                    asked
                });
            assert_eq!(asked.field("grpc-timeout"), Some(expected), "{timeout:?}");
            let position = asked.head.iter().position(|(name, _)| name == "grpc-timeout");
            assert_eq!(position, Some(4), "right behind the pseudo-header fields");
        }
        // No clock goes that far: no deadline, or the largest.
        for timeout in [Duration::MAX, Duration::from_secs(u64::MAX / 2), Duration::from_hours(99_999_999)] {
            let (ended, asked) =
                tokio::join!(unary(&channel, Request::new(message("")).timeout(timeout)), async {
                    let asked = server.request().await;
                    server.reply(asked.stream, b"").await;
                    asked
                });
            ended.unwrap();
            assert!(matches!(asked.field("grpc-timeout"), None | Some("99999999H")), "{timeout:?}");
        }
    });
}

// wire-rules 80: what keepalive is asked for is what the wire sees, and doubling has an end.
#[test]
fn the_interval_of_pings_doubles_with_each_complaint_and_not_for_other_goaways() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let keepalive = Keepalive {
            interval: Duration::from_secs(10),
            timeout: Duration::from_secs(5),
            without_streams: true,
        };
        let channel = builder.keepalive(keepalive).build().unwrap();
        let mut intervals = Vec::new();
        for (code, text) in [
            (ErrorCode::NO_ERROR, &b"too_many_pings"[..]),
            (ErrorCode::ENHANCE_YOUR_CALM, b"something else"),
            (ErrorCode::ENHANCE_YOUR_CALM, b"too_many_pings"),
            (ErrorCode::ENHANCE_YOUR_CALM, b"too_many_pings"),
            (ErrorCode::NO_ERROR, b""),
        ] {
            let (reply, mut server) = tokio::join!(unary(&channel, message("")), async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.reply(stream, b"").await;
                server
            });
            reply.unwrap();
            let begun = tokio::time::Instant::now();
            loop {
                match server.frame().await {
                    Some(Received::Ping { ack: false, .. }) => break,
                    Some(frame) => assert!(frame.is_housekeeping(), "{frame:?}"),
                    None => panic!("closed"),
                }
            }
            intervals.push(begun.elapsed().as_secs());
            server.go_away_after(StreamId::new(1), code, text).await;
            drop(server);
            settle().await;
        }
        assert_eq!(intervals, [10, 10, 10, 20, 40]);
    });
}
