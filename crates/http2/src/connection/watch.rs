//! Finds out that something has not moved for a time, by looking now and then instead of being told of every
//! move: what moves on every call must not touch a timer.

use std::time::{Duration, Instant};

/// A look at a number that changes whenever the watched thing moves.
#[derive(Debug)]
pub(super) struct Watch {
    timeout: Duration,
    seen: Option<u64>,
    /// When `seen` was seen first.
    since: Instant,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Look again then.
    Again(Instant),
    /// It has not moved for the whole timeout.
    Stuck,
}

impl Watch {
    /// Begins to watch. The first look is due at [`first`](Self::first).
    pub(super) fn new(timeout: Duration, seen: Option<u64>, now: Instant) -> Self {
        Watch { timeout, seen, since: now }
    }

    /// When to look first.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "an eighth of any duration can be added to any instant"
    )]
    pub(super) fn first(&self) -> Instant {
        self.since + self.period()
    }

    /// Looks: `None` is moving for certain, two equal numbers in a row have not moved. Never finds stuck what
    /// moved less than the timeout ago, and finds what did not within an eighth more.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "an eighth of any duration can be added to any instant"
    )]
    pub(super) fn look(&mut self, seen: Option<u64>, now: Instant) -> Look {
        if seen.is_none() || seen != self.seen {
            self.seen = seen;
            self.since = now;
        } else if now.saturating_duration_since(self.since) >= self.timeout {
            return Look::Stuck;
        }
        let next = now + self.period();
        Look::Again(self.since.checked_add(self.timeout).map_or(next, |end| next.min(end)))
    }

    /// Between two looks. Not zero, so that time always passes.
    #[expect(clippy::arithmetic_side_effects, reason = "the divisor is a number")]
    fn period(&self) -> Duration {
        (self.timeout / 8).max(Duration::from_millis(1))
    }
}

/// `now` and `time` later. A time that no clock will show is as good as an eighth of it, which none will show either.
pub(super) fn after(now: Instant, time: Duration) -> Instant {
    let eighth = time.checked_div(8).unwrap_or_default();
    now.checked_add(time).or_else(|| now.checked_add(eighth)).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Looks as often as asked for, at what `value` is then; answers when it was found stuck.
    fn found(
        timeout: Duration,
        until: Duration,
        value: impl Fn(Duration) -> Option<u64>,
    ) -> Option<Duration> {
        let start = Instant::now();
        let mut watch = Watch::new(timeout, value(Duration::ZERO), start);
        let mut at = watch.first();
        while at - start < until {
            match watch.look(value(at - start), at) {
                Look::Stuck => return Some(at - start),
                Look::Again(next) => at = next,
            }
        }
        None
    }

    #[test]
    fn stuck_is_found_after_the_timeout_and_at_most_an_eighth_late() {
        for moved_last in (0..200).map(|tenths| SECOND / 10 * tenths) {
            let value = |at: Duration| Some(at.min(moved_last).as_millis() as u64);
            let found = found(8 * SECOND, 100 * SECOND, value).unwrap();
            assert!(found >= moved_last + 8 * SECOND, "{moved_last:?}: {found:?}");
            assert!(found <= moved_last + 9 * SECOND, "{moved_last:?}: {found:?}");
        }
    }

    #[test]
    fn what_moves_or_is_busy_is_never_stuck() {
        assert_eq!(found(8 * SECOND, 1000 * SECOND, |at| Some(at.as_secs() / 7)), None);
        assert_eq!(found(8 * SECOND, 1000 * SECOND, |_| None), None);
    }

    #[test]
    fn a_timeout_of_zero_lets_time_pass() {
        assert_eq!(found(Duration::ZERO, SECOND, |_| Some(1)), Some(SECOND / 1000));
    }

    #[test]
    fn a_time_beyond_all_clocks_is_far_away() {
        let now = Instant::now();
        assert_eq!(after(now, SECOND), now + SECOND);
        assert!(after(now, Duration::MAX) > now + Duration::from_hours(1_000_000));
    }
}
