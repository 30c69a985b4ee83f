//! When a call has to be over, and what its peer is told of that.

use std::time::{Duration, Instant};

use peregrine_core::deadline::deadline_after;

use crate::connection::{CallDeadline, Timeout};

/// What goes into `grpc-timeout` of a call that starts in the moment in which it is made.
#[inline]
pub(super) fn first_timeout(deadline: &CallDeadline, timeout: Option<Duration>) -> Timeout {
    recurring_timeout(deadline, timeout).unwrap_or_else(|| Timeout {
        left: deadline.at.saturating_duration_since(deadline.started),
        recurs: false,
    })
}

/// The caller's own timeout, if no deadline comes before its end: other calls are likely to have the same.
#[inline]
pub(super) fn recurring_timeout(deadline: &CallDeadline, timeout: Option<Duration>) -> Option<Timeout> {
    let timeout = timeout?;
    (deadline.started.checked_add(timeout) == Some(deadline.at))
        .then_some(Timeout { left: timeout, recurs: true })
}

/// The earlier of a timeout that begins now and a deadline.
#[inline]
pub(super) fn deadline(timeout: Option<Duration>, deadline: Option<Instant>) -> Option<CallDeadline> {
    if timeout.is_none() && deadline.is_none() {
        return None;
    }
    let started = now();
    let from_timeout = timeout.and_then(|timeout| deadline_after(started, timeout));
    let at = match (from_timeout, deadline) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b)?,
    };
    Some(CallDeadline { at, started, waited: Duration::ZERO })
}

/// The runtime's clock, so that tests can hold it.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
