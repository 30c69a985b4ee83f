//! The connection's own timers: handshake, SETTINGS acknowledgement, the PING of a graceful shutdown.

use std::time::Instant;

use super::{Config, Connection};
use crate::ErrorCode;
use crate::error::{Blame, ConnectionError};

/// Points in time at which something is overdue.
#[derive(Debug)]
pub(super) struct Timers {
    /// The peer's preface and first SETTINGS.
    handshake: Option<Instant>,
    /// Our SETTINGS have not been acknowledged; with or without a timeout.
    unacknowledged: bool,
    settings: Option<Instant>,
    /// The PING between the two GOAWAY of a graceful shutdown.
    drain: Option<Instant>,
}

impl Timers {
    pub(super) fn new(config: &Config, now: Instant) -> Self {
        Timers {
            handshake: config.handshake_timeout.map(|timeout| now + timeout),
            unacknowledged: true,
            settings: config.settings_timeout.map(|timeout| now + timeout),
            drain: None,
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        [self.handshake, self.settings, self.drain].into_iter().flatten().min()
    }

    /// The peer's first SETTINGS have come.
    pub(super) fn on_ready(&mut self) {
        self.handshake = None;
    }

    /// False if there was nothing to acknowledge.
    pub(super) fn on_settings_acknowledged(&mut self) -> bool {
        self.settings = None;
        std::mem::take(&mut self.unacknowledged)
    }

    pub(super) fn set_drain(&mut self, at: Option<Instant>) {
        self.drain = at;
    }

    /// The connection is over: nothing can be late any more.
    pub(super) fn clear(&mut self) {
        self.handshake = None;
        self.settings = None;
        self.drain = None;
    }
}

impl Connection {
    /// When to call [`handle_timeout`](Self::handle_timeout).
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// To be called when [`next_timeout`](Self::next_timeout) has passed.
    ///
    /// # Errors
    /// The peer let a timeout pass; as for [`handle_input`](Self::handle_input).
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        let due = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        if due(self.timers.drain) {
            self.finish_graceful_shutdown();
        }
        let late = if due(self.timers.handshake) {
            ConnectionError::new(ErrorCode::NO_ERROR, "handshake not completed in time", Blame::Timeout)
        } else if due(self.timers.settings) {
            // RFC 9113, 6.5.3
            ConnectionError::new(
                ErrorCode::SETTINGS_TIMEOUT,
                "SETTINGS not acknowledged in time",
                Blame::Timeout,
            )
        } else {
            return Ok(());
        };
        Err(self.fail(late))
    }
}
