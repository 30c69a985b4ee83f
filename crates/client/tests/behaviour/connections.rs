//! How a channel gets, keeps, loses and replaces its connection.

use std::error::Error as _;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use peregrine_client::Channel;
use peregrine_core::{Code, Error, Phase, Request, Status, iter};
use peregrine_http2::ErrorCode;
use peregrine_http2::frame::Setting;
use peregrine_testkit::peer::{Asked, PeerConfig, Received};
use peregrine_testkit::{on_threads, settle, virtual_time};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{collect, connected, connected_with, list, message, pair, unary};

/// What `connect()` says about a peer that does `script` with the raw connection.
fn connect_to(script: impl AsyncFnOnce(&mut peregrine_testkit::PipeEnd)) -> Error {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let served = async {
            let mut end = acceptor.accept_raw().await;
            script(&mut end).await;
            end
        };
        let (connected, _end) = tokio::join!(builder.connect(), served);
        connected.expect_err("that is no gRPC server")
    })
}

/// The [`Error`] that a status carries as its source.
fn cause(status: &Status) -> &Error {
    status.source().and_then(|source| source.downcast_ref()).expect("the status has a cause")
}

#[test]
fn a_closed_port_is_named_with_the_next_step() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let target = format!("http://127.0.0.1:{port}");
        let error = Channel::connect(target.as_str()).await.unwrap_err();
        assert_eq!(error.phase(), Phase::Connect);
        assert_eq!(error.to_string(), format!("could not connect to 127.0.0.1:{port}: connection refused"));
        assert_eq!(error.attempt(), 1);
        assert!(error.elapsed().is_some() && error.hint().is_some() && error.source().is_some());
        // A call says the same, and carries the error.
        let channel = Channel::builder(target).build().unwrap();
        let status = unary(&channel, message("")).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(cause(&status).phase(), Phase::Connect);
        assert!(status.message().contains("connection refused"), "{status}");
    });
}

#[test]
fn a_name_that_does_not_resolve_is_named() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // RFC 6761: this top-level domain never resolves.
        let error = Channel::connect("nowhere.invalid:50051").await.unwrap_err();
        assert_eq!(error.phase(), Phase::Resolve);
        assert!(error.to_string().contains("nowhere.invalid:50051"), "{error}");
    });
}

#[test]
fn a_target_that_is_none_is_a_mistake_of_the_caller() {
    // With TLS compiled in, such a target trusts the system's authorities.
    #[cfg(not(feature = "tls"))]
    {
        let error = Channel::builder("https://localhost:50051").build().unwrap_err();
        assert_eq!(error.phase(), Phase::Config);
        assert!(error.to_string().contains("TLS"), "{error}");
    }
    let error = Channel::builder("localhost:1").user_agent("a\r\nb: c").build().unwrap_err();
    assert_eq!(error.phase(), Phase::Config);
}

#[test]
fn an_http_1_server_is_recognised() {
    let error = connect_to(async |end| {
        end.read_u8().await.unwrap();
        end.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    });
    assert_eq!(error.phase(), Phase::Http2Start);
    assert!(error.message().contains("HTTP/1.1 400 Bad Request"), "{error}");
}

#[test]
fn a_tls_server_is_recognised_by_its_alert() {
    // The peer does not close: its alert is enough.
    let error = connect_to(async |end| end.write_all(b"\x15\x03\x03\0\x02\x02\x46").await.unwrap());
    assert!(error.message().contains("TLS"), "{error}");
    assert!(error.elapsed().unwrap() < Duration::from_secs(1));
}

#[test]
fn a_peer_that_hangs_up_in_the_handshake_is_told() {
    let error = connect_to(async |end| end.shutdown().await.unwrap());
    assert!(error.message().contains("closed the connection before HTTP/2 began"), "{error}");
    let error = connect_to(async |end| end.cut());
    assert!(error.message().contains("closed the connection before HTTP/2 began"), "{error}");
}

#[test]
fn a_silent_peer_is_told_after_ten_seconds() {
    let error = connect_to(async |_| {});
    assert!(error.message().contains("said nothing for 10.0s"), "{error}");
    assert!(error.elapsed().unwrap() >= Duration::from_secs(10));
}

#[test]
fn the_connect_timeout_covers_the_handshake() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let connecting = builder.connect_timeout(Duration::from_secs(3)).connect();
        let (connected, _end) = tokio::join!(connecting, acceptor.accept_raw());
        assert!(connected.unwrap_err().message().contains("said nothing for 3.0s"));
    });
}

