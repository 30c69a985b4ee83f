//! Windows in both directions: nothing leaks, nothing waits for what cannot come, and what is over says so at once.

use std::pin::pin;

use bytes::Bytes;
use peregrine_core::{Code, iter};
use peregrine_http2::frame::{Data, Frame, Setting};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{PeerConfig, Received, ServerPeer};
use peregrine_testkit::{settle, virtual_time};

use crate::{chat, collect, connected, connected_with, list, message, pair, unary};

const CONNECTION: StreamId = StreamId::CONNECTION;

/// A server that gives no window back by itself.
fn holding() -> PeerConfig {
    let mut config = PeerConfig::server();
    config.refill_windows = false;
    config
}

fn gives_window(frame: &Received, of: StreamId) -> u32 {
    match frame {
        Received::WindowUpdate { stream, increment } if *stream == of => *increment,
        _ => 0,
    }
}

/// Sends DATA with padding as far as the client's windows let, and counts it as the client has to (RFC 9113 6.9.1:
/// the pad length octet and the padding are flow-controlled).
async fn send_padded(
    server: &mut ServerPeer,
    stream: StreamId,
    windows: &mut [i64; 2],
    data: &[u8],
    pad: u8,
) {
    let length = data.len() as i64 + 1 + i64::from(pad);
    while windows.iter().any(|window| *window < length) {
        let frame = server.frame().await.expect("the client is there");
        windows[0] += i64::from(gives_window(&frame, CONNECTION));
        windows[1] += i64::from(gives_window(&frame, stream));
    }
    *windows = windows.map(|window| window - length);
    server.send(&[Frame::Data(Data { stream, data, end_stream: false, padding: Some(pad) })]).await;
}

#[test]
fn bug_2_3_padding_is_given_back_to_its_last_octet() {
    // wire-rules 85. 255 octets of padding do not fit in a pad length octet's own count of 256.
    for pad in [0, 1, 200, 255] {
        virtual_time(async {
            let (builder, mut acceptor) = pair();
            let builder = builder.initial_stream_window(65_535).initial_connection_window(65_535);
            let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
            let channel = channel.unwrap();
            let mut replies = list(&channel, message("")).await.unwrap();
            let stream = server.request().await.stream;
            server.head(stream, &[]).await;
            let frames = 3 * 65_535 / (6 + usize::from(pad));
            let sending = async {
                let mut windows = [CONNECTION, stream].map(|id| server.window(id));
                for _ in 0..frames {
                    let data = peregrine_testkit::peer::message(b"");
                    send_padded(&mut server, stream, &mut windows, &data, pad).await;
                }
                server.trailers(stream, &[("grpc-status", "0")]).await;
            };
            let reading = async {
                let mut count = 0;
                while replies.message().await.unwrap().is_some() {
                    count += 1;
                }
                count
            };
            let ((), count) = tokio::join!(sending, reading);
            assert_eq!(count, frames, "with padding of {pad}");
        });
    }
}

#[test]
fn bug_5_a_hundred_uploads_share_a_small_connection_window() {
    virtual_time(async {
        let mut config = PeerConfig::server();
        config.connection_window = 0;
        let (channel, mut server) = connected_with(config).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let channel = channel.clone();
            calls.spawn(async move {
                unary(&channel, Bytes::from(vec![1; 100_000])).await.map(peregrine_core::Response::into_inner)
            });
        }
        let mut bodies = std::collections::HashMap::new();
        while bodies.values().filter(|length| **length == 100_005).count() < 100 {
            match server.next().await {
                Some(Received::Headers { stream, .. }) => drop(bodies.insert(stream, 0)),
                Some(Received::Data { stream, data, end_stream }) => {
                    let length = bodies.entry(stream).or_default();
                    *length += data.len();
                    if end_stream {
                        assert_eq!(*length, 100_005);
                        server.reply(stream, b"whole").await;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        for reply in calls.join_all().await {
            assert_eq!(reply.unwrap(), message("whole"));
        }
    });
}

#[test]
fn bug_6_a_reset_does_not_wait_behind_data_that_has_no_window() {
    virtual_time(async {
        let mut config = holding();
        config.settings.push(Setting::InitialWindowSize(0));
        let (channel, mut server) = connected_with(config).await;
        {
            let mut call = pin!(unary(&channel, Bytes::from(vec![0; 10_000])));
            tokio::select! {
                biased;
                _ = &mut call => panic!("nobody answers"),
                () = settle() => {}
            }
        }
        let stream = server.request_head().await.stream;
        let expected = Received::Reset { stream, code: ErrorCode::CANCEL };
        assert_eq!(server.drain().await, [expected], "RST_STREAM and no data");
    });
}

#[test]
fn bug_7_data_for_calls_that_are_over_does_not_use_up_the_connection() {
    // The client cancels, the server has not heard of it yet and sends on: four times the connection's window.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.initial_connection_window(65_535);
        let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
        let channel = channel.unwrap();
        for _ in 0..16 {
            let replies = list(&channel, message("")).await.unwrap();
            let stream = server.request().await.stream;
            server.head(stream, &[]).await;
            server.message(stream, b"first").await;
            drop(replies);
            // Within the window of the stream, and of the connection as the client gives it back.
            server.send_body(stream, &[0; 16_384], false).await;
        }
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            server.reply(stream, &vec![7; 200_000]).await;
        });
        assert_eq!(reply.unwrap().into_inner().len(), 200_000);
    });
}

