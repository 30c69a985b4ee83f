//! How long a channel waits between attempts to connect: exponential with jitter, the figures of gRPC's
//! connection-backoff document.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// After the first failure.
const INITIAL: Duration = Duration::from_secs(1);
/// Growth from one failure to the next.
const MULTIPLIER: f64 = 1.6;
/// Never longer than this, jitter aside.
const MAX: Duration = Duration::from_mins(2);
/// The wait is spread by this share both ways, so that the clients of a restarted server do not return together.
const JITTER: f64 = 0.2;

/// The wait after `failures` failures in a row (at least 1), spread.
pub(crate) fn wait(failures: u32) -> Duration {
    delay(failures, random())
}

/// The wait after `failures` failures in a row (at least 1). `random` picks a point of the spread.
fn delay(failures: u32, random: u64) -> Duration {
    // 11 steps reach the maximum; more would only overflow the power.
    let steps = failures.saturating_sub(1).min(16) as i32;
    let base = (INITIAL.as_secs_f64() * MULTIPLIER.powi(steps)).min(MAX.as_secs_f64());
    let point = random as f64 / u64::MAX as f64;
    Duration::from_secs_f64(base * (1.0 - JITTER + 2.0 * JITTER * point))
}

/// A number that differs from call to call and from process to process, from the seeds of the standard hash maps.
/// Good for jitter and hash seeds, not for secrets.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_maximum_and_stay_there() {
        let middle = |failures| delay(failures, u64::MAX / 2).as_secs_f64();
        assert!((middle(1) - 1.0).abs() < 0.01);
        assert!((middle(2) - 1.6).abs() < 0.01);
        assert!((middle(3) - 2.56).abs() < 0.01);
        assert!((middle(12) - 120.0).abs() < 0.1);
        assert!((middle(u32::MAX) - 120.0).abs() < 0.1);
    }

    #[test]
    fn jitter_stays_within_a_fifth() {
        assert_eq!(delay(1, 0), Duration::from_millis(800));
        assert_eq!(delay(1, u64::MAX), Duration::from_millis(1200));
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
