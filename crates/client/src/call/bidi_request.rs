//! The request stream of a bidi call, through all starts of the call.
//!
//! The caller of a bidi call holds its response stream and no future, so whatever pumps the requests is also what
//! makes the call again when the peer refuses it (wire-rules 67, 75). The connection tells it by the [`Verdict`]: a
//! share of it goes into the call's slot as its [`Replay`], which is used when the peer refuses, and dropped when it
//! begins to answer or the call ends in another way.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use peregrine_core::call::{InboxOwner, SharedInbox};
use peregrine_core::{Codec, Status};

use super::plan::{LaterStart, Plan, Started};
use super::pump::{Kept, Pump, RequestWatch, StreamedRequest};
use super::replay::Unfinished;
use super::response_stream::ResponseStream;
use crate::connection::{Fate, Replay};

/// Pumps requests, and makes the call again as often as that is allowed.
pub(super) struct BidiRequest<C, A> {
    later: LaterStart,
    response: ResponseStream,
    verdict: Arc<Verdict>,
    pump: Pump<C, A>,
}

impl<C: Codec<A>, A: Send> BidiRequest<C, A> {
    /// For a call that was started with the share of `verdict` that [`Verdict::awaited_by`] made.
    pub(super) fn new(
        plan: &Plan<'_>,
        started: &Started,
        response: ResponseStream,
        verdict: Arc<Verdict>,
        watch: Option<RequestWatch<A>>,
    ) -> Self {
        Self {
            later: plan.for_later(),
            response,
            verdict,
            pump: Pump::new(started, plan, Kept::default()).with_watch(watch),
        }
    }

    /// Until the request is complete and cannot be asked for again, or the call is over. The source is dropped then.
    pub(super) async fn run<S: Stream<Item = A>>(mut self, source: S) {
        let mut source = pin!(Some(source));
        loop {
            poll_fn(|cx| {
                if self.pump.can_start_again() && self.verdict.is_over() {
                    // The peer answers: what it was sent need not be kept any longer.
                    drop(self.pump.take_kept());
                }
                self.pump.poll(source.as_mut(), cx)
            })
            .await;
            if !self.pump.can_start_again() {
                self.verdict.renounce();
                return;
            }
            let Some((refused, fate)) = poll_fn(|cx| self.verdict.poll(cx)).await else { return };
            if !self.later.starts.allow_another(fate) || !self.start_again(refused).await {
                return;
            }
        }
    }

    /// True if the call is on its way once more; otherwise it has ended.
    async fn start_again(&mut self, mut refused: Unfinished) -> bool {
        let Some(kept) = self.pump.take_kept() else { return false };
        if self.response.inbox.is_abandoned() {
            return false;
        }
        let verdict = Arc::new(Verdict::default());
        let response = self.response.clone();
        let mut outgoing = {
            let verdict = Arc::clone(&verdict);
            StreamedRequest::new(move || response.sink(Some(verdict.awaited_by(&response.inbox))))
        };
        let mut plan = self.later.plan();
        match plan.start(&mut outgoing).await {
            Ok(started) => {
                refused.is_started = true;
                let watch = self.pump.take_watch();
                self.pump = Pump::new(&started, &plan, kept).with_watch(watch);
                self.later.starts = plan.starts();
                self.verdict = verdict;
                self.response.call.place(started);
                if self.response.inbox.is_abandoned() {
                    self.response.call.dropped(0);
                }
                true
            }
            Err(status) => {
                refused.status = status;
                false
            }
        }
    }
}

/// Whether the peer has refused a call.
#[derive(Debug, Default)]
pub(super) struct Verdict(Mutex<State>);

#[derive(Debug)]
enum State {
    /// Not known yet; who wants to know.
    Open(Option<Waker>),
    /// Nobody can make the call again.
    Renounced,
    /// It has, and it may be made again.
    Refused(Unfinished, Fate),
    /// It has not, or nobody needs to know any more.
    Over,
}

impl Default for State {
    fn default() -> Self {
        Self::Open(None)
    }
}

impl Verdict {
    /// The connection's share; `inbox` is where the responses go.
    pub(super) fn awaited_by(self: &Arc<Self>, inbox: &Arc<SharedInbox>) -> Box<dyn Replay> {
        Box::new(Share { verdict: Arc::clone(self), inbox: Arc::clone(inbox) })
    }

    /// The refusal, with what the call ends with unless it is started again; `None` if there is none.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<(Unfinished, Fate)>> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Open(_) => {
                *state = State::Open(Some(cx.waker().clone()));
                Poll::Pending
            }
            State::Refused(refused, fate) => Poll::Ready(Some((refused, fate))),
            State::Renounced | State::Over => Poll::Ready(None),
        }
    }

    fn is_over(&self) -> bool {
        matches!(*self.lock(), State::Over)
    }

    /// What was pumped cannot be sent again: a refusal ends the call.
    fn renounce(&self) {
        let mut state = self.lock();
        let old = std::mem::replace(&mut *state, State::Renounced);
        drop(state);
        // A refusal among it reaches the caller.
        drop(old);
    }

    /// Says how it went, once.
    fn settle(&self, new: State) {
        let mut state = self.lock();
        match &mut *state {
            State::Open(waker) => {
                let waker = waker.take();
                *state = new;
                drop(state);
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            State::Renounced | State::Refused(..) | State::Over => drop(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's share of a verdict.
struct Share {
    verdict: Arc<Verdict>,
    inbox: Arc<SharedInbox>,
}

impl Replay for Share {
    fn again(self: Box<Self>, refusal: Status, fate: Fate) {
        let inbox = Arc::clone(&self.inbox);
        self.verdict.settle(State::Refused(Unfinished { inbox, status: refusal, is_started: false }, fate));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.verdict.settle(State::Over);
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share").finish_non_exhaustive()
    }
}
