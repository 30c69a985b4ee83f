//! What follows from a change under the lock but must not happen under it: waking tasks, running a call again,
//! dropping values of the user.

use std::task::Waker;

use peregrine_core::Status;

use super::call::Replay;
use super::response::Fate;

/// Gathered under the lock, run without it. Allocates only when it gathers something; the driver keeps one.
#[derive(Debug, Default)]
pub(super) struct Effects {
    wakers: Vec<Waker>,
    /// Calls that the peer refused and that can be made again, each with the status they end with if that fails.
    replays: Vec<(Box<dyn Replay>, Status, Fate)>,
    /// Requests that will not be needed again.
    spent: Vec<Box<dyn Replay>>,
}

impl Effects {
    #[inline]
    pub(super) fn wake(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.wakers.push(waker);
        }
    }

    pub(super) fn wake_all(&mut self, wakers: impl Iterator<Item = Waker>) {
        self.wakers.extend(wakers);
    }

    pub(super) fn replay(&mut self, replay: Box<dyn Replay>, refusal: Status, fate: Fate) {
        self.replays.push((replay, refusal, fate));
    }

    pub(super) fn drop_later(&mut self, replay: Option<Box<dyn Replay>>) {
        self.spent.extend(replay);
    }

    /// Does it all.
    pub(super) fn run(&mut self) {
        if !self.wakers.is_empty() || !self.replays.is_empty() || !self.spent.is_empty() {
            self.run_some();
        }
    }

    fn run_some(&mut self) {
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
        for (replay, refusal, fate) in self.replays.drain(..) {
            replay.again(refusal, fate);
        }
        self.spent.clear();
    }
}
