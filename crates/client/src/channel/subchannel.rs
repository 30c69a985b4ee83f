//! The connection of a channel to one endpoint, and its states.
//!
//! ```text
//!            a call                   SETTINGS
//!   Idle ───────────────▶ Connecting ──────────▶ Ready
//!    ▲                     │      ▲                │
//!    │             failed  ▼      │ a call, once the wait is over
//!    │                TransientFailure             │
//!    ╰─────────── connection lost, GOAWAY ─────────╯
//! ```
//!
//! Nothing happens without a call: an unused channel makes no attempts. A call that finds the endpoint in
//! `TransientFailure` fails at once with the reason (wire-rules 96), unless it waits for ready; then it waits for
//! the end of the backoff and starts the next attempt.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use peregrine_core::call::CredentialSet;
use peregrine_core::intercept::Interceptors;
use peregrine_core::observe::{ConnectionInfo, Side};
use peregrine_core::{Error, Observe, PeerAddr};
use peregrine_transport::net::Target;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::backoff;
use super::connector::{Connector, Opened};
use super::formats::Formats;
use super::keepalive::KeepaliveTime;
use super::method_options::MethodOptions;
use super::packers::Packers;
use super::secure::Secure;
use crate::connection::driver::Driver;
use crate::connection::{ChannelHead, HttpCodes, Observed, SharedConnection};
use crate::error;

/// How long the peer may take for its part of TLS once the socket is open, and for its SETTINGS once that is done; the
/// connect timeout ends it too.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that go away before a call can be put on them, until the call that waits for one is told, or pauses
/// before each more.
const MAX_MISSED: u32 = 5;

/// What a channel was built with.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) target: Target,
    pub(super) connector: Connector,
    pub(super) secure: Secure,
    pub(super) head: ChannelHead,
    pub(super) packers: Arc<Packers>,
    pub(super) connect_timeout: Duration,
    pub(super) formats: Formats,
    pub(super) methods: MethodOptions,
    pub(super) stream_batch_size: usize,
    pub(super) interceptors: Interceptors,
    pub(super) credentials: CredentialSet,
    /// There are interceptors or credentials.
    pub(super) is_accompanied: bool,
    /// What every connection's engine starts with; [`Attempt::engine`] adds what is each connection's own.
    pub(super) engine: peregrine_http2::Config,
    pub(super) keepalive: Arc<KeepaliveTime>,
    pub(super) observer: Option<Arc<dyn Observe>>,
    /// The same, if it wants to be told of every message.
    pub(super) message_observer: Option<Arc<dyn Observe>>,
    pub(super) http_codes: HttpCodes,
}

/// The connection to one endpoint.
#[derive(Debug)]
pub(super) struct Subchannel {
    pub(super) config: Arc<Config>,
    state: Mutex<State>,
    /// Told of every change of state.
    changed: Notify,
    /// Connections made so far.
    opened: AtomicU64,
}

#[derive(Debug)]
enum State {
    Idle,
    Connecting {
        /// The attempt's task, once it is spawned.
        task: Option<AbortHandle>,
        /// Why the attempt before it failed, if it did.
        before: Option<Error>,
    },
    Ready(Arc<SharedConnection>),
    TransientFailure {
        error: Error,
        /// When the next attempt may start.
        until: Instant,
        /// In a row.
        failures: u32,
    },
}

