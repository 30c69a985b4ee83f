//! Requests that trickle in (http2-abuse 39).
//!
//! Setting a timer for each request would cost every call something; instead all are looked at now and then, and one
//! that was found incomplete often enough has taken too long.

use std::sync::Arc;
use std::time::Instant;

use peregrine_core::Status;
use peregrine_core::deadline::deadline_after;
use peregrine_http2::{Head, StreamKey};

use super::Serving;
use super::call::CallState;

/// How many looks make up the timeout.
const LOOKS: u32 = 4;

/// A request that is no gRPC at all, and is told so once it has been read to its end.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) stream: StreamKey,
    pub(super) head: Arc<Head>,
    /// How often it was found without its end.
    pub(super) looks: u8,
}

impl Serving {
    /// Ends what has taken too long. Looks again later if anything is still incomplete.
    pub(super) fn look_for_slow_requests(&mut self, now: Instant) {
        let Some(timeout) = self.shared.options.receive_timeout else { return };
        let (mut late, mut waits) = (Vec::new(), false);
        for entry in self.calls.iter_mut().flatten() {
            if let CallState::Receiving { looks, .. } = &mut entry.state {
                *looks += 1;
                // The first look may have come right after the head.
                if u32::from(*looks) > LOOKS {
                    late.push(entry.call.key());
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
        let mut endless = Vec::new();
        for refused in &mut self.refused {
            refused.looks += 1;
            if u32::from(refused.looks) > LOOKS {
                endless.push(refused.stream);
            } else {
                waits = true;
            }
        }
        for stream in endless {
            self.observe_limit("slow_request", 1);
            self.answer_refused(stream);
        }
        self.receive_look = if waits { self.next_look(now) } else { None };
    }

    /// A request has begun whose end is waited for.
    pub(super) fn watch_requests(&mut self, now: Instant) {
        if self.receive_look.is_none() {
            self.receive_look = self.next_look(now);
        }
    }

    /// When to look next; never where that is beyond what the clock can say.
    fn next_look(&self, now: Instant) -> Option<Instant> {
        deadline_after(now, self.shared.options.receive_timeout? / LOOKS)
    }
}
