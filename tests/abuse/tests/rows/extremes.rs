//! What a server must put up with, with default settings: traffic that is legitimate and looks like an attack.

use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_http2::frame::RstStream;
use peregrine_server::Server;
use peregrine_testkit::peer::{Ending, PeerConfig, data_frame, message, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, Served, Slicing, TestService, serve, settle, virtual_time};

fn server() -> Server {
    Server::builder().add_service(TestService::new(std::sync::Arc::default()))
}

fn serve_default() -> Served {
    serve(server())
}

/// The connection answers as if nothing had been.
async fn assert_alive(peer: &mut Peer) {
    let reply = peer.call(UNARY, &[("script", "send alive")], b"").await;
    assert_eq!((reply.code(), reply.texts()), (0, vec!["alive"]));
}

// http2-abuse 29
#[test]
fn extreme_300_parallel_unary_calls_in_one_burst() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        let mut bytes = Vec::new();
        let mut streams = Vec::new();
        for number in 0..300 {
            let stream = peer.open();
            let mut head = request_head(UNARY);
            // Pending once, so that calls are open at the same time and the limit is met.
            head.push(("script".to_owned(), "yield; echo".into()));
            peer.encode_headers(stream, &head, false, &mut bytes);
            data_frame(stream, &message(format!("{number}").as_bytes()), true).encode(&mut bytes);
            streams.push(stream);
        }
        peer.send_bytes(&bytes).await;
        let (mut answered, mut refused) = (0, 0);
        for (number, stream) in streams.into_iter().enumerate() {
            let reply = peer.reply(stream).await;
            match reply.ending {
                Some(Ending::Stream) => {
                    assert_eq!((reply.code(), reply.texts()), (0, vec![&*number.to_string()]));
                    answered += 1;
                }
                Some(Ending::Reset(ErrorCode::REFUSED_STREAM)) => refused += 1,
                other => panic!("call {number} ended with {other:?}"),
            }
        }
        assert!(answered >= 100 && answered + refused == 300, "{answered} answered, {refused} refused");
        assert_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// http2-abuse 12, 15
#[test]
fn extreme_10_000_messages_of_600_bytes_to_a_slow_reader() {
    virtual_time(async {
        let served = serve_default();
        let config = PeerConfig {
            connection_window: 0,
            refill_windows: true,
            ..PeerConfig::with_stream_window(65_535)
        };
        let mut peer = served.peer_with(config).await;
        peer.io().set_capacity(1_000);
        let stream = peer.request(SERVER_STREAM, &[("script", "many 10000 600")], &message(b""), true).await;
        let mut messages = 0;
        let mut frames = 0;
        let mut body = 0;
        loop {
            // A pause each few frames, in which the server fills all that it may.
            if frames % 16 == 0 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            match peer.frame_of(stream).await {
                Some(peregrine_testkit::Received::Data { data, .. }) => {
                    frames += 1;
                    body += data.len();
                    messages = body / 605;
                }
                Some(peregrine_testkit::Received::Headers { end_stream: true, fields, .. }) => {
                    assert!(
                        fields.iter().any(|(name, value)| name == "grpc-status" && value == "0"),
                        "{fields:?}"
                    );
                    break;
                }
                Some(peregrine_testkit::Received::Headers { .. }) => {}
                other => panic!("{other:?} after {messages} messages"),
            }
        }
        assert_eq!((messages, body), (10_000, 10_000 * 605));
        assert_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// http2-abuse 12: the same towards the server, 605 octets a frame, by a handler that reads one message a time.
#[test]
fn extreme_10_000_messages_of_600_bytes_to_a_slow_handler() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        let stream = peer.request(CLIENT_STREAM, &[("script", "sleep 100; count")], b"", false).await;
        let one = message(&[7; 600]);
        for _ in 0..10_000 {
            peer.send_body(stream, &one, false).await;
        }
        peer.send_body(stream, b"", true).await;
        let reply = peer.reply(stream).await;
        assert_eq!(reply.texts(), ["10000 messages, 6000000 bytes"]);
        served.finish([peer]).await;
    });
}

// http2-abuse 1
#[test]
fn extreme_1_000_cancels_a_second_for_ten_seconds() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        for _ in 0..10_000 {
            let stream = peer.request(UNARY, &[("script", "never")], &message(b""), true).await;
            peer.reset(stream, ErrorCode::CANCEL).await;
            // One millisecond.
            settle().await;
        }
        assert!(peer.drain().await.is_empty(), "nothing is said to a client that cancels its calls");
        assert_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// http2-abuse 1: some calls end well, most are cancelled, in bursts.
