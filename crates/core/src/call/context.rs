//! What a call passes on to the calls that are made on its behalf: how long it may take, and that it is over.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::status::Status;

/// Deadline and cancellation of a call that a server runs. Cheap to clone; a handler gives a share of it to tasks that
/// it spawns. Got from [`Request::context`](crate::Request::context).
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    pub(super) deadline: Option<Instant>,
    pub(super) cancellation: Cancellation,
}

impl CallContext {
    /// Of the call that is over at `deadline`, or when `cancellation` says so.
    #[inline]
    pub fn new(deadline: Option<Instant>, cancellation: Cancellation) -> Self {
        Self { deadline, cancellation }
    }

    /// When the call is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Tells when the call is over.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Waits until the call is over; see [`Cancellation::cancelled`].
    pub fn cancelled(&self) -> Cancelled {
        self.cancellation.cancelled()
    }
}

impl AsRef<Self> for CallContext {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Tells when a call that a server runs is over: it was answered, its client left, or its deadline passed. Cheap to
/// clone. The default one belongs to no call and never tells anything.
#[derive(Clone, Default)]
pub struct Cancellation {
    scope: Option<Arc<Scope>>,
}

impl Cancellation {
    /// Whether the call is over.
    pub fn is_cancelled(&self) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.is_over())
    }

    /// Waits until the call is over. A handler itself need not: its future is dropped where it waits. This is for
    /// what it has spawned.
    // wire-rules 74
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { scope: self.scope.clone(), place: None }
    }

    /// Whether there is a call.
    pub fn is_set(&self) -> bool {
        self.scope.is_some()
    }

    /// Runs `future` for as long as the call lasts.
    ///
    /// # Errors
    /// The future's own; CANCELLED if the call was over first, and the future is dropped then.
    pub async fn bound<T>(&self, future: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let mut cancelled = self.cancelled();
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| {
            if Pin::new(&mut cancelled).poll(cx).is_ready() {
                return Poll::Ready(Err(outlived()));
            }
            future.as_mut().poll(cx)
        })
        .await
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation").field("is_cancelled", &self.is_cancelled()).finish()
    }
}

/// What a call ends with that was made on behalf of one that is over.
#[cold]
pub(super) fn outlived() -> Status {
    Status::cancelled("the call on whose behalf this one was made is over")
}

/// Waits for the end of a call; made by [`Cancellation::cancelled`].
#[must_use = "a future does nothing until it is awaited"]
pub struct Cancelled {
    scope: Option<Arc<Scope>>,
    /// Where our waker is, once it is there.
    place: Option<usize>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        match &this.scope {
            Some(scope) => scope.poll_over(&mut this.place, cx),
            None => Poll::Pending,
        }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let (Some(scope), Some(place)) = (&self.scope, self.place) {
            scope.forget(place);
        }
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled").finish_non_exhaustive()
    }
}

/// The server's end of a [`Cancellation`]: the call is over when it says so, or when this is dropped.
///
/// Calls that follow one another in one place share the memory, as long as nobody has kept a share of an earlier one:
/// a call that nobody asks about costs a count up and down.
#[derive(Debug, Default)]
pub struct CallScope {
    scope: Arc<Scope>,
}

impl CallScope {
    /// For the call that runs now.
    pub fn cancellation(&self) -> Cancellation {
        Cancellation { scope: Some(Arc::clone(&self.scope)) }
    }

    /// The call is over. What is asked for from now on belongs to the next one.
    #[inline]
    pub fn end(&mut self) {
        if Arc::get_mut(&mut self.scope).is_none() {
            self.end_shared();
        }
    }

    #[cold]
    fn end_shared(&mut self) {
        std::mem::take(&mut self.scope).end();
    }
}

impl Drop for CallScope {
    fn drop(&mut self) {
        self.scope.end();
    }
}

#[derive(Debug, Default)]
struct Scope {
    is_over: AtomicBool,
    /// Who waits for the end. Places of those who have gone are empty and used again.
    waiting: Mutex<Vec<Option<Waker>>>,
}

impl Scope {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.lock());
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    fn poll_over(&self, place: &mut Option<usize>, cx: &Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        let mut waiting = self.lock();
        // Under the lock: the end takes the list after it has said so.
        if self.is_over() {
            return Poll::Ready(());
        }
        let vacant = place.or_else(|| waiting.iter().position(Option::is_none));
        let index = vacant.unwrap_or(waiting.len());
        match waiting.get_mut(index) {
            Some(slot) => *slot = Some(cx.waker().clone()),
            None => waiting.push(Some(cx.waker().clone())),
        }
        *place = Some(index);
        Poll::Pending
    }

    fn forget(&self, place: usize) {
        if let Some(slot) = self.lock().get_mut(place) {
            *slot = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Waker>>> {
        // Nothing that runs under the lock can leave the list half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::stream::tests::{Wakes, block_on, poll_once};

    // wire-rules 74
    #[test]
    fn everybody_who_waits_is_woken_at_the_end_and_whoever_asks_later_is_told() {
        let mut scope = CallScope::default();
        let cancellation = scope.cancellation();
        let wakes: Arc<Wakes> = Arc::default();
        let (mut one, mut other) = (pin!(cancellation.cancelled()), pin!(cancellation.clone().cancelled()));
        assert!(
            poll_once(one.as_mut(), &wakes).is_pending() && poll_once(other.as_mut(), &wakes).is_pending()
        );
        assert!(!cancellation.is_cancelled());
        scope.end();
        assert_eq!(wakes.take(), 2);
        assert!(cancellation.is_cancelled());
        block_on(one);
        block_on(cancellation.cancelled());
    }

    #[test]
    fn the_next_call_in_the_same_place_has_an_end_of_its_own() {
        let mut scope = CallScope::default();
        let first = scope.cancellation();
        scope.end();
        let second = scope.cancellation();
        assert!(first.is_cancelled() && !second.is_cancelled());
        drop(scope);
        assert!(second.is_cancelled(), "a place that is gone has no call");
    }

    #[test]
    fn calls_that_nobody_asks_about_share_their_memory() {
        let mut scope = CallScope::default();
        let before = Arc::as_ptr(&scope.scope);
        for _ in 0..3 {
            drop(scope.cancellation());
            scope.end();
        }
        assert_eq!(Arc::as_ptr(&scope.scope), before);
    }

    #[test]
    fn whoever_waits_no_longer_leaves_room() {
        let scope = CallScope::default();
        let cancellation = scope.cancellation();
        let wakes: Arc<Wakes> = Arc::default();
        for _ in 0..100 {
            assert!(poll_once(pin!(cancellation.cancelled()), &wakes).is_pending());
        }
        assert_eq!(scope.scope.lock().len(), 1);
    }

    #[test]
    fn a_future_is_bound_by_the_call_it_serves() {
        let scope = CallScope::default();
        let cancellation = scope.cancellation();
        assert_eq!(block_on(cancellation.bound(async { Ok(1) })).unwrap(), 1);
        drop(scope);
        let status = block_on(cancellation.bound(std::future::pending::<Result<(), Status>>())).unwrap_err();
        assert_eq!(status.code(), crate::Code::Cancelled);
        let wakes: Arc<Wakes> = Arc::default();
        assert!(poll_once(pin!(Cancellation::default().cancelled()), &wakes).is_pending());
    }
}
