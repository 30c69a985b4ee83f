//! One connection and the calls that share it.
//!
//! [`SharedConnection`] is the engine behind a mutex. A call locks it for as long as it takes to encode its request,
//! or to take its answer out; the driver task ([`driver`]) locks it to parse what one read brought and to write what
//! has gathered. Nobody waits for the socket while holding it, and no waker is called under it.
//!
//! | file | concept |
//! |---|---|
//! | `calls` | the slab of calls, found by id and by stream |
//! | `call` | what is kept per call |
//! | `deadlines` | one timer for all calls |
//! | `driver` | the task between socket and engine |
//! | `effects` | what is done once the lock is released |
//! | `events` | what the engine's events, the time, and the end of the connection do to the calls |
//! | `handshake` | what a peer that is no gRPC server said instead |
//! | `http_codes` | codes for HTTP statuses, where the channel has its own |
//! | `message_target` | where codecs write |
//! | `observed` | what an observer hears |
//! | `opener` | starting a call, waiting for a stream if need be |
//! | `page` | what is no response of gRPC's |
//! | `request_head`, `response_head` | header blocks both ways |
//! | `request_stream` | what the pump of a request stream asks |
//! | `response` | the states of a response |
//! | `spent_body` | the storage of replies, on its way to calls to come |
//! | `state` | what the mutex guards, and what callers ask of it |
//! | `stream_queue` | calls waiting for the peer's stream limit |
//! | `whole` | requests and responses in one piece |

mod call;
mod calls;
mod deadlines;
pub(crate) mod driver;
mod effects;
mod events;
mod handshake;
mod http_codes;
mod message_target;
mod observed;
mod opener;
mod page;
mod request_head;
mod request_stream;
mod response;
mod response_head;
mod spent_body;
mod state;
mod stream_queue;
mod whole;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use peregrine_core::codec::EncodeError;
use peregrine_core::compression::{Packing, Written};
use peregrine_core::{Codec, PeerAddr, Status};
use peregrine_http2::{Config, Connection, ErrorCode, Role};
use tokio::runtime::Handle;

pub(crate) use self::call::{Body, CallDeadline, NewSink, Replay, Reply, StreamSink};
pub(crate) use self::calls::CallId;
use self::effects::Effects;
pub(crate) use self::http_codes::HttpCodes;
pub(crate) use self::message_target::MessageTarget;
pub(crate) use self::message_target::not_encoded;
pub(crate) use self::observed::Observed;
pub(crate) use self::opener::Opener;
pub(crate) use self::request_head::{ChannelHead, RequestHead, Timeout};
pub(crate) use self::request_stream::{Then, Writable};
use self::response::End;
pub(crate) use self::response::{Fate, too_large_hint};
pub(crate) use self::response_head::metadata;
pub(crate) use self::spent_body::give_back;
use self::state::State;
pub(crate) use self::whole::WholeRequest;
use crate::call_error::{CallFacts, explained};
use crate::channel::keepalive::KeepaliveTime;
use crate::channel::packers::Packers;

/// A connection as its calls and its driver share it.
pub(crate) struct SharedConnection {
    state: Mutex<State>,
    /// False as soon as no new call can go on this connection. Written under the lock; read without it by the
    /// channel, which picks another connection then.
    accepts_calls: AtomicBool,
    observed: Observed,
    /// The runtime that drives the connection; request streams are pumped there too.
    runtime: Handle,
}

/// Why a call was not started on this connection.
#[derive(Debug)]
pub(crate) enum StartError {
    /// The connection takes no more calls; nothing was sent.
    Gone(Fate),
    /// The call failed.
    Failed(Status),
}

/// What a call brings to the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCall<'a> {
    pub(crate) head: &'a RequestHead<'a>,
    pub(crate) deadline: Option<&'a CallDeadline>,
    /// Longest request message, in bytes.
    pub(crate) max_request: usize,
    /// Starts of the call, this one included.
    pub(crate) attempt: u32,
    /// Where the start leaves what message it wrote, if it wrote one and somebody wants to know.
    pub(crate) report: Option<&'a Cell<Option<Written>>>,
}

/// The call shape's part in a start. Called under the connection's lock, but for [`prepare`](Self::prepare).
pub(crate) trait Outgoing {
    /// Does what there is to do for the only message before it can be written, without the lock. `limit` is the longest
    /// message, in bytes. Called before each start.
    ///
    /// # Errors
    /// The message cannot be sent.
    fn prepare(&mut self, _packing: Option<Packing<'_>>, _limit: usize) -> Result<(), EncodeError> {
        Ok(())
    }

