//! The task between a socket and a [`SharedConnection`]: it reads, parses, writes and sleeps.
//!
//! One turn: read what the socket has and hand every complete frame to the state, wake the callers whose answers
//! came, fire timers, write everything that has gathered in one system call. Reading happens outside of the lock.
//!
//! Before it writes, the driver lets the other runnable tasks go once: callers that were just woken add their next
//! requests, and the requests of many callers leave in one write.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use peregrine_core::observe::{ConnectionEvent, EndedBy};
use peregrine_core::{Error, PeerAddr, Phase};
use peregrine_http2::ConnectionError;
use peregrine_transport::driver::{Closed, ReadBuffer, Refusals, poll_write_output};
use peregrine_transport::farewell;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;

use super::SharedConnection;
use super::effects::Effects;
use super::handshake;
use super::state::State;

/// Reads of one turn before callers and other tasks get their chance.
const READS_PER_TURN: usize = 8;

/// Drives one connection. Dropped, it ends the calls that are left.
pub(crate) struct Driver<IO> {
    io: IO,
    shared: Arc<SharedConnection>,
    read: ReadBuffer,
    /// What the peer sent first, until it is ready.
    first: Vec<u8>,
    effects: Effects,
    sleep: Pin<Box<Sleep>>,
    /// The instant for which the sleep is armed.
    armed: Option<Instant>,
    /// The other tasks had their chance since output came up.
    has_yielded: bool,
    /// What the observer knows of the engine's refusals.
    refusals: Refusals,
    /// The observer knows that no more calls are taken.
    is_leave_told: bool,
    /// The stream has not passed on all that it took: it was full, and there is more for it in any case.
    holds_back: bool,
    is_closed: bool,
    /// The output holds calls that will be made elsewhere: nothing of it may be sent any more.
    is_mute: bool,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Driver<IO> {
    pub(crate) fn new(io: IO, shared: Arc<SharedConnection>) -> Self {
        shared.observed.connection(&ConnectionEvent::Opened);
        Self {
            io,
            shared,
            read: ReadBuffer::new(),
            first: Vec::new(),
            effects: Effects::default(),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            armed: None,
            has_yielded: false,
            refusals: Refusals::default(),
            is_leave_told: false,
            holds_back: false,
            is_closed: false,
            is_mute: false,
        }
    }

    /// Runs until the peer's first SETTINGS are here: the connection is ready for calls then.
    ///
    /// # Errors
    /// What the peer is instead of a gRPC server, for [`Self::take_leave`] too. `silence` is how long the engine was
    /// told to wait.
    pub(crate) async fn start(&mut self, silence: Duration) -> Result<(), (Error, Closed)> {
        let Err(closed) = poll_fn(|cx| self.poll_turn(cx, Until::Ready)).await else {
            self.first = Vec::new();
            self.shared.observed.connection(&ConnectionEvent::Ready);
            return Ok(());
        };
        let refusal = self.shared.lock().refusal();
        let mut error = match refusal {
            Some(words) => handshake::refused(&words),
            None => handshake::diagnose(&closed, &self.first, silence),
        };
        if *self.shared.peer() != PeerAddr::Unknown {
            error = error.with_peer(self.shared.peer());
        }
        self.close(&error, &closed);
        Err((error, closed))
    }

    /// Runs until the connection is over and its calls have ended.
    pub(crate) async fn run(&mut self) -> Closed {
        let closed = match poll_fn(|cx| self.poll_turn(cx, Until::Closed)).await {
            Ok(()) => Closed::Finished,
            Err(closed) => closed,
        };
        self.close(&lost(&closed).with_shared_peer(Arc::clone(self.shared.name())), &closed);
        closed
    }

    fn poll_turn(&mut self, cx: &mut Context<'_>, until: Until) -> Poll<Result<(), Closed>> {
        // The runtime's clock, so that tests can hold it.
        let now = tokio::time::Instant::now().into_std();
        let mut has_more_input = true;
        for _ in 0..READS_PER_TURN {
            match self.read.poll_fill(Pin::new(&mut self.io), cx) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(Closed::PeerClosed)),
                Poll::Ready(Ok(count)) => {
                    if until == Until::Ready {
                        self.keep_first_bytes(count);
                    }
                    let is_ready = self.parse(now)?;
                    self.effects.run();
                    if until == Until::Ready {
                        if is_ready {
                            // A server of the wrong kind may say so in good HTTP/2, right behind its SETTINGS.
                            let refused = self.shared.lock().refusal().is_some();
                            return Poll::Ready(if refused { Err(Closed::PeerClosed) } else { Ok(()) });
                        }
                        if handshake::is_tls(&self.first) {
                            return Poll::Ready(Err(Closed::PeerClosed));
                        }
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Closed::Io(error))),
                Poll::Pending => {
                    has_more_input = false;
                    self.read.on_idle();
                    break;
                }
            }
        }
        let written = self.poll_write(cx, now);
        if written.is_pending() && has_more_input {
            cx.waker().wake_by_ref();
        }
        written
    }

    /// Timers and output. Ready only when the connection is over.
    fn poll_write(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Result<(), Closed>> {
        let shared = Arc::clone(&self.shared);
        let mut guard = shared.lock();
        let state = &mut *guard;
        fire_timers(state, now, &mut self.effects).map_err(Closed::Protocol)?;
        drain_events(state, now, &mut self.effects);
        let has_output = state.engine.poll_output();
        // A lone call has nobody to share the write with.
        if has_output && !self.has_yielded && state.engine.open_streams() > 1 {
            self.has_yielded = true;
            drop(guard);
            self.effects.run();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.has_yielded = false;
        if has_output || self.holds_back {
            state.writes += u64::from(has_output);
            match poll_write_output(Pin::new(&mut self.io), &mut state.engine, cx) {
                Poll::Ready(Ok(())) => self.holds_back = false,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Closed::Io(error))),
                // The socket is full and wakes this task when it is not.
                Poll::Pending => self.holds_back = true,
            }
            drain_events(state, now, &mut self.effects);
        }
        shared.note_going_away(state, &mut self.effects);
        if state.engine.is_drained() && state.engine.output_len() == 0 && !self.holds_back {
            return Poll::Ready(Ok(()));
        }
        let next = state.next_timeout();
        match &mut state.driver {
            Some(driver) => driver.clone_from(cx.waker()),
            None => state.driver = Some(cx.waker().clone()),
        }
        drop(guard);
        self.effects.run();
        self.tell_refusals();
        if !self.is_leave_told && !shared.accepts_calls() {
            self.is_leave_told = true;
            self.tell_going_away();
        }
        self.arm(next, cx);
        Poll::Pending
    }

    /// Hands every complete frame that was read to the state. Returns whether the connection is ready for calls.
    fn parse(&mut self, now: Instant) -> Result<bool, Closed> {
        let mut guard = self.shared.lock();
        let state = &mut *guard;
        let input = self.read.filled();
        let mut parsed = 0;
        let result = loop {
            match state.take_whole(&input[parsed..], now, &mut self.effects) {
                Ok(0) => {}
                Ok(len) => {
                    parsed += len;
                    continue;
                }
                Err(error) => break Err(Closed::Protocol(error)),
            }
            match state.engine.handle_input(&input[parsed..], now) {
                Ok(progress) if progress.consumed == 0 => break Ok(state.is_ready),
                Ok(progress) => {
                    parsed += progress.consumed;
                    if let Some(event) = progress.event {
                        state.handle_event(event, now, &mut self.effects);
                    }
                }
                Err(error) => break Err(Closed::Protocol(error)),
            }
        };
        drain_events(state, now, &mut self.effects);
        // Before the callers run again: a call made in the same tick goes elsewhere (bug-reports 53).
        self.shared.note_going_away(state, &mut self.effects);
        drop(guard);
        self.read.consume(parsed);
        result
    }

    fn keep_first_bytes(&mut self, count: usize) {
        let filled = self.read.filled();
        let new = &filled[filled.len() - count..];
        let room = handshake::FIRST_BYTES - self.first.len();
        self.first.extend_from_slice(&new[..new.len().min(room)]);
    }

    /// Arms the sleep for `next`, or leaves it as it is if that is never.
    fn arm(&mut self, next: Option<Instant>, cx: &mut Context<'_>) {
        if next.is_none() {
            self.armed = None;
            return;
        }
        if next != self.armed {
            self.armed = next;
            if let Some(at) = next {
                self.sleep.as_mut().reset(at.into());
            }
        }
        if self.sleep.as_mut().poll(cx).is_ready() {
            self.armed = None;
            cx.waker().wake_by_ref();
        }
    }

    /// Sends the last frames if they may be sent, closes our side, and reads until the peer has closed its own.
    pub(crate) async fn take_leave(&mut self, closed: &Closed) {
        if matches!(closed, Closed::Io(_)) {
            return;
        }
        let leaving = async {
            if !self.is_mute {
                poll_fn(|cx| self.poll_flush(cx)).await?;
            }
            farewell::drain(Pin::new(&mut self.io)).await
        };
        // A peer that neither reads nor closes must not hold the task: whatever is left after that is cut.
        let _cut = tokio::time::timeout(farewell::LINGER, leaving).await;
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.lock();
        poll_write_output(Pin::new(&mut self.io), &mut state.engine, cx)
    }
}