#[test]
fn bug_53_a_call_after_goaway_goes_to_a_new_connection() {
    // wire-rules 75, bug-reports 53: in the same tick, without an error.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut first = acceptor.accept().await;
            let stream = first.request().await.stream;
            first.reply(stream, b"first").await;
            first.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
            let mut second = acceptor.accept().await;
            let stream = second.request().await.stream;
            second.reply(stream, b"second").await;
            (first, second)
        };
        let calls = async {
            assert_eq!(unary(&channel, message("")).await.unwrap().get_ref(), &message("first"));
            assert_eq!(unary(&channel, message("")).await.unwrap().get_ref(), &message("second"));
        };
        let _served = tokio::join!(served, calls).0;
        assert_eq!(acceptor.connections(), 2);
    });
}

#[test]
fn bug_55_calls_above_the_last_stream_of_a_goaway_are_made_again() {
    // wire-rules 75, bug-reports 55
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut first = acceptor.accept().await;
            let stream = first.request().await.stream;
            first.request().await;
            first.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
            first.reply(stream, b"first").await;
            let mut second = acceptor.accept().await;
            let stream = second.request().await.stream;
            second.reply(stream, b"second").await;
            (first, second)
        };
        let calls = async { tokio::join!(unary(&channel, message("a")), unary(&channel, message("b"))) };
        let ((a, b), _served) = tokio::join!(calls, served);
        assert_eq!(a.unwrap().get_ref(), &message("first"));
        assert_eq!(b.unwrap().get_ref(), &message("second"));
    });
}

#[test]
fn a_refused_call_is_made_again_once() {
    // wire-rules 67
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body, b"\0\0\0\0\x01a");
            server.reply(stream, b"").await;
            for _ in 0..2 {
                let stream = server.request().await.stream;
                server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            }
            server
        };
        let calls = async {
            unary(&channel, message("a")).await.unwrap();
            let status = unary(&channel, message("b")).await.unwrap_err();
            assert_eq!(status.code(), Code::Unavailable);
            assert!(status.message().contains("without processing"), "{status}");
        };
        let _server = tokio::join!(served, calls).0;
    });
}

#[test]
fn a_refused_server_stream_is_made_again() {
    // wire-rules 67
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body, b"\0\0\0\0\x01a");
            server.reply(stream, b"b").await;
            server
        };
        let calls = async {
            let mut replies = list(&channel, message("a")).await.unwrap();
            assert_eq!(replies.message().await.unwrap(), Some(message("b")));
            assert_eq!(replies.message().await.unwrap(), None);
        };
        let _server = tokio::join!(served, calls).0;
    });
}

#[test]
fn a_server_stream_whose_second_start_fails_ends_with_the_reason() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut first = acceptor.accept().await;
            first.request().await;
            first.go_away(ErrorCode::NO_ERROR).await;
            let second = acceptor.accept_raw().await;
            second.cut();
            first
        };
        let call = async { list(&channel, message("a")).await.unwrap().message().await.unwrap_err() };
        let (status, _first) = tokio::join!(call, served);
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(cause(&status).phase(), Phase::Http2Start);
    });
}

#[test]
fn a_lost_connection_ends_its_calls_and_is_replaced() {
    // wire-rules 81
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut first = acceptor.accept().await;
            first.request().await;
            first.io().cut();
            let mut second = acceptor.accept().await;
            let stream = second.request().await.stream;
            second.reply(stream, b"").await;
            second
        };
        let calls = async {
            let status = unary(&channel, message("")).await.unwrap_err();
            assert_eq!(status.code(), Code::Unavailable);
            assert_eq!(cause(&status).phase(), Phase::Call);
            unary(&channel, message("")).await.unwrap();
        };
        let _second = tokio::join!(served, calls).0;
    });
}

#[test]
fn a_connection_closed_while_idle_costs_no_call() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        for _ in 0..3 {
            let (reply, server) = tokio::join!(unary(&channel, message("")), async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.reply(stream, b"").await;
                server
            });
            reply.unwrap();
            drop(server);
        }
        assert_eq!(acceptor.connections(), 3);
    });
}

#[test]
fn what_the_peer_says_in_goaway_is_passed_on() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.go_away_after(stream, ErrorCode::ENHANCE_YOUR_CALM, b"too_many_pings").await;
        };
        let (reply, ()) = tokio::join!(unary(&channel, message("")), served);
        let status = reply.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("too_many_pings"), "{status}");
        assert!(status.message().contains("ENHANCE_YOUR_CALM"), "{status}");
    });
}

