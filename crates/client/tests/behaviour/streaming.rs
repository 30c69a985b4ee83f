//! Calls with streams of requests or responses, their cancellation and their deadlines.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use peregrine_core::{
    BytesCodec, Code, Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, Payload, Request, Stream,
    iter,
};
use peregrine_http2::frame::Setting;
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{Asked, PeerConfig, Received};
use peregrine_testkit::{settle, virtual_time};

use crate::{CHAT, COLLECT, UNARY, chat, collect, connected, connected_with, list, message, pair, unary};

/// Messages, then nothing for ever; tells when it is dropped.
struct ThenSilence {
    messages: Vec<Bytes>,
    _held: Arc<()>,
}

impl Stream for ThenSilence {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.messages.pop() {
            Some(message) => Poll::Ready(Some(message)),
            None => Poll::Pending,
        }
    }
}

fn silence_after(messages: &[Bytes]) -> (ThenSilence, Arc<()>) {
    let held = Arc::new(());
    let source = ThenSilence { messages: messages.iter().rev().cloned().collect(), _held: Arc::clone(&held) };
    (source, held)
}

fn is_dropped(held: &Arc<()>) -> bool {
    Arc::strong_count(held) == 1
}

#[test]
fn responses_come_one_by_one_with_headers_before_and_trailers_behind() {
    // wire-rules 49, 62
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("go")).await.unwrap();
        let Asked { stream, body, .. } = server.request().await;
        assert_eq!(body, b"\0\0\0\0\x02go");
        server.head(stream, &[("initial", "1")]).await;
        assert_eq!(replies.headers().await.unwrap().get("initial"), Some("1"));
        for text in ["one", "two"] {
            server.message(stream, text.as_bytes()).await;
            assert_eq!(replies.message().await.unwrap(), Some(message(text)));
        }
        assert!(replies.trailers().is_none());
        server.trailers(stream, &[("grpc-status", "0"), ("trailing", "2")]).await;
        assert_eq!(replies.message().await.unwrap(), None);
        assert_eq!(replies.trailers().unwrap().get("trailing"), Some("2"));
    });
}

#[test]
fn messages_before_an_error_are_delivered() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.message(stream, b"one").await;
        server.trailers(stream, &[("grpc-status", "11"), ("grpc-message", "end"), ("k", "v")]).await;
        assert_eq!(replies.message().await.unwrap(), Some(message("one")));
        let status = replies.message().await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::OutOfRange, "end"));
        assert_eq!(replies.trailers().unwrap().get("k"), Some("v"));
        assert_eq!(replies.message().await.unwrap(), None);
    });
}

#[test]
fn a_stream_cut_inside_a_message_is_internal() {
    // wire-rules 45
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.data(stream, &[0, 0, 0, 0, 9, 1, 2, 3], false).await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap_err().code(), Code::Internal);
    });
}

#[test]
fn a_reader_that_does_not_read_holds_the_peer_back_and_no_one_else() {
    // wire-rules 84
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        let mut left = 100;
        while server.window(stream) >= 10_005 {
            server.message(stream, &[1; 10_000]).await;
            left -= 1;
        }
        server.read_all().await;
        assert!(server.window(stream) < 10_005 && left > 70, "no more than a window is on its way");
        let (reply, ()) = tokio::join!(unary(&channel, message("x")), async {
            let stream = server.request().await.stream;
            server.reply(stream, b"y").await;
        });
        reply.unwrap();
        let sending = async {
            for _ in 0..left {
                server.message(stream, &[1; 10_000]).await;
            }
            server.trailers(stream, &[("grpc-status", "0")]).await;
        };
        let reading = async {
            let mut count = 0;
            while let Some(message) = replies.message().await.unwrap() {
                assert_eq!(message.len(), 10_000);
                count += 1;
            }
            count
        };
        let (count, ()) = tokio::join!(reading, sending);
        assert_eq!(count, 100);
    });
}

