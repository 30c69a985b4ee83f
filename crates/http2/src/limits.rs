//! Bounds on the work a peer can cause without making progress (wire-rules 87).
//!
//! Rates are token buckets, so that a burst, or any number spread over time, is no offence. Each limit has a
//! name; the peer that exceeds it is told so in GOAWAY ENHANCE_YOUR_CALM. Asked by `connection::input`.

use std::time::Instant;

use crate::error::{Blame, ConnectionError};
use crate::{ErrorCode, LimitConfig, Rate};

/// The limits of one connection and how far each is used.
// [9113-10.5-1]
#[derive(Debug)]
pub(crate) struct Limits {
    resets_received: Bucket,
    resets_provoked: Bucket,
    empty_data: Bucket,
    housekeeping: Bucket,
    control: Backlog,
    pub(crate) continuation_frames: u32,
}

impl Limits {
    pub(crate) fn new(config: &LimitConfig, now: Instant) -> Self {
        Limits {
            resets_received: Bucket::new(config.resets_received, now),
            resets_provoked: Bucket::new(config.resets_provoked, now),
            empty_data: Bucket::new(config.empty_data, now),
            housekeeping: Bucket::new(config.housekeeping, now),
            control: Backlog::new(config.control_backlog),
            continuation_frames: config.continuation_frames,
        }
    }

    /// The peer reset a stream that we were working for: rapid reset.
    pub(crate) fn on_reset_received(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.resets_received.take(now, "resets_received")
    }

    /// The peer made us reset a stream by breaking a rule.
    pub(crate) fn on_reset_provoked(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.resets_provoked.take(now, "resets_provoked")
    }

    /// A DATA frame without data that ends nothing.
    pub(crate) fn on_empty_data(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.empty_data.take(now, "empty_data")
    }

    /// A frame that moves no call forward.
    pub(crate) fn on_housekeeping(&mut self, now: Instant) -> Result<(), ConnectionError> {
        self.housekeeping.take(now, "housekeeping")
    }

    /// A call ended in good order: makes up for one that is reset.
    #[inline]
    pub(crate) fn on_stream_completed(&mut self) {
        self.resets_received.refund(1);
    }

    /// A frame of a call was sent: makes up for the frames that a peer may need to keep it going.
    #[inline]
    pub(crate) fn on_progress(&mut self) {
        self.housekeeping.refund(PER_FRAME);
    }

    /// The three frames of a response were sent.
    #[inline]
    pub(crate) fn on_whole_response(&mut self) {
        self.housekeeping.refund(3 * PER_FRAME);
    }

    /// A reply was put in the output because the peer asked for it; it ends at `end` and `taken` octets have
    /// left.
    pub(crate) fn on_control_queued(&mut self, end: u64, taken: u64) -> Result<(), ConnectionError> {
        self.control.push(end, taken).map_err(|Full| calm("control_backlog"))
    }
}

/// The error of an exceeded limit.
pub(crate) const fn calm(name: &'static str) -> ConnectionError {
    ConnectionError::new(ErrorCode::ENHANCE_YOUR_CALM, name, Blame::Limit)
}

/// Housekeeping that a frame of ours makes up for.
const PER_FRAME: u32 = 2;

/// A token bucket: `burst` tokens, refilled evenly.
#[derive(Debug)]
struct Bucket {
    rate: Rate,
    tokens: u32,
    /// Up to when the refill has been added.
    refilled: Instant,
}

impl Bucket {
    fn new(rate: Rate, now: Instant) -> Self {
        Bucket { rate, tokens: rate.burst, refilled: now }
    }

    #[inline]
    fn take(&mut self, now: Instant, name: &'static str) -> Result<(), ConnectionError> {
        if self.tokens == 0 {
            self.refill(now);
        }
        self.tokens = self.tokens.checked_sub(1).ok_or(calm(name))?;
        Ok(())
    }

    #[inline]
    fn refund(&mut self, tokens: u32) {
        self.tokens = self.tokens.saturating_add(tokens).min(self.rate.burst);
    }

    /// Only reached when empty: a bucket that is never emptied costs no arithmetic on time.
    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.refilled).as_micros();
        let due = elapsed.saturating_mul(u128::from(self.rate.per_second)) / 1_000_000;
        if due > 0 {
            // The remainder below one token is lost at most once for each token: slightly in our favour.
            self.tokens = u32::try_from(due).unwrap_or(u32::MAX).min(self.rate.burst);
            self.refilled = now;
        }
    }
}

/// Counts frames queued and not yet taken, without remembering each.
///
/// Two generations: the older one is forgotten when its last frame has left, so what counts is at least half
/// of what is really there and never more than all of it.
#[derive(Debug)]
struct Backlog {
    limit: u32,
    older: Generation,
    newer: Generation,
}

#[derive(Debug, Default)]
struct Generation {
    count: u32,
    /// Where its last frame ends.
    end: u64,
}

/// The backlog is full.
struct Full;

impl Backlog {
    fn new(limit: u32) -> Self {
        Backlog { limit, older: Generation::default(), newer: Generation::default() }
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "each is bounded by the limit, an error follows one beyond it"
    )]
    fn push(&mut self, end: u64, taken: u64) -> Result<(), Full> {
        if taken >= self.older.end {
            self.older = std::mem::take(&mut self.newer);
            if taken >= self.older.end {
                self.older = Generation::default();
            }
        }
        let full_generation = self.limit.div_ceil(2);
        let generation = if self.older.count < full_generation { &mut self.older } else { &mut self.newer };
        generation.count += 1;
        generation.end = end;
        if self.older.count + self.newer.count > self.limit { Err(Full) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_what_is_spread_over_time_always_does() {
        // wire-rules 87
        let mut now = Instant::now();
        let mut bucket = Bucket::new(Rate::new(3, 2), now);
        for _ in 0..3 {
            bucket.take(now, "x").unwrap();
        }
        let error = bucket.take(now, "x").unwrap_err();
        assert_eq!(
            (error.code(), error.reason(), error.blame()),
            (ErrorCode::ENHANCE_YOUR_CALM, "x", Blame::Limit)
        );
        for _ in 0..100 {
            now += Duration::from_millis(500);
            bucket.take(now, "x").unwrap();
        }
    }

    #[test]
    fn a_bucket_never_holds_more_than_its_burst() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Rate::new(3, 1000), now);
        let later = now + Duration::from_hours(1);
        for _ in 0..6 {
            bucket.take(later, "x").unwrap();
        }
        assert!(bucket.take(later, "x").is_err());
    }

    #[test]
    fn a_refund_never_exceeds_the_burst() {
        let now = Instant::now();
        let mut bucket = Bucket::new(Rate::new(2, 0), now);
        bucket.refund(9);
        assert_eq!((0..9).take_while(|_| bucket.take(now, "x").is_ok()).count(), 2);
        bucket.refund(1);
        assert!(bucket.take(now, "x").is_ok() && bucket.take(now, "x").is_err());
    }

    #[test]
    fn backlog_counts_only_what_has_not_left() {
        let mut backlog = Backlog::new(10);
        // A slow reader that always lags five frames behind is no offender.
        for frame in 1..1000_u64 {
            assert!(backlog.push(frame * 17, frame.saturating_sub(5) * 17).is_ok(), "frame {frame}");
        }
        // One that stops reading is.
        let stuck = (1000..1020_u64).position(|frame| backlog.push(frame * 17, 999 * 17).is_err());
        assert!(stuck.is_some_and(|frames| frames <= 10), "{stuck:?}");
    }
}