#[test]
fn bug_10_messages_around_the_size_of_the_window_arrive() {
    // One byte more or less than what fills the window with its prefix must not stop the stream.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.initial_stream_window(65_535).initial_connection_window(65_535);
        let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
        let channel = channel.unwrap();
        let sizes = [65_522, 65_523, 65_529, 65_530, 65_531, 65_535, 65_536, 131_070];
        let mut replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        let sending = async {
            for size in sizes {
                for _ in 0..3 {
                    server.message(stream, &vec![0; size]).await;
                }
            }
            server.trailers(stream, &[("grpc-status", "0")]).await;
        };
        let reading = async {
            let mut seen = Vec::new();
            while let Some(reply) = replies.message().await.unwrap() {
                seen.push(reply.len());
            }
            seen
        };
        let ((), seen) = tokio::join!(sending, reading);
        assert_eq!(seen, sizes.map(|size| [size; 3]).concat());
    });
}

#[test]
fn bug_12_a_dropped_upload_is_reset_and_leaves_the_windows_to_others() {
    // wire-rules 72, 98
    virtual_time(async {
        let (channel, mut server) = connected_with(holding()).await;
        {
            let source = iter((0..100).map(|_| Bytes::from(vec![0; 10_000])));
            let mut call = pin!(collect(&channel, source));
            tokio::select! {
                biased;
                _ = &mut call => panic!("nobody answers"),
                () = settle() => {}
            }
        }
        let stream = server.request_head().await.stream;
        let mut sent = 0;
        loop {
            match server.next().await {
                Some(Received::Data { data, .. }) => sent += data.len(),
                Some(Received::Reset { stream: reset, code }) => {
                    break assert_eq!((reset, code), (stream, ErrorCode::CANCEL));
                }
                other => panic!("{other:?}"),
            }
        }
        // The stream's window was used up and is not needed any more; what is left of the connection's is there.
        assert_eq!(sent, 65_535);
        let (reply, ()) = tokio::join!(unary(&channel, Bytes::from(vec![0; 60_000])), async {
            let stream = server.request().await.stream;
            server.reply(stream, b"").await;
        });
        reply.unwrap();
    });
}

#[test]
fn bug_13_the_connections_window_is_raised_before_the_first_call() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.initial_stream_window(8 << 20).initial_connection_window(8 << 20);
        let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
        let channel = channel.unwrap();
        settle().await;
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let stream = server.request().await.stream;
            assert_eq!([CONNECTION, stream].map(|id| server.window(id)), [8 << 20; 2]);
            // All of it leaves without waiting for a WINDOW_UPDATE.
            server.head(stream, &[]).await;
            let body = peregrine_testkit::peer::message(&vec![3; (4 << 20) - 5]);
            for piece in body.chunks(16_384) {
                server.data(stream, piece, false).await;
            }
            server.trailers(stream, &[("grpc-status", "0")]).await;
        });
        assert_eq!(reply.unwrap().into_inner().len(), (4 << 20) - 5);
        // The default is larger than the 65,535 that a connection begins with, too.
        let (_channel, server) = connected().await;
        assert_eq!(server.window(CONNECTION), 1 << 20);
    });
}

