//! The connection's clock: which timers run, and what happens when one fires.
//!
//! What moves on every call (octets received, output taken, streams) never touches a timer. Its timers fire at
//! the earliest time at which something could be late, look, and are set again.

use std::time::{Duration, Instant};

use super::goaway::Shutdown;
use super::keepalive::{Beat, KEEPALIVE_PING, Pulse, Vitals};
use super::watch::{Look, Watch, after};
use super::{Connection, Phase};
use crate::ErrorCode;
use crate::error::{Blame, ConnectionError};

/// What may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The peer's preface and first SETTINGS.
    Handshake,
    /// The acknowledgement of our SETTINGS.
    SettingsAck,
    /// The PING between the two GOAWAY of a graceful shutdown.
    DrainPing,
    /// The streams that are open at a graceful shutdown.
    DrainEnd,
    /// A look whether the peer was silent, or the answer to a PING.
    Keepalive,
    /// A look whether there were streams.
    Idle,
    /// The end of the connection's time.
    Age,
    /// A look whether the socket takes output.
    WriteStall,
    /// A look whether streams get window.
    StreamStall,
    /// A look whether memory for reuse is being used.
    Quiet,
}

const TIMERS: [Timer; 10] = [
    Timer::Handshake,
    Timer::SettingsAck,
    Timer::DrainPing,
    Timer::DrainEnd,
    Timer::Keepalive,
    Timer::Idle,
    Timer::Age,
    Timer::WriteStall,
    Timer::StreamStall,
    Timer::Quiet,
];

/// When each timer fires.
#[derive(Debug, Default)]
pub(super) struct Timers {
    at: [Option<Instant>; TIMERS.len()],
    /// The earliest of `at`, which is asked for far more often than changed.
    next: Option<Instant>,
}

impl Timers {
    #[inline]
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a place for each timer")]
    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize].is_some()
    }

    /// Sets or stops a timer.
    #[expect(clippy::indexing_slicing, reason = "a place for each timer")]
    pub(super) fn set(&mut self, timer: Timer, at: Option<Instant>) {
        self.at[timer as usize] = at;
        self.next = self.at.into_iter().flatten().min();
    }

    /// Stops the timer if it is due.
    #[expect(clippy::indexing_slicing, reason = "a place for each timer")]
    fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.at[timer as usize].is_some_and(|at| at <= now);
        if due {
            self.set(timer, None);
        }
        due
    }

    /// The connection is over: nothing can be late any more.
    pub(super) fn clear(&mut self) {
        *self = Timers::default();
    }
}