#[test]
fn extreme_cancels_in_bursts_of_a_hundred() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        for _ in 0..100 {
            let mut bytes = Vec::new();
            for _ in 0..100 {
                let stream = peer.open();
                let mut head = request_head(UNARY);
                head.push(("script".to_owned(), "never".into()));
                peer.encode_headers(stream, &head, true, &mut bytes);
                RstStream { stream, code: ErrorCode::CANCEL }.encode(&mut bytes);
            }
            peer.send_bytes(&bytes).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        peer.drain().await;
        assert_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

#[test]
fn extreme_segments_of_one_byte_for_whole_calls() {
    virtual_time(async {
        let served = serve_default();
        let line = served.connect();
        line.set_slicing(Slicing::Every(1));
        let mut peer = Peer::new(line, PeerConfig::default());
        peer.start().await;
        for path in [UNARY, SERVER_STREAM, BIDI] {
            assert_eq!(peer.call(path, &[], &[b'x'; 1_000]).await.messages, [vec![b'x'; 1_000]]);
        }
        assert_eq!(peer.call(CLIENT_STREAM, &[], b"12345").await.texts(), ["1 messages, 5 bytes"]);
        served.finish([peer]).await;
    });
}

#[test]
fn extreme_100_mebibytes_in_one_stream_with_windows_of_64_kib() {
    virtual_time(async {
        let served = serve(server().initial_stream_window(65_536).initial_connection_window(65_536));
        let config = PeerConfig {
            connection_window: 0,
            refill_windows: true,
            ..PeerConfig::with_stream_window(65_535)
        };
        let mut peer = served.peer_with(config).await;
        // Up.
        let stream = peer.request(CLIENT_STREAM, &[], b"", false).await;
        let one = message(&vec![7; (1 << 20) - 5]);
        for _ in 0..100 {
            peer.send_body(stream, &one, false).await;
        }
        peer.send_body(stream, b"", true).await;
        assert_eq!(peer.reply(stream).await.texts(), ["100 messages, 104857100 bytes"]);
        // Down.
        let script = [("script", "many 100 1048571")];
        let stream = peer.request(SERVER_STREAM, &script, &message(b""), true).await;
        let reply = peer.reply(stream).await;
        assert_eq!((reply.code(), reply.messages.len()), (0, 100));
        served.finish([peer]).await;
    });
}

// http2-abuse 5, 19, 20
#[test]
fn extreme_12_kib_of_metadata_in_40_entries() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        let names: Vec<String> = (0..40).map(|number| format!("x-entry-{number:02}")).collect();
        let value = "v".repeat(296);
        let mut fields: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*value)).collect();
        fields.push(("script", "tell"));
        for _ in 0..5 {
            let reply = peer.call(UNARY, &fields, b"").await;
            assert_eq!(reply.code(), 0);
            assert_eq!(reply.texts()[0].matches(&*value).count(), 40);
        }
        served.finish([peer]).await;
    });
}

// http2-abuse 5, wire-rules 28
#[test]
fn extreme_63_kb_of_metadata_with_the_limit_raised() {
    virtual_time(async {
        let served = serve(server().max_header_list_size(128 * 1024));
        let mut peer = served.peer().await;
        let value = "v".repeat(63_000);
        for _ in 0..5 {
            let reply = peer.call(UNARY, &[("x", &value), ("script", "tell")], b"").await;
            assert_eq!(reply.texts(), [format!("x: {value}\n")]);
        }
        served.finish([peer]).await;
    });
}

// http2-abuse 11: clients that end each request by an empty DATA frame, some after one that ends nothing.
#[test]
fn extreme_an_empty_data_frame_before_the_end_of_every_call() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        for _ in 0..2_000 {
            let stream = peer.request(UNARY, &[], &message(b"x"), false).await;
            peer.data(stream, b"", false).await;
            peer.data(stream, b"", true).await;
            let reply = peer.reply(stream).await;
            assert_eq!(reply.texts(), ["x"], "{reply:?}");
        }
        served.finish([peer]).await;
    });
}

// http2-abuse 8: a client that tunes its windows all the time.
#[test]
fn extreme_ten_settings_frames_a_second_for_ten_minutes() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        for number in 0..6_000_u32 {
            peer.settings(&[peregrine_http2::frame::Setting::InitialWindowSize(65_535 + number)]).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        peer.drain().await;
        assert_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// http2-abuse 3: unlucky timing makes every tenth call look like an offence: DATA after the server has reset it.
#[test]
fn extreme_data_on_the_way_when_calls_end_early() {
    virtual_time(async {
        let served = serve_default();
        let mut peer = served.peer().await;
        for _ in 0..2_000 {
            // The handler fails at once; body and end are still on their way.
            let stream = peer.request(CLIENT_STREAM, &[("script", "refuse 5 early")], b"", false).await;
            peer.data(stream, &message(b"late"), false).await;
            peer.data(stream, b"", true).await;
            assert_eq!(peer.reply(stream).await.code(), 5);
        }
        assert_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}