#[test]
fn bug_15_a_blocked_sender_wakes_when_the_peer_reads() {
    // Both sides send 64 KiB x 100 before either reads.
    const EACH: usize = 65_536;
    const COUNT: usize = 100;
    virtual_time(async {
        let (channel, mut server) = connected_with(holding()).await;
        let source = iter((0..COUNT).map(|_| Bytes::from(vec![0; EACH])));
        let mut replies = chat(&channel, source).await.unwrap();
        let stream = server.request_head().await.stream;
        server.head(stream, &[]).await;
        // The server fills the client's windows; the client has filled the server's.
        let mut left = COUNT * (EACH + 5);
        let body = peregrine_testkit::peer::message(&vec![1; EACH]).repeat(COUNT);
        let first = server.window(stream).min(server.window(CONNECTION)) as usize;
        server.send_body(stream, &body[..first], false).await;
        let mut received = 0;
        for frame in server.drain().await {
            let Received::Data { data, .. } = frame else { panic!("{frame:?}") };
            received += data.len();
        }
        assert_eq!(received, 65_535, "the client is blocked");
        left -= first;
        // Now both read.
        let reading = async {
            for _ in 0..COUNT {
                assert_eq!(replies.message().await.unwrap().unwrap().len(), EACH);
            }
            replies.message().await.unwrap()
        };
        let serving = async {
            let mut rest = &body[body.len() - left..];
            while received < COUNT * (EACH + 5) {
                server.give_window(stream, EACH as u32).await;
                server.give_window(CONNECTION, EACH as u32).await;
                let (now, later) = rest.split_at(rest.len().min(EACH));
                server.send_body(stream, now, false).await;
                rest = later;
                while let Ok(Some(frame)) =
                    tokio::time::timeout(std::time::Duration::from_millis(1), server.next()).await
                {
                    let Received::Data { data, .. } = frame else { panic!("{frame:?}") };
                    received += data.len();
                }
            }
            server.send_body(stream, rest, false).await;
            server.trailers(stream, &[("grpc-status", "0")]).await;
        };
        let (end, ()) = tokio::join!(reading, serving);
        assert_eq!((end, received), (None, COUNT * (EACH + 5)));
    });
}

#[test]
fn a_window_below_zero_is_waited_out() {
    // RFC 9113 6.9.2; wire-rules 83
    virtual_time(async {
        let (channel, mut server) = connected_with(holding()).await;
        let (reply, ()) = tokio::join!(unary(&channel, Bytes::from(vec![0; 100_000])), async {
            let stream = server.request_head().await.stream;
            let mut received = 0;
            while received < 65_535 {
                let Some(Received::Data { data, .. }) = server.next().await else { panic!("no data") };
                received += data.len();
            }
            // The stream owes 65,535 - 1,000; as long as that is not paid back nothing comes.
            server.settings(&[Setting::InitialWindowSize(1_000)]).await;
            server.give_window(CONNECTION, 100_000).await;
            server.give_window(stream, 64_535).await;
            assert_eq!(server.drain().await, []);
            server.give_window(stream, 10).await;
            let frames = server.drain().await;
            let [Received::Data { data, .. }] = &frames[..] else { panic!("{frames:?}") };
            assert_eq!(data.len(), 10);
            server.give_window(stream, 100_000).await;
            server.drain().await;
            server.reply(stream, b"").await;
        });
        reply.unwrap();
    });
}

#[test]
fn a_call_without_window_does_not_hold_up_others() {
    // wire-rules 84
    virtual_time(async {
        let mut config = holding();
        config.settings.push(Setting::InitialWindowSize(1_000));
        let (channel, mut server) = connected_with(config).await;
        let stuck = unary(&channel, Bytes::from(vec![0; 10_000]));
        let others = async {
            for _ in 0..10 {
                unary(&channel, message("small")).await.unwrap();
            }
        };
        let serving = async {
            let first = server.request_head().await.stream;
            for _ in 0..10 {
                let stream = server.request().await.stream;
                server.reply(stream, b"").await;
            }
            server.reset(first, ErrorCode::CANCEL).await;
        };
        let (stuck, (), ()) = tokio::join!(stuck, others, serving);
        assert_eq!(stuck.unwrap_err().code(), Code::Cancelled);
    });
}

#[test]
fn bug_58_66_a_channel_closes_though_its_peer_reads_nothing() {
    // Uploads that wait for the socket, and a channel that nobody holds any more: virtual time would stand still
    // behind a busy loop.
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.write_stall_timeout(std::time::Duration::from_secs(20));
        let config = PeerConfig::with_stream_window(0x7fff_ffff);
        let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept_with(config));
        let channel = channel.unwrap();
        settle().await;
        server.io().set_capacity(0);
        for _ in 0..5 {
            let mut call = pin!(unary(&channel, Bytes::from(vec![0; 1_000_000])));
            tokio::select! {
                biased;
                _ = &mut call => panic!("nobody answers"),
                () = settle() => {}
            }
        }
        drop(channel);
        let begun = tokio::time::Instant::now();
        server.expect_closed().await;
        assert!(begun.elapsed().as_secs() <= 24, "{:?}", begun.elapsed());
    });
}
