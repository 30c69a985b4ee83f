//! The wakers of a connection's calls.

use std::sync::Arc;
use std::task::Waker;

use crate::call::mailbox::{CallWaker, Mailbox};

/// The wakers of the calls at the engine's stream indices, made on first use and kept.
#[derive(Debug, Default)]
pub(super) struct Wakers(Vec<Option<(Arc<CallWaker>, Waker)>>);

impl Wakers {
    /// That of the call at this index, which is about to be polled. It leaves its notes in `mailbox`.
    #[inline(always)]
    pub(super) fn of(&mut self, index: usize, mailbox: &Arc<Mailbox>) -> &Waker {
        if !matches!(self.0.get(index), Some(Some(_))) {
            self.make(index, mailbox);
        }
        match &self.0[index] {
            Some((call_waker, waker)) => {
                call_waker.on_poll();
                waker
            }
            None => Waker::noop(),
        }
    }

    #[cold]
    fn make(&mut self, index: usize, mailbox: &Arc<Mailbox>) {
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        let waker = CallWaker::new(index as u32, Arc::clone(mailbox));
        self.0[index] = Some((Arc::clone(&waker), Waker::from(waker)));
    }
}
