//! How fast connections are accepted: a token bucket in the form that needs no refill.

use std::time::Duration;

use peregrine_http2::Rate;
use tokio::time::Instant;

/// A limit on accepted connections. What comes faster waits in the system's backlog.
#[derive(Debug)]
pub(super) struct AcceptRate {
    /// Time that one connection uses up.
    interval: Duration,
    /// How far `used_up` may run ahead of the clock.
    allowance: Duration,
    /// Up to when time has been used up.
    used_up: Instant,
}

impl AcceptRate {
    pub(super) fn new(rate: Rate, now: Instant) -> Self {
        let interval = Duration::from_secs(1) / rate.per_second.max(1);
        Self { interval, allowance: interval * rate.burst.saturating_sub(1), used_up: now }
    }

    /// How long the next connection has to wait.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.used_up.saturating_duration_since(now).saturating_sub(self.allowance)
    }

    /// A connection was accepted.
    pub(super) fn on_accepted(&mut self, now: Instant) {
        self.used_up = self.used_up.max(now) + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let start = Instant::now();
        let mut rate = AcceptRate::new(Rate::new(3, 10), start);
        for _ in 0..3 {
            assert_eq!(rate.wait(start), Duration::ZERO);
            rate.on_accepted(start);
        }
        assert_eq!(rate.wait(start), Duration::from_millis(100));
        let later = start + Duration::from_millis(100);
        assert_eq!(rate.wait(later), Duration::ZERO);
        rate.on_accepted(later);
        assert_eq!(rate.wait(later), Duration::from_millis(100));
        // A quiet second fills the bucket, and no more than that.
        let quiet = later + Duration::from_mins(1);
        for _ in 0..3 {
            assert_eq!(rate.wait(quiet), Duration::ZERO);
            rate.on_accepted(quiet);
        }
        assert!(rate.wait(quiet) > Duration::ZERO);
    }
}
