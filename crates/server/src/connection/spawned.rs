//! A call in a task of its own: same slot, same code, another port.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::Shared;
use super::call::{Slot, Task, panicked};
use crate::call::mailbox::Outbox;
use crate::call::port::{Port, Target, with_port};
use crate::router::MethodIndex;

/// Spawns the call on the current runtime. The task ends with the call, or with the handle that is returned.
pub(super) fn spawn(slot: Slot, outbox: Box<Outbox>, shared: Arc<Shared>, method: MethodIndex) -> Task {
    let mut call = Spawned {
        slot,
        port: Some(Port { key: outbox.key(), target: Target::Outbox(outbox), head_sent: false }),
        shared,
        method,
        polled: false,
    };
    Task(tokio::spawn(poll_fn(move |cx| call.poll(cx))).abort_handle())
}

struct Spawned {
    slot: Slot,
    /// Absent only while the slot is polled.
    port: Option<Port>,
    shared: Arc<Shared>,
    method: MethodIndex,
    polled: bool,
}

impl Spawned {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(port) = self.port.take() else { return Poll::Ready(()) };
        // The first poll is what the connection would have waited for, had the call run in place.
        let timed = (!self.polled).then(Instant::now);
        self.polled = true;
        let slot = &mut self.slot;
        let (mut port, polled) =
            with_port(port, || catch_unwind(AssertUnwindSafe(|| slot.as_mut().poll(cx))));
        if let Some(begun) = timed {
            let nanos = begun.elapsed().as_nanos().min(u128::from(u32::MAX)) as u32;
            self.shared.router.poll_time(self.method).record(nanos);
        }
        let result = match polled {
            Ok(Poll::Pending) => None,
            Ok(Poll::Ready(result)) => Some(result),
            Err(_panic) => Some(Err(panicked())),
        };
        let ended = result.is_some();
        if let Target::Outbox(outbox) = &mut port.target {
            outbox.flush(result.map(|result| (result, port.head_sent)));
        }
        if ended {
            return Poll::Ready(());
        }
        self.port = Some(port);
        Poll::Pending
    }
}
