//! Streams whose data waits for window that the peer does not give: slow read (http2-abuse 17).
//!
//! Every quarter of [`Config::stream_stall_timeout`](super::Config::stream_stall_timeout) `timeouts` has the streams
//! looked at, while some have data in their queues. One that has sent nothing between five looks is reset.

use std::time::{Duration, Instant};

use super::{Connection, Event, Initiator, Timer};
use crate::ErrorCode;

impl Connection {
    /// Data was put in a queue. The first look may be too early, since the time is not known here; it only counts
    /// as the first of five.
    pub(super) fn watch_streams(&mut self) {
        if let Some(timeout) = self.config.stream_stall_timeout
            && !self.timers.is_set(Timer::StreamStall)
        {
            self.timers.set(Timer::StreamStall, self.received_at.checked_add(period(timeout)));
        }
    }

    /// Looks at every stream.
    pub(super) fn look_at_streams(&mut self, now: Instant) {
        let Some(timeout) = self.config.stream_stall_timeout else { return };
        // A socket that takes nothing holds up all streams, whatever their windows.
        let socket_is_full = self.output.len() >= self.config.write_buffer_high_water;
        let mut stalled = Vec::new();
        let mut some_wait = false;
        for (key, stream) in self.streams.iter_mut() {
            if stream.queue.is_empty() {
                continue;
            }
            some_wait = true;
            if !socket_is_full {
                stream.unmoved = stream.unmoved.saturating_add(1);
            }
            if u32::from(stream.unmoved) > LOOKS {
                stalled.push(key);
            }
        }
        stalled.sort_unstable_by_key(|key| key.id());
        for stream in stalled {
            self.counters.add("stream_stall");
            self.last_fault = "no window for the stream's data for too long";
            self.reset(stream, ErrorCode::CANCEL);
            self.events.push_back(Event::Reset {
                stream,
                code: ErrorCode::CANCEL,
                initiator: Initiator::Engine,
            });
        }
        if some_wait {
            self.timers.set(Timer::StreamStall, now.checked_add(period(timeout)));
        }
    }
}

/// Between two looks; not zero, so that time always passes.
#[expect(clippy::arithmetic_side_effects, reason = "divided by a constant")]
fn period(timeout: Duration) -> Duration {
    (timeout / LOOKS).max(Duration::from_millis(1))
}

/// Looks in a timeout.
const LOOKS: u32 = 4;