#[test]
fn failing_attempts_wait_longer_each_time_and_calls_fail_fast_meanwhile() {
    // wire-rules 96
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let cutting = async {
            for _ in 0..2 {
                acceptor.accept_raw().await.cut();
            }
            acceptor
        };
        let calls = async {
            let first = unary(&channel, message("")).await.unwrap_err();
            assert_eq!(cause(&first).attempt(), 1);
            // Within 0.8 s no attempt is made, whatever the jitter.
            let second = unary(&channel, message("")).await.unwrap_err();
            assert_eq!(cause(&second).attempt(), 1);
            assert!(second.message().contains("next attempt in"), "{second}");
            tokio::time::advance(Duration::from_millis(1200)).await;
            let third = unary(&channel, message("")).await.unwrap_err();
            assert_eq!(cause(&third).attempt(), 2);
            tokio::time::advance(Duration::from_millis(1200)).await;
            let fourth = unary(&channel, message("")).await.unwrap_err();
            assert_eq!(cause(&fourth).attempt(), 2, "1.6 s less a fifth have not passed");
        };
        let (acceptor, ()) = tokio::join!(cutting, calls);
        assert_eq!(acceptor.connections(), 2);
    });
}

#[test]
fn a_call_that_waits_for_ready_outlives_failing_attempts() {
    // wire-rules 96
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            for _ in 0..3 {
                acceptor.accept_raw().await.cut();
            }
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.reply(stream, b"").await;
            server
        };
        let request = Request::new(message("")).wait_for_ready();
        let (reply, _server) = tokio::join!(unary(&channel, request), served);
        reply.unwrap();
    });
}

#[test]
fn calls_beyond_the_stream_limit_wait_their_turn() {
    // wire-rules 82
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let served = async {
            let mut config = PeerConfig::server();
            config.settings = vec![Setting::MaxConcurrentStreams(2)];
            let mut server = acceptor.accept_with(config).await;
            let mut open = Vec::new();
            for _ in 0..9 {
                let Asked { stream, body, .. } = server.request().await;
                open.push((stream, body));
                if open.len() == 2 {
                    let third = tokio::time::timeout(Duration::from_millis(1), server.request_head());
                    assert!(third.await.is_err(), "a third stream");
                    let (stream, body) = open.remove(0);
                    server.reply(stream, &body[5..]).await;
                }
            }
            for (stream, body) in open {
                server.reply(stream, &body[5..]).await;
            }
            server
        };
        let calls = async {
            let mut calls = tokio::task::JoinSet::new();
            for text in ["0", "1", "2", "3", "4", "5", "6", "7", "8"] {
                let channel = channel.clone();
                calls.spawn(async move { unary(&channel, message(text)).await });
            }
            let replies = calls.join_all().await;
            assert!(replies.iter().all(Result::is_ok), "{replies:?}");
        };
        let _server = tokio::join!(served, calls).0;
    });
}

#[test]
fn a_waiting_call_gives_its_turn_away_when_it_is_dropped() {
    // wire-rules 82, 98
    virtual_time(async {
        let mut config = PeerConfig::server();
        config.settings = vec![Setting::MaxConcurrentStreams(1)];
        let (channel, mut server) = connected_with(config).await;
        let served = async {
            let stream = server.request().await.stream;
            settle().await;
            server.reply(stream, b"").await;
            let Asked { stream, body, .. } = server.request().await;
            assert_eq!(body, b"\0\0\0\0\x01c");
            server.reply(stream, b"").await;
        };
        let calls = async {
            let first = unary(&channel, message("a"));
            let second = async {
                // In the queue while the first holds the only stream; dropped before that ends.
                let mut second = pin!(unary(&channel, message("b")));
                tokio::select! {
                    biased;
                    reply = &mut second => panic!("{reply:?}"),
                    () = tokio::task::yield_now() => {}
                }
            };
            let third = unary(&channel, message("c"));
            let (first, (), third) = tokio::join!(biased; first, second, third);
            first.unwrap();
            third.unwrap();
        };
        tokio::join!(served, calls);
    });
}

#[test]
fn dropping_the_channel_lets_calls_finish_and_closes_the_connection() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let (replies, mut server) = tokio::join!(list(&channel, message("")), acceptor.accept());
        let mut replies = replies.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        replies.headers().await.unwrap();
        drop(channel);
        assert!(matches!(server.next().await, Some(Received::GoAway { code: ErrorCode::NO_ERROR, .. })));
        server.message(stream, b"still here").await;
        server.trailers(stream, &[("grpc-status", "0")]).await;
        assert_eq!(replies.message().await.unwrap(), Some(message("still here")));
        assert_eq!(replies.message().await.unwrap(), None);
        assert_eq!(server.next().await, None);
    });
}