#[test]
fn an_oversized_message_ends_the_stream() {
    // wire-rules 42
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let request = Request::new(message("")).max_response_size(10);
        let mut replies = list(&channel, request).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.message(stream, &[0; 10]).await;
        server.message(stream, &[0; 11]).await;
        assert_eq!(replies.message().await.unwrap().unwrap().len(), 10);
        let status = replies.message().await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
}

#[test]
fn a_request_stream_is_collected() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let served = async {
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body, b"\0\0\0\0\x01a\0\0\0\0\x02bc\0\0\0\0\0");
            server.reply(stream, b"3").await;
        };
        let source = iter([message("a"), message("bc"), message("")]);
        let (reply, ()) = tokio::join!(collect(&channel, source), served);
        assert_eq!(reply.unwrap().get_ref(), &message("3"));
    });
}

#[test]
fn ready_messages_share_frames() {
    // wire-rules B1, B7, S2
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let before = server.io().writes_of_other_end();
        let served = async {
            let stream = server.request_head().await.stream;
            let mut frames = 0;
            loop {
                match server.next().await {
                    Some(Received::Data { end_stream, .. }) => {
                        frames += 1;
                        if end_stream {
                            break;
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert!(frames <= 4, "{frames} frames for 1,000 messages of 35 bytes");
            let writes = server.io().writes_of_other_end() - before;
            assert!(writes <= 4, "{writes} writes for 1,000 messages");
            server.reply(stream, b"").await;
        };
        let source = iter((0..1000).map(|_| Bytes::from_static(&[0; 30])));
        let (reply, ()) = tokio::join!(collect(&channel, source), served);
        reply.unwrap();
    });
}

#[test]
fn sixteen_ready_requests_are_one_frame_and_one_write() {
    // wire-rules B1, B7
    virtual_time(async {
        let (channel, mut server) = connected().await;
        settle().await;
        let before = server.io().writes_of_other_end();
        let source = iter((0..16).map(|_| Bytes::from_static(&[0; 256])));
        let served = async {
            let stream = server.request_head().await.stream;
            let Some(Received::Data { data, end_stream, .. }) = server.next().await else {
                panic!("no data")
            };
            assert_eq!((data.len(), end_stream), (16 * 261, true));
            assert_eq!(server.io().writes_of_other_end() - before, 1);
            server.reply(stream, b"").await;
        };
        let (reply, ()) = tokio::join!(collect(&channel, source), served);
        reply.unwrap();
    });
}

#[test]
fn a_batch_of_requests_ends_at_its_size() {
    // wire-rules B1, B7: the peer has the first batch before the source is asked for the rest.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let (channel, server) = tokio::join!(builder.stream_batch_size(4_096).connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        settle().await;
        let before = server.io().writes_of_other_end();
        let source = iter((0..40).map(|_| Bytes::from_static(&[0; 1_019])));
        let served = async {
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body.len(), 40 * 1_024);
            let writes = server.io().writes_of_other_end() - before;
            assert!((10..=12).contains(&writes), "{writes} writes for 10 batches");
            server.reply(stream, b"").await;
        };
        let (reply, ()) = tokio::join!(collect(&channel, source), served);
        reply.unwrap();
    });
}

#[test]
fn a_flushed_request_leaves_before_the_ones_that_follow() {
    // wire-rules B2, B7
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (sender, receiver) = peregrine_core::stream::pipe(16);
        let sending = async {
            for _ in 0..3 {
                sender.send(message("ten bytes!")).await.unwrap();
                sender.flush().await.unwrap();
            }
            drop(sender);
        };
        let served = async {
            let stream = server.request_head().await.stream;
            let mut frames = Vec::new();
            loop {
                match server.next().await {
                    Some(Received::Data { data, end_stream, .. }) => {
                        frames.push(data.len());
                        if end_stream {
                            break;
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
            frames.retain(|&len| len > 0);
            assert_eq!(frames, [15; 3]);
            server.reply(stream, b"").await;
        };
        let (reply, (), ()) = tokio::join!(collect(&channel, receiver), sending, served);
        reply.unwrap();
    });
}

#[test]
fn a_message_is_sent_while_its_source_waits() {
    // wire-rules B2
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (source, held) = silence_after(&[message("now")]);
        let replies = chat(&channel, source).await.unwrap();
        let stream = server.request_head().await.stream;
        let Some(Received::Data { data, end_stream: false, .. }) = server.next().await else {
            panic!("no data")
        };
        assert_eq!(data[..], *b"\0\0\0\0\x03now");
        // wire-rules 72, bug-reports 42: dropping the call cancels it and drops the source.
        drop(replies);
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        settle().await;
        assert!(is_dropped(&held));
    });
}

