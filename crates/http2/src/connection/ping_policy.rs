//! How often a peer may send PING (gRFC A8, wire-rules 79). Asked by `input` for every PING.

use std::time::{Duration, Instant};

/// What a server allows; see [`Config::ping_policy`](super::Config::ping_policy).
///
/// A PING that comes sooner than allowed is a strike; the third strike ends the connection with GOAWAY
/// ENHANCE_YOUR_CALM and the debug data `too_many_pings`. Strikes are forgotten, and the next PING is free,
/// whenever HEADERS or DATA were sent to the client in between: its PINGs then may measure a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPolicy {
    /// Time between two PINGs of a client that has streams open. Default 5 minutes.
    pub min_interval: Duration,
    /// Whether `min_interval` holds for a client without streams as well; otherwise two hours do. Default
    /// false.
    pub without_streams: bool,
}

impl Default for PingPolicy {
    fn default() -> Self {
        PingPolicy { min_interval: Duration::from_mins(5), without_streams: false }
    }
}

/// The strikes of one peer.
#[derive(Debug, Default)]
pub(super) struct PingWatch {
    last: Option<Instant>,
    strikes: u32,
    /// HEADERS or DATA were sent since the last PING.
    sent: bool,
}

/// What a PING is to the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Strike,
    /// One strike too many.
    TooMany,
}

impl PingWatch {
    /// HEADERS or DATA were sent.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        self.sent = true;
    }

    /// A PING has come. Acknowledgements are none (bug-reports 62).
    pub(super) fn on_ping(&mut self, policy: &PingPolicy, has_streams: bool, now: Instant) -> Verdict {
        let last = self.last.replace(now);
        if std::mem::take(&mut self.sent) {
            self.strikes = 0;
            return Verdict::Allowed;
        }
        let interval = if has_streams || policy.without_streams {
            policy.min_interval
        } else {
            INTERVAL_WITHOUT_STREAMS
        };
        if last.is_none_or(|last| now.saturating_duration_since(last) >= interval) {
            return Verdict::Allowed;
        }
        self.strikes = self.strikes.saturating_add(1);
        if self.strikes > MAX_STRIKES { Verdict::TooMany } else { Verdict::Strike }
    }
}

/// Between two PINGs of a peer without streams that may not send any for keepalive.
const INTERVAL_WITHOUT_STREAMS: Duration = Duration::from_hours(2);

/// Strikes without consequence.
const MAX_STRIKES: u32 = 2;

#[cfg(test)]
mod tests {
    use super::Verdict::{Allowed, Strike, TooMany};
    use super::*;

    /// PINGs at these seconds.
    fn pings(policy: PingPolicy, has_streams: bool, seconds: &[u64]) -> Vec<Verdict> {
        let start = Instant::now();
        let mut watch = PingWatch::default();
        let at = |seconds: &u64| start + Duration::from_secs(*seconds);
        seconds.iter().map(|seconds| watch.on_ping(&policy, has_streams, at(seconds))).collect()
    }

    #[test]
    fn the_third_strike_is_one_too_many() {
        // wire-rules 79
        let policy = PingPolicy::default();
        assert_eq!(pings(policy, true, &[0, 299, 500, 600]), [Allowed, Strike, Strike, TooMany]);
        assert_eq!(
            pings(policy, true, &[7, 307, 607, 906, 1206, 1507]),
            [Allowed, Allowed, Allowed, Strike, Allowed, Allowed]
        );
    }

    #[test]
    fn without_streams_two_hours_are_due_unless_it_is_permitted() {
        // wire-rules 79
        let seconds = [0, 7199, 14_398, 21_598];
        assert_eq!(pings(PingPolicy::default(), false, &seconds), [Allowed, Strike, Strike, Allowed]);
        let permitted = PingPolicy { without_streams: true, ..PingPolicy::default() };
        assert_eq!(pings(permitted, false, &[0, 300, 600]), [Allowed; 3]);
    }

    #[test]
    fn what_is_sent_in_between_forgives_all() {
        // wire-rules 79
        let now = Instant::now();
        let mut watch = PingWatch::default();
        let policy = PingPolicy::default();
        for _ in 0..100 {
            let verdicts = [0; 3].map(|_| watch.on_ping(&policy, true, now));
            assert_ne!(verdicts[2], TooMany);
            watch.on_progress();
        }
        watch.on_ping(&policy, true, now);
        assert_eq!([0; 3].map(|_| watch.on_ping(&policy, true, now)), [Strike, Strike, TooMany]);
    }
}