impl<IO> Driver<IO> {
    /// Ends the calls that are left, with `error` as their cause.
    fn close(&mut self, error: &Error, closed: &Closed) {
        self.is_closed = true;
        // Taking leave needs none of it, and can take a while.
        self.read.release();
        let mut state = self.shared.lock();
        self.shared.accepts_calls.store(false, Ordering::Release);
        self.is_mute |= state.on_closed(error, &mut self.effects);
        let words = if self.shared.observed.is_wanted() { state.peers_last_words() } else { None };
        drop(state);
        self.effects.run();
        self.tell_refusals();
        self.shared.observed.closed(closed, words.as_deref());
    }

    /// What the engine refused since the last time.
    fn tell_refusals(&mut self) {
        if self.shared.observed.is_wanted() {
            let mut hits = Vec::new();
            let state = self.shared.lock();
            self.refusals.tell(state.engine.counters(), |name, count| hits.push((name, count)));
            drop(state);
            for (name, count) in hits {
                self.shared.observed.limit(name, count);
            }
        }
    }

    /// Not under the lock: what the observer does is the user's business.
    fn tell_going_away(&self) {
        if self.shared.observed.is_wanted() {
            let words = self.shared.lock().peers_last_words();
            let (by, reason) = match &words {
                Some(words) => (EndedBy::Peer, words.as_str()),
                None => (EndedBy::Local, "the channel is gone"),
            };
            self.shared.observed.connection(&ConnectionEvent::GoingAway { by, reason });
        }
    }
}