#[test]
fn bug_15_a_source_goes_no_further_than_the_peer_reads() {
    // wire-rules 83, bug-reports 15
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let produced = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = Arc::clone(&produced);
        let source = iter((0..1000).map(move |_| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Bytes::from_static(&[0; 10_000])
        }));
        let mut replies = chat(&channel, source).await.unwrap();
        let stream = server.request_head().await.stream;
        let mut seen = 0;
        settle().await;
        let ahead = produced.load(std::sync::atomic::Ordering::Relaxed);
        assert!(ahead < 100, "{ahead} messages of 10,000 bytes are ahead of a peer that reads none");
        loop {
            match server.next().await {
                Some(Received::Data { data, end_stream, .. }) => {
                    let increment = data.len() as u32;
                    if increment > 0 {
                        server.give_window(stream, increment).await;
                        server.give_window(StreamId::CONNECTION, increment).await;
                    }
                    seen += data.len();
                    if end_stream {
                        break;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, 1000 * 10_005);
        server.head(stream, &[]).await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap(), None);
    });
}

#[test]
fn both_directions_flow_at_once() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (sender, call) = peregrine_client::bidi_sender::<BytesCodec, Bytes, Bytes>(&channel, &CHAT);
        let served = async {
            let stream = server.request_head().await.stream;
            server.head(stream, &[]).await;
            loop {
                match server.next().await {
                    Some(Received::Data { data, end_stream, .. }) => {
                        server.data(stream, &data, false).await;
                        if end_stream {
                            server.trailers(stream, &[("grpc-status", "0")]).await;
                            return;
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        let talking = async {
            let mut replies = call.await.unwrap();
            for text in ["ping", "pong", ""] {
                sender.send(message(text)).await.unwrap();
                assert_eq!(replies.message().await.unwrap(), Some(message(text)));
            }
            drop(sender);
            assert_eq!(replies.message().await.unwrap(), None);
        };
        tokio::join!(served, talking);
    });
}

#[test]
fn a_sender_learns_that_the_call_is_over() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (sender, call) =
            peregrine_client::client_streaming_sender::<BytesCodec, Bytes, Bytes>(&channel, &COLLECT);
        let served = async {
            let stream = server.request_head().await.stream;
            server.head(stream, &[]).await;
            // wire-rules 63: an answer before the request is complete.
            server.trailers(stream, &[("grpc-status", "9")]).await;
            server.reset_of(stream).await
        };
        let sending = async {
            while sender.send(message("more")).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        let (status, code, ()) = tokio::join!(call, served, sending);
        assert_eq!(status.unwrap_err().code(), Code::FailedPrecondition);
        assert_eq!(code, ErrorCode::NO_ERROR);
    });
}

#[test]
fn bug_50_an_early_answer_drops_the_source() {
    // wire-rules 63, bug-reports 50
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (source, held) = silence_after(&[message("a")]);
        let mut replies = chat(&channel, source).await.unwrap();
        let stream = server.request_head().await.stream;
        server.head(stream, &[]).await;
        server.message(stream, b"enough").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap(), Some(message("enough")));
        assert_eq!(replies.message().await.unwrap(), None);
        settle().await;
        assert!(is_dropped(&held));
        assert_eq!(server.reset_of(stream).await, ErrorCode::NO_ERROR);
    });
}

