//! Handlers in tasks of their own, watched until they have really ended.
//!
//! A handler in place ends with its stream. One in a task that is told to stop goes on until it comes to its next
//! `await`: a client that opens and resets streams must not get more of those than it may have streams (http2-abuse
//! 1, 3, 29).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::task::AbortHandle;

/// How many handlers of one connection go on although their calls are gone.
#[derive(Debug, Default)]
pub(crate) struct Orphans(AtomicUsize);

impl Orphans {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A spawned handler, as its task and its call in the connection's table share it.
///
/// ```text
///  Due ──first poll──► Running ──end──► Over
///   │                     │              ▲
///   │ call gone           │ call gone    │ end, or the task is dropped
///   ▼                     ▼              │
///  Over                Orphaned ─────────╯
/// ```
#[derive(Debug)]
struct Handler {
    state: AtomicU8,
    orphans: Arc<Orphans>,
}

const DUE: u8 = 0;
const RUNNING: u8 = 1;
const ORPHANED: u8 = 2;
const OVER: u8 = 3;

impl Handler {
    fn on_call_gone(&self) {
        // Before the task can see that it is an orphan and take the count back.
        self.orphans.0.fetch_add(1, Ordering::Relaxed);
        let became_orphan =
            self.state.compare_exchange(RUNNING, ORPHANED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !became_orphan {
            self.orphans.0.fetch_sub(1, Ordering::Relaxed);
            // One that has not begun never will.
            let _over = self.state.compare_exchange(DUE, OVER, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    fn on_end(&self) {
        if self.state.swap(OVER, Ordering::AcqRel) == ORPHANED {
            self.orphans.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The task's share. Dropped, the handler has ended.
#[derive(Debug)]
pub(super) struct Running(Arc<Handler>);

impl Running {
    /// The first poll is about to happen; false when the call is gone already.
    pub(super) fn begin(&self) -> bool {
        self.0.state.compare_exchange(DUE, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.on_end();
    }
}

/// The call's share, held by its entry in the connection's table. Dropped, it ends the task.
#[derive(Debug)]
pub(super) struct Task {
    task: AbortHandle,
    handler: Arc<Handler>,
}

impl Task {
    /// Spawns what `task` makes of the task's share.
    pub(super) fn spawn<F>(orphans: &Arc<Orphans>, task: impl FnOnce(Running) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let handler = Arc::new(Handler { state: AtomicU8::new(DUE), orphans: Arc::clone(orphans) });
        let task = tokio::spawn(task(Running(Arc::clone(&handler)))).abort_handle();
        Self { task, handler }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.handler.on_call_gone();
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler() -> (Arc<Orphans>, Arc<Handler>, Running) {
        let orphans = Arc::<Orphans>::default();
        let handler = Arc::new(Handler { state: AtomicU8::new(DUE), orphans: Arc::clone(&orphans) });
        (orphans, Arc::clone(&handler), Running(handler))
    }

    #[test]
    fn only_a_handler_that_runs_without_its_call_is_an_orphan() {
        let (orphans, call, task) = handler();
        assert!(task.begin());
        assert_eq!(orphans.count(), 0);
        call.on_call_gone();
        assert_eq!(orphans.count(), 1);
        drop(task);
        assert_eq!(orphans.count(), 0);

        let (orphans, call, task) = handler();
        assert!(task.begin());
        drop(task);
        call.on_call_gone();
        assert_eq!(orphans.count(), 0);
    }

    #[test]
    fn a_handler_whose_call_is_gone_does_not_begin() {
        let (orphans, call, task) = handler();
        call.on_call_gone();
        assert!(!task.begin());
        drop(task);
        assert_eq!(orphans.count(), 0);
    }
}
