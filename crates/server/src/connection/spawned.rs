//! A call in a task of its own: same slot, same code, another port.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use peregrine_core::observe::Direction;
use peregrine_core::stream::take_flush_request;
use peregrine_core::survive;

use super::Shared;
use super::call::{Call, Slot, panicked};
use super::handlers::{Orphans, Running, Task};
use crate::call::mailbox::Outbox;
use crate::call::port::{Port, PortPlace};
use crate::router::MethodIndex;

/// Spawns the call on the current runtime. The task ends with the call, or with the handle that is returned.
pub(super) fn spawn(
    slot: Slot,
    outbox: Box<Outbox>,
    shared: Arc<Shared>,
    call: &Call,
    orphans: &Arc<Orphans>,
) -> Task {
    let method = call.method();
    let port = Port::Outbox(outbox);
    Task::spawn(orphans, |running| {
        let mut call =
            Spawned { slot, port: Some(port), shared, method, polled: false, running: Some(running) };
        poll_fn(move |cx| call.poll(cx))
    })
}

struct Spawned {
    slot: Slot,
    /// Absent only while the slot is polled.
    port: Option<Port>,
    shared: Arc<Shared>,
    method: MethodIndex,
    polled: bool,
    /// Until the handler has ended.
    running: Option<Running>,
}

impl Spawned {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(port) = self.port.take() else { return Poll::Ready(()) };
        if !self.polled && !self.running.as_ref().is_some_and(Running::begin) {
            return Poll::Ready(());
        }
        // The first poll is what the connection would have waited for, had the call run in place.
        let timed = (!self.polled).then(Instant::now);
        self.polled = true;
        let slot = &mut self.slot;
        let mut place = PortPlace::new(port);
        let polled = survive(|| slot.as_mut().poll(cx, &mut place));
        let mut port = place.into_port();
        // Whatever a poll leaves is handed over below.
        let _flushed = take_flush_request();
        if let Some(begun) = timed {
            let nanos = begun.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32;
            self.shared.router.poll_time(self.method).record(nanos);
        }
        let result = match polled {
            Some(Poll::Pending) => None,
            Some(Poll::Ready(result)) => Some(result),
            None => Some(Err(panicked())),
        };
        let ended = result.is_some();
        if ended {
            // Before the connection hears of it: the client's next call must find the place free.
            self.running = None;
        }
        if let Port::Outbox(outbox) = &mut port {
            for size in outbox.take_sent() {
                self.shared.observe_message(self.method, Direction::Sent, size);
            }
            outbox.flush(result);
        }
        if ended {
            return Poll::Ready(());
        }
        self.port = Some(port);
        Poll::Pending
    }
}
