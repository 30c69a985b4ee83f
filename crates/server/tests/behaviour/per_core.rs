//! The thread-per-core mode, on real threads and sockets.

use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use peregrine_core::InterceptedCall;
use peregrine_server::{Execution, PerCore};
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Peer, PeerConfig};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::{Stage, code};

/// Sockets of two threads, at a free port.
fn two_threads() -> PerCore {
    PerCore::bind_threads("127.0.0.1:0", NonZero::<usize>::MIN.saturating_add(1)).expect("ports can be had")
}

/// Runs a test on the real clock; the server's threads are others.
fn with_sockets(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("sockets can be had");
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_mins(1), test).await.expect("the test is stuck");
    });
}

async fn connect(cores: std::net::SocketAddr) -> Peer<TcpStream> {
    // Until a thread listens, there is nobody to connect to.
    let socket = loop {
        match TcpStream::connect(cores).await {
            Ok(socket) => break socket,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let mut peer = Peer::new(socket, PeerConfig::default());
    peer.start().await;
    peer
}

#[test]
fn a_connection_stays_on_its_thread_and_all_threads_have_some() {
    // By connection, the threads on which its calls were run.
    let seen: Arc<Mutex<HashMap<String, HashSet<String>>>> = Arc::default();
    let stage = Stage::new(Execution::Auto);
    let server = stage.server().interceptor({
        let seen = Arc::clone(&seen);
        move |call: &mut InterceptedCall<'_>| {
            let connection = call.metadata().get("peer").unwrap_or_default().to_owned();
            let thread = thread::current().name().unwrap_or_default().to_owned();
            seen.lock().unwrap().entry(connection).or_default().insert(thread);
            Ok(())
        }
    });
    with_sockets(async {
        let cores = two_threads();
        assert_eq!(cores.threads(), 2);
        let address = cores.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            server.serve_per_core_with_shutdown(cores, async { drop(stopped.await) }).await
        });
        let mut peers = Vec::new();
        // The system deals them out by a hash of their ports: all on one thread is as likely as 64 throws of heads.
        for _ in 0..64 {
            peers.push(connect(address).await);
        }
        for _ in 0..3 {
            for (number, peer) in peers.iter_mut().enumerate() {
                let reply = peer.call(UNARY, &[("peer", &number.to_string())], b"x").await;
                assert_eq!(reply.code(), code::OK);
            }
        }
        stop.send(()).unwrap();
        for mut peer in peers {
            peer.expect_closed().await;
        }
        // wire-rules 77: one shutdown of all threads, one report.
        let report = running.await.unwrap().unwrap();
        assert!(report.is_clean(), "{report}");
        assert_eq!(report.connections, 64);
    });
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 64);
    assert!(seen.values().all(|threads| threads.len() == 1), "{seen:?}");
    assert_eq!(seen.values().flatten().collect::<HashSet<_>>().len(), 2);
}

#[test]
fn a_server_that_is_dropped_takes_its_threads_with_it() {
    with_sockets(async {
        let stage = Stage::new(Execution::Auto);
        let cores = two_threads();
        let address = cores.local_addr();
        let running = tokio::spawn(stage.server().serve_per_core(cores));
        let mut peer = connect(address).await;
        assert_eq!(peer.call(UNARY, &[], b"x").await.code(), code::OK);
        running.abort();
        peer.expect_closed().await;
        let service = Arc::downgrade(&stage.journal);
        drop(stage);
        while service.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn an_address_that_is_taken_is_refused_before_any_thread_starts() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = PerCore::bind(taken.local_addr().unwrap()).unwrap_err();
    assert!(error.to_string().contains(&taken.local_addr().unwrap().to_string()), "{error}");
}