#[test]
fn a_request_message_over_the_limit_ends_the_call() {
    // wire-rules 44, B3
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let source = iter([message("ok"), message("too long")]);
        let mut request = Request::new(source);
        request.options_mut().max_request_size = Some(5);
        let status = collect(&channel, request).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        let stream = server.request_head().await.stream;
        // What was complete before is delivered, and nothing of the other.
        let Some(Received::Data { data, end_stream: false, .. }) = server.next().await else {
            panic!("no data")
        };
        assert_eq!(data[..], *b"\0\0\0\0\x02ok");
        assert_eq!(server.expect_reset(stream).await, ErrorCode::CANCEL);
    });
}

#[test]
fn bug_12_dropping_a_call_resets_its_stream() {
    // wire-rules 72, bug-reports 12
    virtual_time(async {
        let (channel, mut server) = connected().await;
        {
            let mut call = pin!(unary(&channel, message("")));
            tokio::select! {
                biased;
                _ = &mut call => panic!("nobody answers"),
                () = settle() => {}
            }
        }
        let stream = server.request().await.stream;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        let (source, held) = silence_after(&[]);
        {
            let mut call = pin!(collect(&channel, source));
            tokio::select! {
                biased;
                _ = &mut call => panic!("nobody answers"),
                () = settle() => {}
            }
        }
        assert!(is_dropped(&held));
        let stream = server.request_head().await.stream;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
}

#[test]
fn a_deadline_ends_a_call_that_nobody_answers() {
    // wire-rules 16, 72
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let start = tokio::time::Instant::now();
        let request = Request::new(message("")).timeout(Duration::from_secs(2));
        let (reply, code) = tokio::join!(unary(&channel, request), async {
            let stream = server.request().await.stream;
            server.reset_of(stream).await
        });
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains("2s"), "{status}");
        assert_eq!(code, ErrorCode::CANCEL);
        assert_eq!(start.elapsed().as_secs(), 2);
    });
}

#[test]
fn a_deadline_ends_a_stream_that_nobody_reads() {
    // wire-rules 72
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let request = Request::new(message("")).timeout(Duration::from_secs(2));
        let mut replies = list(&channel, request).await.unwrap();
        let asked = server.request().await;
        let stream = asked.stream;
        assert_eq!(asked.field("grpc-timeout"), Some("2000000u"));
        server.head(stream, &[]).await;
        server.message(stream, b"one").await;
        // The reset comes at the deadline though the caller does nothing.
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        assert_eq!(replies.message().await.unwrap(), Some(message("one")));
        assert_eq!(replies.message().await.unwrap_err().code(), Code::DeadlineExceeded);
    });
}

#[test]
fn bug_15_40_a_deadline_frees_a_blocked_request_stream() {
    // bug-reports 15, 40
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let source = iter((0..10_000).map(|_| Bytes::from_static(&[0; 10_000])));
        let request = Request::new(source).timeout(Duration::from_secs(3));
        let (reply, ()) = tokio::join!(collect(&channel, request), async {
            // Takes nothing from the window.
            let stream = server.request_head().await.stream;
            assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        });
        assert_eq!(reply.unwrap_err().code(), Code::DeadlineExceeded);
    });
}

#[test]
fn a_deadline_holds_while_connecting() {
    // wire-rules 98
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let start = tokio::time::Instant::now();
        let request = Request::new(message("")).timeout(Duration::from_secs(2));
        let (reply, _end) = tokio::join!(unary(&channel, request), acceptor.accept_raw());
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains("connecting to server.test:50051"), "{status}");
        assert_eq!(start.elapsed().as_secs(), 2);
    });
}

#[test]
fn time_spent_connecting_is_taken_off_the_timeout_sent() {
    // wire-rules 13
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let request = Request::new(message("")).timeout(Duration::from_secs(5));
        let (reply, _server) = tokio::join!(unary(&channel, request), async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let mut server = acceptor.accept().await;
            let asked = server.request().await;
            let stream = asked.stream;
            let left = asked.field("grpc-timeout").unwrap();
            assert!(left.starts_with("3000000") || left.starts_with("2999"), "{left}");
            assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
            server
        });
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains("before there was a connection"), "{status}");
    });
}

