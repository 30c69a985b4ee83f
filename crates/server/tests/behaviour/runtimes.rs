//! The same answers on every runtime: threads, one thread, real sockets; and calls that do not mix.

use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_testkit::peer::message;
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{LeakCheck, Peer, PeerConfig, on_threads, settle};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::{MODES, Stage, code, in_each_mode};

/// One call of each shape, checked.
async fn call_every_shape<IO: AsyncRead + AsyncWrite + Unpin>(peer: &mut Peer<IO>, name: &str) {
    let unary = peer.request(UNARY, &[], &message(name.as_bytes()), true).await;
    let script = [("script", "many 50 100; echo")];
    let down = peer.request(SERVER_STREAM, &script, &message(name.as_bytes()), true).await;
    let up = peer.request(CLIENT_STREAM, &[], &message(b"0123456789").repeat(20), true).await;
    let both = peer.request(BIDI, &[("script", "yield; echo; yield; echo-all")], b"", false).await;
    peer.data(both, &message(b"one"), false).await;
    peer.data(both, &message(b"two"), true).await;
    assert_eq!(peer.reply(both).await.texts(), ["one", "two"]);
    assert_eq!(peer.reply(up).await.texts(), ["20 messages, 200 bytes"]);
    let reply = peer.reply(down).await;
    assert_eq!((reply.messages.len(), reply.texts().last().copied()), (51, Some(name)));
    assert_eq!(peer.reply(unary).await.texts(), [name]);
}

#[test]
fn many_connections_on_several_threads_get_the_same_answers() {
    for mode in MODES {
        on_threads(3, async {
            let stage = Stage::new(mode);
            let served = stage.serve();
            let mut clients = Vec::new();
            for index in 0..8 {
                let mut peer = served.peer().await;
                clients.push(tokio::spawn(async move {
                    for turn in 0..25 {
                        call_every_shape(&mut peer, &format!("{index}/{turn}")).await;
                        let given_up = peer.request(BIDI, &[], &message(b"x"), false).await;
                        assert_eq!(peer.messages(given_up, 1).await.texts(), ["x"]);
                        peer.reset(given_up, ErrorCode::CANCEL).await;
                    }
                }));
            }
            for client in clients {
                client.await.unwrap();
            }
            let counts = stage.journal.until(|counts| counts.ended + counts.cancelled == 8 * 25 * 5).await;
            assert_eq!((counts.started, counts.cancelled), (8 * 25 * 5, 8 * 25), "{mode:?}");
            served.finish([]).await;
        });
    }
}

// wire-rules G4
#[test]
fn interleaved_calls_see_their_own_metadata_and_nobody_elses() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut clients = Vec::new();
        for connection in 0..50 {
            let mut peer = served.peer().await;
            clients.push(tokio::spawn(async move {
                for _ in 0..10 {
                    let mut calls = Vec::new();
                    for call in 0..20 {
                        let value = format!("{connection}/{call}");
                        let script = if call % 2 == 0 { "tell" } else { "yield; tell" };
                        let fields = [("x-id", &*value), ("script", script)];
                        calls.push((peer.request(UNARY, &fields, &message(b""), true).await, value));
                    }
                    for (stream, value) in calls {
                        assert_eq!(peer.reply(stream).await.texts(), [format!("x-id: {value}\n")]);
                    }
                }
            }));
        }
        for client in clients {
            client.await.unwrap();
        }
        served.finish([]).await;
    });
}

// wire-rules G4: the deadline is the call's own, in every shape, and so is cancellation.
#[test]
fn interleaved_calls_have_their_own_deadlines_and_cancellations() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peers = Vec::new();
        for _ in 0..10 {
            peers.push(served.peer().await);
        }
        for round in 0..5_u64 {
            let mut calls = Vec::new();
            for (index, peer) in peers.iter_mut().enumerate() {
                for (shape, path) in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI].into_iter().enumerate() {
                    let seconds = 1 + round * 100 + index as u64 * 4 + shape as u64;
                    let timeout = format!("{seconds}S");
                    let fields = [("grpc-timeout", &*timeout), ("script", "gate; time-left")];
                    let given_up = peer.request(path, &fields, &message(b""), true).await;
                    let kept = peer.request(path, &fields, &message(b""), true).await;
                    peer.reset(given_up, ErrorCode::CANCEL).await;
                    calls.push((index, kept, seconds * 1_000));
                }
            }
            settle().await;
            stage.journal.open_gate(2 * calls.len());
            for (index, stream, left) in calls {
                let reply = peers[index].reply(stream).await;
                let seen: u64 = reply.texts()[0].parse().unwrap();
                // Deadlines are seconds apart, waiting took milliseconds.
                assert!((left - 100..=left).contains(&seen), "connection {index}: {seen} of {left}");
            }
        }
        drop(peers);
        served.finish([]).await;
    });
}

/// Runs a test on the real clock with sockets, on one thread and on several.
fn with_sockets(test: impl AsyncFn()) {
    let (one, mut several) = (Builder::new_current_thread(), Builder::new_multi_thread());
    several.worker_threads(2);
    for mut builder in [one, several] {
        let runtime = builder.enable_all().build().expect("threads and sockets can be had");
        runtime.block_on(async {
            let leaks = LeakCheck::begin();
            tokio::time::timeout(Duration::from_mins(1), test()).await.expect("the test is stuck");
            leaks.assert_none().await;
        });
    }
}

#[test]
fn a_server_on_tcp_knows_its_peers_address() {
    with_sockets(async || {
        for mode in MODES {
            let stage = Stage::new(mode);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = oneshot::channel::<()>();
            let server = stage.server();
            let running = tokio::spawn(async move {
                server.serve_with_shutdown(listener, async { drop(stopped.await) }).await
            });
            let socket = TcpStream::connect(address).await.unwrap();
            let own = socket.local_addr().unwrap().to_string();
            let mut peer = Peer::new(socket, PeerConfig::default());
            peer.start().await;
            call_every_shape(&mut peer, "tcp").await;
            assert_eq!(peer.call(UNARY, &[("script", "peer")], b"").await.texts(), [own]);
            let large = vec![b'x'; 1_000_000];
            let stream = peer.request(UNARY, &[], b"", false).await;
            peer.send_body(stream, &message(&large), true).await;
            let reply = peer.reply(stream).await;
            assert!(reply.code() == code::OK && reply.messages[0] == large);
            stop.send(()).unwrap();
            peer.expect_closed().await;
            assert!(running.await.unwrap().unwrap().is_clean());
        }
    });
}

#[test]
fn a_server_on_a_unix_socket_serves() {
    let place = std::env::temp_dir().join(format!("peregrine-server-{}.sock", std::process::id()));
    with_sockets(async || {
        // The file may be left from the turn before.
        let _ = std::fs::remove_file(&place);
        let stage = Stage::new(peregrine_server::Execution::Auto);
        let listener = UnixListener::bind(&place).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = stage.server();
        let running =
            tokio::spawn(
                async move { server.serve_with_shutdown(listener, async { drop(stopped.await) }).await },
            );
        let mut peer = Peer::new(UnixStream::connect(&place).await.unwrap(), PeerConfig::default());
        peer.start().await;
        call_every_shape(&mut peer, "unix").await;
        stop.send(()).unwrap();
        peer.expect_closed().await;
        assert!(running.await.unwrap().unwrap().is_clean());
        std::fs::remove_file(&place).unwrap();
    });
}