impl Connection {
    /// When to call [`handle_timeout`](Self::handle_timeout). May be in the past, for at once. Changes with
    /// every other call; ask before waiting.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        // Output that is there before waiting is output that the socket did not take.
        if self.write_watch_due() { Some(self.received_at) } else { self.timers.next() }
    }

    /// To be called when [`next_timeout`](Self::next_timeout) has passed.
    ///
    /// # Errors
    /// The peer let a timeout pass; as for [`handle_input`](Self::handle_input).
    pub fn handle_timeout(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if self.phase == Phase::Over {
            return Ok(());
        }
        // Each once, so that a timeout of zero cannot hold the caller.
        for timer in TIMERS {
            if self.timers.take_due(timer, now) {
                self.on_timer(timer, now).map_err(|error| self.fail(error))?;
            }
        }
        if self.write_watch_due() {
            self.watch_writes(now);
        }
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer, now: Instant) -> Result<(), ConnectionError> {
        match timer {
            Timer::Handshake => {
                let reason = "handshake not completed in time";
                return Err(self.late("handshake_timeout", ErrorCode::NO_ERROR, reason));
            }
            Timer::SettingsAck => {
                // RFC 9113, 6.5.3
                let reason = "SETTINGS not acknowledged in time";
                return Err(self.late("settings_timeout", ErrorCode::SETTINGS_TIMEOUT, reason));
            }
            Timer::DrainPing if self.shutdown == Shutdown::Announced => self.finish_graceful_shutdown(),
            Timer::DrainEnd if !self.is_drained() => {
                // wire-rules 77
                self.counters.add("drain_timeout");
                return Err(ConnectionError::new(ErrorCode::NO_ERROR, "drain timeout", Blame::Local));
            }
            Timer::DrainPing | Timer::DrainEnd => {}
            // wire-rules 77
            Timer::Age => self.graceful_shutdown(now),
            Timer::Idle => self.look_for_streams(now),
            Timer::WriteStall => return self.look_at_writes(now),
            Timer::Keepalive => return self.look_for_life(now),
            Timer::StreamStall => self.look_at_streams(now),
            Timer::Quiet => self.look_for_quiet(now),
        }
        Ok(())
    }

    /// The error of a peer that is late, which is counted.
    pub(super) fn late(
        &mut self,
        name: &'static str,
        code: ErrorCode,
        reason: &'static str,
    ) -> ConnectionError {
        self.counters.add(name);
        ConnectionError::new(code, reason, Blame::Timeout)
    }

    /// What is waited for from the beginning.
    pub(super) fn set_first_timers(&mut self, now: Instant) {
        let after = |timeout: Option<Duration>| timeout.and_then(|timeout| now.checked_add(timeout));
        self.timers.set(Timer::Handshake, after(self.config.handshake_timeout));
        self.timers.set(Timer::SettingsAck, after(self.config.settings_timeout));
        self.timers.set(Timer::Age, after(self.config.max_age));
    }

    /// The handshake is over: what only makes sense on a connection in use begins.
    pub(super) fn on_ready(&mut self) {
        self.timers.set(Timer::Handshake, None);
        if let Some(timeout) = self.config.max_idle {
            let watch = Watch::new(timeout, self.idle_since_stream(), self.received_at);
            self.timers.set(Timer::Idle, Some(watch.first()));
            self.idle_watch = Some(watch);
        }
        if let Some(keepalive) = self.config.keepalive {
            self.timers.set(Timer::Keepalive, self.received_at.checked_add(keepalive.interval));
            self.pulse = Some(Pulse::new(keepalive));
        }
        self.wake();
    }

    /// The connection is used: something was received, or a stream opened.
    #[cold]
    pub(super) fn wake(&mut self) {
        self.asleep = false;
        if let Some(at) = self.pulse.as_mut().and_then(|pulse| pulse.wake(self.received_at)) {
            self.timers.set(Timer::Keepalive, Some(at));
        }
        if let Some(time) = self.config.trim_after
            && !self.timers.is_set(Timer::Quiet)
        {
            self.timers.set(Timer::Quiet, self.received_at.checked_add(time));
        }
    }

    /// Gives memory back on a connection that has gone quiet.
    fn look_for_quiet(&mut self, now: Instant) {
        let Some(time) = self.config.trim_after else { return };
        let due = after(self.received_at, time);
        if due <= now && self.output.is_empty() {
            self.trim();
            self.asleep = true;
        } else {
            self.timers.set(Timer::Quiet, Some(due.max(after(now, TRIM_AGAIN))));
        }
    }

    /// Asks a silent peer for a sign of life, or gives up on one that owes it (wire-rules 78).
    fn look_for_life(&mut self, now: Instant) -> Result<(), ConnectionError> {
        let vitals = Vitals {
            received_at: self.received_at,
            has_streams: !self.streams.is_empty(),
            taken: self.output.taken(),
            output_end: self.output.end_position(),
            reads: self.wants_input(),
        };
        match self.pulse.as_mut().map(|pulse| pulse.on_timer(&vitals, now)) {
            Some(Beat::Again(at)) => self.timers.set(Timer::Keepalive, Some(at)),
            Some(Beat::Ping(at)) => {
                self.ping(KEEPALIVE_PING);
                self.timers.set(Timer::Keepalive, Some(at));
            }
            Some(Beat::Sleep) => self.asleep = true,
            Some(Beat::Dead) => {
                return Err(self.late("keepalive_timeout", ErrorCode::NO_ERROR, "keepalive timeout"));
            }
            None => {}
        }
        Ok(())
    }

    /// A client that has said goodbye has no more use for the connection once its streams have ended. It may close it by
    /// itself, for which it gets a moment; then the connection ends as one that is idle does, so that a stream it opens
    /// all the same is still served (RFC 9113 6.8).
    pub(super) fn leave_when_idle(&mut self, now: Instant) {
        let timeout = self.config.max_idle.map_or(LEAVE_GRACE, |idle| idle.min(LEAVE_GRACE));
        let watch = Watch::new(timeout, self.idle_since_stream(), now);
        self.timers.set(Timer::Idle, Some(watch.first()));
        self.idle_watch = Some(watch);
    }

    /// Ends a connection without streams for long enough (wire-rules 77).
    fn look_for_streams(&mut self, now: Instant) {
        let seen = self.idle_since_stream();
        let Some(watch) = &mut self.idle_watch else { return };
        match watch.look(seen, now) {
            Look::Again(at) => self.timers.set(Timer::Idle, Some(at)),
            Look::Stuck => self.graceful_shutdown(now),
        }
    }

    /// Changes with every stream; `None` while one is open.
    fn idle_since_stream(&self) -> Option<u64> {
        self.streams.is_empty().then(|| u64::from(self.ids.newest().value()))
    }

    #[inline]
    fn write_watch_due(&self) -> bool {
        (!self.output.is_empty() || self.held_back)
            && !self.timers.is_set(Timer::WriteStall)
            && self.config.write_stall_timeout.is_some()
            && self.phase != Phase::Over
    }

    /// Output waits for the socket: from now on it is looked at whether some leaves.
    fn watch_writes(&mut self, now: Instant) {
        if let Some(timeout) = self.config.write_stall_timeout {
            let watch = Watch::new(timeout, Some(self.output.taken()), now);
            self.timers.set(Timer::WriteStall, Some(watch.first()));
            self.write_watch = Some(watch);
        }
    }

    /// Gives up on a peer that does not read (bug-reports 66, http2-abuse 16).
    fn look_at_writes(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if self.output.is_empty() && !self.held_back {
            return Ok(());
        }
        let taken = self.output.taken();
        let Some(watch) = &mut self.write_watch else { return Ok(()) };
        match watch.look(Some(taken), now) {
            Look::Again(at) => {
                self.timers.set(Timer::WriteStall, Some(at));
                Ok(())
            }
            Look::Stuck => {
                let reason = "the peer does not read";
                Err(self.late("write_stall", ErrorCode::NO_ERROR, reason))
            }
        }
    }
}

/// How long a client that has sent GOAWAY, and has no stream left, may take to close the connection.
const LEAVE_GRACE: Duration = Duration::from_secs(1);
/// Between two looks at a connection that holds output, and therefore is not quiet.
const TRIM_AGAIN: Duration = Duration::from_secs(1);
