//! Requests that trickle in (http2-abuse 39).
//!
//! Setting a timer for each request would cost every call something; instead all are looked at now and then, and one
//! that was found incomplete often enough has taken too long.

use std::time::Instant;

use peregrine_core::Status;
use peregrine_core::deadline::deadline_after;

use super::Serving;
use super::call::CallState;

/// How many looks make up the timeout.
const LOOKS: u32 = 4;

impl Serving {
    /// Ends what has taken too long. Looks again later if anything is still incomplete.
    pub(super) fn look_for_slow_requests(&mut self, now: Instant) {
        let Some(timeout) = self.shared.options.receive_timeout else { return };
        let (mut late, mut waits) = (Vec::new(), false);
        for call in self.calls.iter_mut().flatten() {
            if let CallState::Receiving(_) = call.state {
                call.looks += 1;
                // The first look may have come right after the head.
                if u32::from(call.looks) > LOOKS {
                    late.push(call.key);
                } else {
                    waits = true;
                }
            }
        }
        for key in late {
            self.observe_limit("slow_request", 1);
            let text = format!("the request was not complete after {timeout:?}");
            self.fail(key, Status::deadline_exceeded(text));
        }
        self.receive_look = if waits { self.next_look(now) } else { None };
    }

    /// When to look next; never where that is beyond what the clock can say.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        deadline_after(now, self.shared.options.receive_timeout? / LOOKS)
    }
}
