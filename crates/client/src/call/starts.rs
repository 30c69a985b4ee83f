//! How often a call is started again that no peer has worked on.

use crate::connection::{CallDeadline, Fate};

/// Starts of a call on connections that went away before the peer looked at any call.
const MAX_MISSED: u32 = 5;

/// How often a call was started in vain, with the certainty that the peer has not worked on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    missed: u32,
    was_refused: bool,
    /// The call waits for ready, so only its deadline or its caller end the starts that no peer has seen.
    pub(super) waits: bool,
}

impl Starts {
    /// The number of the next start, from 1.
    pub(super) fn next(self) -> u32 {
        1 + self.missed + u32::from(self.was_refused)
    }

    /// Whether a call that failed so is started again.
    pub(super) fn allow_another(&mut self, fate: Fate) -> bool {
        match fate {
            Fate::Unknown => false,
            // wire-rules 67: once.
            Fate::Refused => !std::mem::replace(&mut self.was_refused, true),
            // wire-rules 75, bug-reports 55
            Fate::Missed => {
                self.missed = self.missed.saturating_add(1);
                self.waits || self.missed <= MAX_MISSED
            }
            Fate::Late => true,
        }
    }

    /// Starts beyond those that are made at once: before each more, a call that waits for ready pauses as a channel
    /// does between attempts to connect, since connections that take no calls are as good as none.
    pub(super) fn pauses(self) -> u32 {
        self.missed.saturating_sub(MAX_MISSED)
    }
}

/// What was done for a call before its plan was made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Earlier {
    /// When the call has to be over, if that was worked out.
    pub(super) deadline: Option<CallDeadline>,
    pub(super) starts: Starts,
}