#[test]
fn a_deadline_holds_while_waiting_for_a_stream() {
    // wire-rules 82, 98
    virtual_time(async {
        let mut config = PeerConfig::server();
        config.settings = vec![Setting::MaxConcurrentStreams(1)];
        let (channel, mut server) = connected_with(config).await;
        let _first = list(&channel, message("")).await.unwrap();
        server.request().await;
        let request = Request::new(message("")).timeout(Duration::from_secs(2));
        let status = unary(&channel, request).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains("streams that the peer allows"), "{status}");
    });
}

#[test]
fn a_call_without_time_is_not_made() {
    // wire-rules 16
    virtual_time(async {
        let (channel, _server) = connected().await;
        let request = Request::new(message("")).timeout(Duration::ZERO);
        assert_eq!(unary(&channel, request).await.unwrap_err().code(), Code::DeadlineExceeded);
        let mut request = Request::new(message(""));
        request.set_deadline(Some(tokio::time::Instant::now().into_std()));
        assert_eq!(list(&channel, request).await.unwrap_err().code(), Code::DeadlineExceeded);
    });
}

#[test]
fn bug_38_a_cancel_of_the_peer_at_the_deadline_is_the_deadline() {
    // wire-rules 71, bug-reports 38
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let request = Request::new(message("")).timeout(Duration::from_secs(2));
        let (reply, ()) = tokio::join!(unary(&channel, request), async {
            let stream = server.request().await.stream;
            tokio::time::sleep(Duration::from_secs(2)).await;
            server.reset(stream, ErrorCode::CANCEL).await;
        });
        assert_eq!(reply.unwrap_err().code(), Code::DeadlineExceeded);
    });
}

/// A codec with a bug.
#[derive(Debug)]
struct Panicking;

impl Codec<Bytes> for Panicking {
    fn encode<E: EncodeTarget>(value: &Bytes, target: &mut E) -> Result<(), EncodeError> {
        target.begin(value.len() + 1)?.put_slice(value);
        panic!("a bug in the codec");
    }

    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
        Ok(body.into_bytes())
    }
}

#[test]
fn a_panic_in_a_codec_leaves_no_stream_behind() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let other = channel.clone();
        let call = tokio::spawn(async move {
            let request = Request::new(message("x"));
            peregrine_client::unary::<Panicking, Bytes, Bytes>(&other, &UNARY, request).await
        });
        assert!(call.await.unwrap_err().is_panic());
        let stream = server.request_head().await.stream;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        // The connection is as good as before.
        let (reply, ()) = tokio::join!(unary(&channel, message("y")), async {
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body, b"\0\0\0\0\x01y");
            server.reply(stream, b"").await;
        });
        reply.unwrap();
    });
}

#[test]
fn a_panic_in_a_source_ends_the_call() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (panic, told) = tokio::sync::oneshot::channel::<()>();
        let source = peregrine_core::unfold(Some(told), |told| async {
            let _now = told?.await;
            panic!("a bug in the source");
            #[expect(unreachable_code, reason = "gives the stream its type")]
            Some((Bytes::new(), None))
        });
        let mut replies = chat(&channel, source).await.unwrap();
        let stream = server.request_head().await.stream;
        panic.send(()).unwrap();
        let status = replies.message().await.unwrap_err();
        assert_eq!(status.code(), Code::Cancelled);
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
}

#[test]
fn all_calls_are_send() {
    fn check<T: Send>(_: T) {}
    let (builder, _acceptor) = pair();
    let channel = builder.build().unwrap();
    check(channel.ready());
    check(unary(&channel, message("")));
    check(list(&channel, message("")));
    check(collect(&channel, iter([message("")])));
    check(chat(&channel, iter([message("")])));
    check(peregrine_client::bidi_sender::<BytesCodec, Bytes, Bytes>(&channel, &CHAT));
    check(Box::pin(unary(&channel, message(""))) as Pin<Box<dyn Future<Output = _> + Send>>);
}