impl Subchannel {
    pub(super) fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config: Arc::new(config),
            state: Mutex::new(State::Idle),
            changed: Notify::new(),
            opened: AtomicU64::new(0),
        })
    }

    /// The connection, if there is one already.
    #[inline]
    pub(super) fn ready(&self) -> Option<Arc<SharedConnection>> {
        match &*self.lock() {
            State::Ready(connection) if connection.accepts_calls() => Some(Arc::clone(connection)),
            _ => None,
        }
    }

    /// The connection, made first if there is none.
    ///
    /// # Errors
    /// Why the last attempt failed, and how long until the next one; never if `wait_for_ready`.
    pub(super) async fn connection(
        self: &Arc<Self>,
        wait_for_ready: bool,
    ) -> Result<Arc<SharedConnection>, (Error, Duration)> {
        // Connections that came about and were gone before this call could look.
        let mut missed = 0_u32;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            match self.look(wait_for_ready)? {
                Look::Ready(connection) => return Ok(connection),
                Look::Wait(None) => {
                    changed.await;
                    missed = missed.saturating_add(u32::from(self.is_gone()));
                    // Without a pause this is a storm of connections (wire-rules 96).
                    match missed.checked_sub(MAX_MISSED) {
                        None | Some(0) => {}
                        Some(pauses) if wait_for_ready => tokio::time::sleep(backoff::wait(pauses)).await,
                        Some(_) => return Err((error::keeps_closing(&self.config.target), Duration::ZERO)),
                    }
                }
                Look::Wait(Some(until)) => {
                    let _either = tokio::time::timeout_at(until.into(), changed).await;
                }
            }
        }
    }

    /// Why the last attempt failed, while there is no connection: what a call waits for in vain.
    pub(super) fn last_failure(&self) -> Option<Error> {
        match &*self.lock() {
            State::TransientFailure { error, .. } => Some(error.clone()),
            State::Connecting { before, .. } => before.clone(),
            State::Idle | State::Ready(_) => None,
        }
    }

    /// Whether a connection has come and gone.
    fn is_gone(&self) -> bool {
        match &*self.lock() {
            State::Idle => true,
            State::Ready(connection) => !connection.accepts_calls(),
            State::Connecting { .. } | State::TransientFailure { .. } => false,
        }
    }

    /// One look at the state; starts an attempt if it is time for one.
    fn look(self: &Arc<Self>, wait_for_ready: bool) -> Result<Look, (Error, Duration)> {
        let mut state = self.lock();
        match &*state {
            State::Ready(connection) if connection.accepts_calls() => {
                return Ok(Look::Ready(Arc::clone(connection)));
            }
            State::Connecting { .. } => return Ok(Look::Wait(None)),
            State::TransientFailure { error, until, .. } => {
                let now = now();
                if *until > now {
                    if wait_for_ready {
                        return Ok(Look::Wait(Some(*until)));
                    }
                    return Err((error.clone(), *until - now));
                }
            }
            State::Ready(_) | State::Idle => {}
        }
        let (failures, before) = match &*state {
            State::TransientFailure { failures, error, .. } => (*failures, Some(error.clone())),
            _ => (0, None),
        };
        let Ok(runtime) = Handle::try_current() else { return Err((error::no_runtime(), Duration::ZERO)) };
        *state = State::Connecting { task: None, before };
        drop(state);
        self.spawn_attempt(&runtime, failures)
    }

    /// Starts an attempt. Without the lock: a runtime that is shutting down drops the task on the spot, and a
    /// dropped attempt reports itself.
    fn spawn_attempt(self: &Arc<Self>, runtime: &Handle, failures: u32) -> Result<Look, (Error, Duration)> {
        let task = runtime.spawn(Attempt::new(self, failures).run());
        match &mut *self.lock() {
            State::Connecting { task: place, .. } => *place = Some(task.abort_handle()),
            State::Idle if task.is_finished() => return Err((error::no_runtime(), Duration::ZERO)),
            _ => {}
        }
        Ok(Look::Wait(None))
    }

    fn on_ready(&self, connection: &Arc<SharedConnection>) {
        self.set(State::Ready(Arc::clone(connection)));
    }

    fn on_failed(&self, error: Error, failures: u32) {
        let wait = backoff::wait(failures);
        let until = now() + wait;
        self.set(State::TransientFailure { error, until, failures });
    }

    /// The connection takes no more calls; the next one makes another.
    fn on_lost(&self, connection: &Arc<SharedConnection>) {
        let is_current = matches!(&*self.lock(), State::Ready(current) if Arc::ptr_eq(current, connection));
        if is_current {
            self.set(State::Idle);
        }
    }

    /// The attempt ended without a result: its runtime is gone.
    fn on_abandoned(&self) {
        let is_connecting = matches!(&*self.lock(), State::Connecting { .. });
        if is_connecting {
            self.set(State::Idle);
        }
    }

    fn set(&self, state: State) {
        // The old state, a connection perhaps, is dropped outside of the lock.
        let _old = std::mem::replace(&mut *self.lock(), state);
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subchannel {
    fn drop(&mut self) {
        match self.state.get_mut().unwrap_or_else(PoisonError::into_inner) {
            State::Connecting { task: Some(attempt), .. } => attempt.abort(),
            State::Ready(connection) => connection.shut_down(now()),
            State::Idle | State::Connecting { task: None, .. } | State::TransientFailure { .. } => {}
        }
    }
}

/// What a look at the state found.
enum Look {
    Ready(Arc<SharedConnection>),
    /// Wait for a change, at most until then.
    Wait(Option<Instant>),
}

/// One attempt to connect and, if it succeeds, the life of the connection. Holds no share of the subchannel: the
/// last handle of the channel ends the attempt, or lets the connection drain.
struct Attempt {
    subchannel: Weak<Subchannel>,
    config: Arc<Config>,
    /// Attempts that failed before this one, in a row.
    failures: u32,
    begun: tokio::time::Instant,
    is_reported: bool,
}

impl Attempt {
    fn new(subchannel: &Arc<Subchannel>, failures: u32) -> Self {
        Self {
            subchannel: Arc::downgrade(subchannel),
            config: Arc::clone(&subchannel.config),
            failures,
            begun: tokio::time::Instant::now(),
            is_reported: false,
        }
    }

    async fn run(mut self) {
        match self.open().await {
            Ok(Opened::Socket(stream, peer)) => self.live(stream, peer).await,
            Ok(Opened::Boxed(stream, peer)) => self.live(stream, peer).await,
            Err(error) => self.report_failure(error),
        }
    }

    async fn open(&self) -> Result<Opened, Error> {
        let config = &self.config;
        let opened = config.connector.open(&config.target, config.connect_timeout).await?;
        config.secure.secure(opened, &config.target, self.patience()).await
    }

    /// How long the peer may take for the next step: TLS, then the start of HTTP/2.
    fn patience(&self) -> Duration {
        self.config.connect_timeout.saturating_sub(self.begun.elapsed()).min(START_TIMEOUT)
    }

    async fn live<IO: AsyncRead + AsyncWrite + Unpin>(&mut self, stream: IO, peer: PeerAddr) {
        let silence = self.patience();
        let keepalive = Arc::clone(&self.config.keepalive);
        let http_codes = self.config.http_codes.clone();
        let (engine, observed) = (self.engine(silence), self.observed(peer));
        let packers = Arc::clone(&self.config.packers);
        let connection =
            SharedConnection::new(engine, observed, keepalive, http_codes, packers, Handle::current(), now());
        let mut driver = Driver::new(stream, Arc::clone(&connection));
        if let Err((error, closed)) = driver.start(silence).await {
            let error = self.config.secure.refusal(&self.config.target, &closed).unwrap_or(error);
            let error = if error.peer().is_none() { error.with_peer(&self.config.target) } else { error };
            self.report_failure(error);
            driver.take_leave(&closed).await;
            return;
        }
        let Some(subchannel) = self.subchannel.upgrade() else { return };
        self.is_reported = true;
        subchannel.on_ready(&connection);
        drop(subchannel);
        let closed = driver.run().await;
        if let Some(subchannel) = self.subchannel.upgrade() {
            subchannel.on_lost(&connection);
        }
        driver.take_leave(&closed).await;
    }

    fn engine(&self, silence: Duration) -> peregrine_http2::Config {
        let mut engine = self.config.engine.clone();
        engine.keepalive = self.config.keepalive.now();
        engine.handshake_timeout = Some(silence);
        engine.hash_seed = backoff::random();
        engine
    }

    fn observed(&self, peer: PeerAddr) -> Observed {
        // Without a channel nobody counts on.
        let opened = self.subchannel.upgrade().map_or(0, |all| all.opened.fetch_add(1, Ordering::Relaxed));
        let info = ConnectionInfo::new(Side::Client, opened + 1, peer);
        Observed::new(self.config.observer.clone(), info, &self.config.target)
    }

    fn report_failure(&mut self, error: Error) {
        self.is_reported = true;
        if let Some(subchannel) = self.subchannel.upgrade() {
            let failures = self.failures.saturating_add(1);
            let error = error.with_attempt(failures).with_elapsed(self.begun.elapsed());
            subchannel.on_failed(error, failures);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.is_reported
            && let Some(subchannel) = self.subchannel.upgrade()
        {
            subchannel.on_abandoned();
        }
    }
}

/// The runtime's clock, so that tests can hold it.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