    /// Writes the only message, which the request ends with, or opens the stream for messages that come later. May be
    /// called again if the call is started anew.
    ///
    /// # Errors
    /// The codec's, or the target's.
    fn write(&mut self, target: &mut MessageTarget<'_>) -> Result<(), EncodeError>;

    /// Where the response goes. Called once the stream is open and written to.
    fn sink(&mut self) -> NewSink;
}

impl SharedConnection {
    pub(crate) fn new(
        config: Config,
        observed: Observed,
        keepalive: Arc<KeepaliveTime>,
        http_codes: HttpCodes,
        packers: Arc<Packers>,
        runtime: Handle,
        now: Instant,
    ) -> Arc<Self> {
        let engine = Connection::new(Role::Client, config, now);
        Arc::new(Self {
            state: Mutex::new(State::new(engine, keepalive, Arc::clone(&observed.name), http_codes, packers)),
            accepts_calls: AtomicBool::new(true),
            observed,
            runtime,
        })
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Whether a new call may be tried here.
    #[inline]
    pub(crate) fn accepts_calls(&self) -> bool {
        self.accepts_calls.load(Ordering::Acquire)
    }

    /// The peer as errors name it.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.observed.name
    }

    pub(crate) fn peer(&self) -> &PeerAddr {
        &self.observed.info.peer
    }

    /// Lets the calls in progress finish, then closes. Done when the last handle of a channel is gone.
    pub(crate) fn shut_down(&self, now: Instant) {
        let mut state = self.lock();
        self.accepts_calls.store(false, Ordering::Release);
        state.engine.graceful_shutdown(now);
        let mut effects = Effects::default();
        effects.wake_all(state.queue.call_all());
        wake_driver(state);
        effects.run();
    }

    /// Starts a call at once, if a stream is free and nobody waits for one. `None` if not: nothing has been done then.
    ///
    /// # Errors
    /// As for [`Opener::poll_start`].
    #[inline]
    pub(crate) fn start_now<C: Codec<A>, A>(
        &self,
        waker: &Waker,
        call: &NewCall<'_>,
        request: &mut WholeRequest<'_, C, A>,
    ) -> Option<Result<CallId, StartError>> {
        let mut driver = WokenAtEnd::default();
        let mut state = self.lock();
        if !self.accepts_calls() || !state.queue.is_empty() {
            return None;
        }
        driver.0 = state.driver.take();
        let started = match state.start_whole(call, request, waker) {
            Some(id) => Ok(id),
            None if request.is_plain() && state.engine.can_open() => state.start(call, request, waker),
            None => return None,
        };
        drop(state);
        Some(started)
    }

    /// The answer of a call with a single response. Once it is decoded, its storage is to be [given back](give_back).
    pub(crate) fn poll_reply(&self, id: CallId, cx: &mut Context<'_>) -> Poll<Reply> {
        self.lock().poll_reply(id, cx.waker())
    }

    /// The caller has lost interest: RST_STREAM(CANCEL), and the call is forgotten (wire-rules 72).
    pub(crate) fn cancel(&self, id: CallId) {
        let mut state = self.lock();
        let mut effects = Effects::default();
        let sink = state.cancel(id, &mut effects);
        wake_driver(state);
        effects.run();
        // What the call held, a message of the user among it, is dropped outside of the lock.
        drop(sink);
    }

    /// Ends a call whose request broke off with a status of our own. The messages before that leave, long ones too as
    /// far as the windows are open, ahead of the reset (wire-rules B3).
    pub(crate) fn fail(&self, id: CallId, status: Status) {
        let mut state = self.lock();
        let mut effects = Effects::default();
        state.engine.poll_output();
        state.end_call(id, End::failed(status, ErrorCode::CANCEL), &mut effects);
        wake_driver(state);
        effects.run();
    }

    /// A status that the reader of a response stream came to, with what is known of its call.
    #[cold]
    pub(crate) fn explain(&self, id: CallId, status: Status) -> Status {
        let facts = self.lock().facts(id);
        // Of a call that has ended nothing is known any more but whom it was made to.
        let ended = || CallFacts { peer: Arc::clone(self.name()), attempt: 0, elapsed: None };
        explained(status, facts.unwrap_or_else(ended))
    }

    /// A reader of a response stream has taken messages: gives the peer window for more.
    pub(crate) fn grant_credit(&self, id: CallId) {
        let mut state = self.lock();
        if state.grant_credit(id) {
            wake_driver(state);
        }
    }

    /// Closes the door for new calls once the engine takes no more streams; those in the queue look elsewhere.
    fn note_going_away(&self, state: &mut State, effects: &mut Effects) {
        if state.engine.is_going_away() && self.accepts_calls() {
            self.accepts_calls.store(false, Ordering::Release);
            effects.wake_all(state.queue.call_all());
        }
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, State> {
        // A codec that panicked while it encoded left the engine as it was: its write was rolled back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SharedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedConnection")
            .field("peer", &self.peer())
            .field("accepts_calls", &self.accepts_calls())
            .finish_non_exhaustive()
    }
}

/// Unlocks and wakes the driver: there is output.
fn wake_driver(mut state: MutexGuard<'_, State>) {
    let driver = state.driver.take();
    drop(state);
    if let Some(driver) = driver {
        driver.wake();
    }
}

/// The driver, taken out under the lock and woken when this is dropped. Declared in front of the lock's guard, so that
/// it is woken without the lock, be it that a codec panics.
#[derive(Default)]
struct WokenAtEnd(Option<Waker>);

impl Drop for WokenAtEnd {
    #[inline]
    fn drop(&mut self) {
        if let Some(driver) = self.0.take() {
            driver.wake();
        }
    }
}