#[test]
fn dropping_the_channel_ends_an_attempt_to_connect() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        {
            let mut call = pin!(unary(&channel, message("")));
            tokio::select! {
                biased;
                _ = &mut call => panic!("there is no connection"),
                () = settle() => {}
            }
        }
        drop(channel);
        let mut end = acceptor.accept_raw().await;
        let mut rest = Vec::new();
        end.read_to_end(&mut rest).await.unwrap();
        assert!(rest.starts_with(b"PRI * HTTP/2.0"));
    });
}

#[test]
fn the_requests_of_many_calls_leave_in_few_writes() {
    // wire-rules B7
    virtual_time(async {
        let (channel, mut server) = connected().await;
        settle().await;
        let before = server.io().writes_of_other_end();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..32 {
            let channel = channel.clone();
            calls.spawn(async move { unary(&channel, message("x")).await });
        }
        for _ in 0..32 {
            let stream = server.request().await.stream;
            server.reply(stream, b"").await;
        }
        let writes = server.io().writes_of_other_end() - before;
        assert!(writes <= 2, "{writes} writes for 32 requests");
        assert!(calls.join_all().await.iter().all(Result::is_ok));
    });
}

#[test]
fn the_batches_of_many_request_streams_leave_in_one_write() {
    // wire-rules B7
    virtual_time(async {
        let (channel, mut server) = connected().await;
        settle().await;
        let before = server.io().writes_of_other_end();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let channel = channel.clone();
            let source = iter((0..16).map(|_| bytes::Bytes::from_static(&[0; 64])));
            calls.spawn(async move { collect(&channel, source).await });
        }
        let mut streams = Vec::new();
        for _ in 0..20 {
            let asked = server.request().await;
            assert_eq!(asked.body.len(), 16 * 69);
            streams.push(asked.stream);
        }
        let writes = server.io().writes_of_other_end() - before;
        assert!(writes <= 2, "{writes} writes for the batches of 20 streams");
        for stream in streams {
            server.reply(stream, b"").await;
        }
        assert!(calls.join_all().await.iter().all(Result::is_ok));
    });
}

#[test]
fn calls_from_many_threads_share_a_connection() {
    on_threads(2, async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let mut config = PeerConfig::server();
        config.settings = vec![Setting::MaxConcurrentStreams(20)];
        let served = tokio::spawn(async move {
            let mut server = acceptor.accept_with(config).await;
            let mut bodies = std::collections::HashMap::new();
            loop {
                match server.next().await {
                    Some(Received::Data { stream, data, end_stream }) => {
                        let body: &mut Vec<u8> = bodies.entry(stream).or_default();
                        body.extend_from_slice(&data);
                        if end_stream {
                            let body = bodies.remove(&stream).unwrap_or_default();
                            server.reply(stream, &body[5..]).await;
                        }
                    }
                    None => return acceptor.connections(),
                    _ => {}
                }
            }
        });
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..50_u32 {
            let channel = channel.clone();
            tasks.spawn(async move {
                for call in 0..40_u32 {
                    let text = format!("{task}/{call}").repeat(1 + (call as usize % 7) * 300);
                    let reply = unary(&channel, bytes::Bytes::from(text.clone())).await.unwrap();
                    assert_eq!(reply.get_ref()[..], *text.as_bytes());
                }
            });
        }
        tasks.join_all().await;
        drop(channel);
        assert_eq!(served.await.unwrap(), 1);
    });
}

#[test]
fn a_call_outside_of_a_runtime_says_so() {
    let (builder, _acceptor) = pair();
    let channel = builder.build().unwrap();
    let mut call = pin!(unary(&channel, message("")));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(status)) = call.as_mut().poll(&mut cx) else { panic!("no answer") };
    assert!(status.message().contains("no tokio runtime"), "{status}");
}

#[test]
fn a_channel_outlives_the_runtime_that_connected_it() {
    let (builder, mut acceptor) = pair();
    let channel = builder.build().unwrap();
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let served = async {
                let mut server = acceptor.accept().await;
                let stream = server.request().await.stream;
                server.reply(stream, b"").await;
                server
            };
            let (reply, _server) = tokio::join!(unary(&channel, message("")), served);
            reply.unwrap();
        });
    }
}

#[test]
fn a_call_on_a_runtime_that_has_ended_fails_and_does_not_hang() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let (done, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let channel = Channel::builder("http://127.0.0.1:1").build().unwrap();
        let ready = handle.block_on(channel.ready());
        done.send((ready, handle.block_on(channel.ready()))).unwrap();
    });
    let (first, second) = outcome.recv_timeout(Duration::from_secs(10)).expect("it hangs");
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(error.phase(), Phase::Connect);
        assert!(error.to_string().contains("runtime"), "{error}");
    }
}
