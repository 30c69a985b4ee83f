//! Accepting connections, and ending them.

mod registry;
mod shutdown;

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream;
use peregrine_core::observe::{ConnectionInfo, Side};
use peregrine_core::{Error, PeerAddr, Phase};
use peregrine_http2::{Config, Connection, Role};
use peregrine_transport::driver;
use peregrine_transport::net::{AcceptError, Listener};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::registry::Registry;
pub use self::shutdown::ShutdownReport;
use crate::call::mailbox::Mailbox;
use crate::connection::{Serving, Shared};

/// Pause after the system ran out of descriptors or memory; the backlog keeps what waits.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// A server's running connections.
pub(crate) struct Acceptor {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    tasks: JoinSet<()>,
    /// Calls whose connection was cut before their end.
    cut_calls: Arc<AtomicUsize>,
    /// Seeds the hashes over bytes that peers choose.
    seeds: RandomState,
}

impl Acceptor {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            registry: Arc::default(),
            tasks: JoinSet::new(),
            cut_calls: Arc::default(),
            seeds: RandomState::new(),
        }
    }

    /// Accepts from `listener` until `signal` completes, then shuts down gracefully.
    pub(crate) async fn run(
        mut self,
        listener: Listener,
        signal: impl Future<Output = ()>,
    ) -> Result<ShutdownReport, Error> {
        let mut signal = pin!(signal);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut signal => break,
                accepted = listener.accept() => accepted,
                Some(_ended) = self.tasks.join_next() => continue,
            };
            match accepted {
                Ok((stream, peer)) => self.spawn(stream, peer),
                Err(AcceptError::Connection(_)) => {}
                Err(AcceptError::Exhausted(_)) => tokio::time::sleep(EXHAUSTED_PAUSE).await,
                Err(fatal) => {
                    return Err(Error::new(Phase::Serve, "the listening socket cannot accept any more")
                        .with_source(fatal)
                        .with_hint(
                            "bind the address again; another part of the process may have closed the socket",
                        ));
                }
            }
        }
        // New connections are refused from here on; those in the backlog are closed by the system.
        drop(listener);
        Ok(self.shut_down().await)
    }

    /// Serves connections made elsewhere until the stream ends or `signal` completes.
    pub(crate) async fn run_incoming<S, IO, E>(
        mut self,
        incoming: S,
        signal: impl Future<Output = ()>,
    ) -> Result<ShutdownReport, Error>
    where
        S: Stream<Item = Result<IO, E>>,
        IO: AsyncRead + AsyncWrite + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
    {
        let mut incoming = pin!(incoming);
        let mut signal = pin!(signal);
        loop {
            let next = std::future::poll_fn(|cx| {
                if signal.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                incoming.as_mut().poll_next(cx)
            });
            match next.await {
                Some(Ok(io)) => self.spawn(io, PeerAddr::Unknown),
                // One connection that failed to come about is not the end of the others.
                Some(Err(_error)) => {}
                None => break,
            }
            while self.tasks.try_join_next().is_some() {}
        }
        Ok(self.shut_down().await)
    }

    fn spawn<IO>(&mut self, io: IO, peer: PeerAddr)
    where
        IO: AsyncRead + AsyncWrite + Send + 'static,
    {
        // The runtime's clock, as in the driver, which a test may hold still.
        let now = Instant::now().into_std();
        let connection = Connection::new(Role::Server, self.config(), now);
        let mailbox = Arc::new(Mailbox::default());
        let entry = self.registry.add(&mailbox);
        let cut_calls = Arc::clone(&self.cut_calls);
        let info = ConnectionInfo::new(Side::Server, entry.id(), peer);
        let mut serving = Serving::new(Arc::clone(&self.shared), info, connection, mailbox, cut_calls);
        self.tasks.spawn(async move {
            // The entry leaves the registry with the task, however that ends.
            let _entry = entry;
            driver::drive(io, &mut serving).await;
        });
    }

    fn config(&self) -> Config {
        let options = &self.shared.options;
        let mut config = Config::server();
        config.max_concurrent_streams = Some(options.max_concurrent_streams);
        config.max_header_list_size = options.max_header_list_size;
        config.initial_window_size = options.initial_stream_window;
        config.connection_window_size = options.initial_connection_window;
        config.handshake_timeout = Some(options.handshake_timeout);
        config.limits = options.limits.clone();
        config.hash_seed = self.seeds.hash_one(self.registry.opened());
        config
    }

    /// Two-step GOAWAY on every connection, a grace period, then a hard end (wire-rules 77).
    async fn shut_down(mut self) -> ShutdownReport {
        let begun = Instant::now();
        let connections = self.registry.shut_down();
        let drained = async { while self.tasks.join_next().await.is_some() {} };
        let in_time = tokio::time::timeout(self.shared.options.shutdown_grace, drained).await.is_ok();
        let cut_connections = if in_time { 0 } else { self.registry.open() };
        self.tasks.shutdown().await;
        let cut_calls = self.cut_calls.load(Ordering::Relaxed);
        ShutdownReport { connections, cut_connections, cut_calls, elapsed: begun.elapsed() }
    }
}