impl<IO> Drop for Driver<IO> {
    fn drop(&mut self) {
        if !self.is_closed {
            let error = Error::new(Phase::Call, "the runtime that drove the connection has ended");
            self.close(&error.with_shared_peer(Arc::clone(self.shared.name())), &Closed::Finished);
        }
    }
}

impl<IO> fmt::Debug for Driver<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// When [`Driver::poll_turn`] ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Until {
    /// At the peer's first SETTINGS.
    Ready,
    /// At the end of the connection.
    Closed,
}

fn fire_timers(state: &mut State, now: Instant, effects: &mut Effects) -> Result<(), ConnectionError> {
    if state.engine.next_timeout().is_some_and(|at| at <= now) {
        state.engine.handle_timeout(now)?;
    }
    state.handle_deadlines(now, effects);
    Ok(())
}

fn drain_events(state: &mut State, now: Instant, effects: &mut Effects) {
    while let Some(event) = state.engine.poll_event() {
        state.handle_event(event, now, effects);
    }
}

/// The error of the calls that a connection takes with it.
fn lost(closed: &Closed) -> Error {
    match closed {
        Closed::Finished => Error::new(Phase::Call, "the connection was shut down"),
        // Whose fault it was and which rule was broken is what the caller needs to see first.
        Closed::Protocol(error) => Error::new(Phase::Call, error.to_string()).with_source(*error),
        Closed::Io(error) => Error::new(Phase::Call, format!("the socket failed: {error}"))
            .with_source(io::Error::new(error.kind(), error.to_string())),
        _ => Error::new(Phase::Call, "the peer closed the connection"),
    }
}
