//! Accepting connections, and ending them.

mod accept_rate;
mod census;
mod opening;
mod pending;
mod per_core;
mod protection;
mod registry;
mod shutdown;

use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use peregrine_core::observe::{ConnectionInfo, Side};
use peregrine_core::{Error, PeerAddr, Phase};
use peregrine_http2::{Config, Connection, Role};
use peregrine_transport::net::{AcceptError, Listener};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::accept_rate::AcceptRate;
use self::census::Census;
use self::opening::Opening;
use self::pending::PendingList;
pub use self::per_core::PerCore;
use self::registry::Registry;
pub use self::shutdown::ShutdownReport;
use crate::call::mailbox::Mailbox;
use crate::connection::{Serving, Shared};

/// Pause after the system ran out of descriptors or memory; the backlog keeps what waits.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// Longer than any server runs: `Duration::MAX`, which users write for that, can be added to no instant.
const FOR_EVER: Duration = Duration::from_hours(100 * 365 * 24);

/// What bounds the connections of a server, however many loops accept them.
struct Bounds {
    census: Arc<Census>,
    pending: Arc<PendingList>,
    /// `None` accepts as fast as connections come.
    rate: Option<Mutex<AcceptRate>>,
}

/// An accept loop and its running connections.
pub(crate) struct Acceptor {
    shared: Arc<Shared>,
    bounds: Arc<Bounds>,
    registry: Arc<Registry>,
    tasks: JoinSet<()>,
    /// Calls whose connection was cut before their end.
    cut_calls: Arc<AtomicUsize>,
    /// Seeds the hashes over bytes that peers choose.
    seeds: RandomState,
}

impl Bounds {
    fn new(shared: &Shared) -> Arc<Self> {
        let options = &shared.options;
        Arc::new(Self {
            census: Arc::default(),
            pending: PendingList::new(options.pending_handshakes),
            rate: options.accept_rate.map(|rate| Mutex::new(AcceptRate::new(rate, Instant::now()))),
        })
    }

    fn with_rate<T>(&self, act: impl FnOnce(&mut AcceptRate) -> T) -> Option<T> {
        let mut rate = self.rate.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(act(&mut rate))
    }
}

impl Acceptor {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let bounds = Bounds::new(&shared);
        Self::within(bounds, shared)
    }

    /// So many loops of one server.
    fn several(shared: &Arc<Shared>, count: usize) -> Vec<Self> {
        let bounds = Bounds::new(shared);
        (0..count).map(|_| Self::within(Arc::clone(&bounds), Arc::clone(shared))).collect()
    }

    fn within(bounds: Arc<Bounds>, shared: Arc<Shared>) -> Self {
        Self {
            bounds,
            registry: Arc::default(),
            tasks: JoinSet::new(),
            cut_calls: Arc::default(),
            seeds: RandomState::new(),
            shared,
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
            let wait = self.rate_wait();
            let accepted = tokio::select! {
                biased;
                () = &mut signal => break,
                accepted = after(wait, listener.accept()) => accepted,
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
            let wait = self.rate_wait();
            let next = after(wait, poll_fn(|cx| incoming.as_mut().poll_next(cx)));
            let next = tokio::select! {
                biased;
                () = &mut signal => break,
                next = next => next,
                // Tasks that have ended hold their memory until they are joined.
                Some(_ended) = self.tasks.join_next() => continue,
            };
            match next {
                Some(Ok(io)) => self.spawn(io, PeerAddr::Unknown),
                // One connection that failed to come about is not the end of the others.
                Some(Err(_error)) => {}
                None => break,
            }
        }
        Ok(self.shut_down().await)
    }

    fn spawn<IO>(&mut self, io: IO, peer: PeerAddr)
    where
        IO: AsyncRead + AsyncWrite + Send + 'static,
    {
        let Some(counted) = self.bounds.census.add(self.shared.options.max_connections) else {
            // Closed at once, so that the client can try elsewhere.
            return self.shared.observe_limit("max_connections", &peer);
        };
        // The runtime's clock, as in the driver, which a test may hold still.
        let now = Instant::now();
        self.bounds.with_rate(|rate| rate.on_accepted(now));
        let connection = Connection::new(Role::Server, self.config(counted.id()), now.into_std());
        let mailbox = Arc::new(Mailbox::default());
        let entry = self.registry.add(counted, &mailbox);
        let cut_calls = Arc::clone(&self.cut_calls);
        let deadline = now + self.shared.options.handshake_timeout.min(FOR_EVER);
        let (pending, cut) = self.bounds.pending.add(&peer);
        if let Some(peer) = cut {
            self.shared.observe_limit("pending_handshakes", &peer);
        }
        let id = pending.id();
        let opening = Opening { _pending: pending, deadline, mailbox: Arc::clone(&mailbox) };
        let info = ConnectionInfo::new(Side::Server, entry.id(), peer);
        let serving = Serving::new(Arc::clone(&self.shared), info, connection, mailbox, cut_calls);
        let secure = &self.shared.options.secure;
        // The entry leaves the registry with the task, however that ends.
        let task = if secure.is_tls() {
            let secure = secure.clone();
            self.tasks.spawn(protection::serve(secure, io, opening, serving, entry))
        } else {
            self.tasks.spawn(opening::serve(io, opening, serving, entry))
        };
        self.bounds.pending.on_spawned(id, task);
    }

    /// How long the next connection has to wait in the backlog.
    fn rate_wait(&self) -> Duration {
        let wait = self.bounds.with_rate(|rate| rate.wait(Instant::now())).unwrap_or_default();
        if !wait.is_zero() {
            self.shared.observe_limit("accept_rate", &PeerAddr::Unknown);
        }
        wait
    }

    /// What a connection starts with.
    fn config(&self, id: u64) -> Config {
        let mut config = self.shared.options.engine.clone();
        config.handshake_timeout = Some(self.shared.options.handshake_timeout);
        let random = self.seeds.hash_one(id);
        config.hash_seed = random;
        config.max_age = config.max_age.map(|age| with_jitter(age, self.seeds.hash_one(random)));
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

/// Runs `future` once `wait` is over.
async fn after<T>(wait: Duration, future: impl Future<Output = T>) -> T {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    future.await
}

/// `age`, up to a tenth shorter or longer, so that connections that began together do not end together (gRFC A9).
fn with_jitter(age: Duration, random: u64) -> Duration {
    let share = random as f64 / u64::MAX as f64;
    age.min(FOR_EVER).mul_f64(0.9 + 0.2 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_spread_by_a_tenth_both_ways() {
        let age = Duration::from_secs(100);
        assert_eq!(with_jitter(age, 0), Duration::from_secs(90));
        assert_eq!(with_jitter(age, u64::MAX), Duration::from_secs(110));
        assert!(with_jitter(Duration::MAX, u64::MAX) > FOR_EVER);
    }
}
