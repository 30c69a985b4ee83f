//! Stream data that waits for the socket or for the connection's window, and how much of it is too much
//! (http2-abuse 16).
//!
//! A stream whose own window is shut is none of this: its data waits for its reader alone, and other streams are not
//! held up by it (wire-rules 84).

use super::{Connection, Event};

impl Connection {
    /// Whether more than [`Config::max_backlog`](super::Config::max_backlog) octets could leave if only the socket or
    /// the connection's window took them: whoever answers requests should not begin with more of them now.
    /// [`Event::Relieved`] comes when that is over.
    #[inline]
    pub fn is_congested(&mut self) -> bool {
        !self.schedule.is_empty() && self.look_at_backlog()
    }

    fn look_at_backlog(&mut self) -> bool {
        let is_congested = self.has_backlog();
        self.relief_wanted |= is_congested;
        is_congested
    }

    /// Tells the owner who asked that the backlog is gone.
    #[inline]
    pub(super) fn note_relief(&mut self) {
        if self.relief_wanted && !self.has_backlog() {
            self.relief_wanted = false;
            self.events.push_back(Event::Relieved);
        }
    }

    fn has_backlog(&self) -> bool {
        let mut waiting = 0_usize;
        self.schedule.iter().any(|key| {
            let queued = self.streams.get(key).map_or(0, |stream| stream.queue.len());
            waiting = queued.saturating_add(waiting);
            waiting > self.config.max_backlog
        })
    }
}
