//! Windows that grow with what a path can hold: its rate times the time there and back.
//!
//! `data_read` asks for a probe when credit for half a window goes back. The probe is a PING; what arrives until its
//! answer is what one round trip carries. If that is a good part of a window, and came faster than ever before, the
//! window was the narrow place, and twice as much is aimed at. A path or a reader that is the narrow place itself brings no
//! faster rate, so the growth ends. Small calls never use half a window and never cause a PING.
//!
//! Streams grow one by one, by WINDOW_UPDATE, when they have used half of their window up: only readers that keep up
//! get more, and a peer cannot have a hundred large windows by asking for one. Nothing ever shrinks but by the end of
//! the stream.

use std::sync::Arc;
use std::time::Instant;

use super::Connection;
use crate::budget::WindowBudget;
use crate::frame::WindowUpdate;
use crate::{StreamId, StreamKey};

/// Bounds of windows that grow when they, and not the path or the reader, hold a sender up
/// ([`Config::adaptive_windows`](super::Config::adaptive_windows)).
#[derive(Clone, Debug)]
pub struct AdaptiveWindows {
    /// No stream may have more in flight or unread than so many octets. At most 2^31-1. Default 4 MiB.
    pub max_stream_window: u32,
    /// Nor the connection in flight; and the sum of what its streams got beyond the configured window stays
    /// below this as well. At most 2^31-1. Default 16 MiB.
    pub max_connection_window: u32,
    /// What the streams of many connections may get together beyond their configured windows; `None` sets no
    /// bound. Default `None`.
    pub budget: Option<Arc<WindowBudget>>,
}

impl Default for AdaptiveWindows {
    fn default() -> Self {
        AdaptiveWindows {
            max_stream_window: 4 * 1024 * 1024,
            max_connection_window: 16 * 1024 * 1024,
            budget: None,
        }
    }
}

/// What is known of the path.
#[derive(Debug)]
pub(super) struct Path {
    probe: Option<Probe>,
    /// Octets received when the last probe was answered. A probe without data behind it would look to a peer that
    /// polices PING like one too many (wire-rules 79).
    answered: u64,
    /// The best rate a probe has seen, in octets a second.
    best: u64,
    /// What a window should be, in octets.
    target: u32,
    /// `target` needs to go no further.
    highest: u32,
    /// Probes in a row that changed nothing, and how many chances to probe are let go for that.
    useless: u32,
    skip: u32,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Instant,
    /// Octets received until then.
    received: u64,
}

impl Path {
    /// Begins with windows of `window` octets.
    pub(super) fn new(window: u32, config: &AdaptiveWindows) -> Self {
        let highest = config.max_stream_window.max(config.max_connection_window);
        Path { probe: None, answered: 0, best: 0, target: window, highest, useless: 0, skip: 0 }
    }

    /// Half a window was used, `received` octets were received in all: whether to send a probe.
    fn begin(&mut self, received: u64, now: Instant) -> bool {
        if self.probe.is_some() || self.target >= self.highest || received <= self.answered {
            return false;
        }
        if self.skip > 0 {
            self.skip = self.skip.saturating_sub(1);
            return false;
        }
        self.probe = Some(Probe { at: now, received });
        true
    }

    /// The probe is answered.
    fn finish(&mut self, received: u64, now: Instant) {
        let Some(probe) = self.probe.take() else { return };
        self.answered = received;
        let octets = received.saturating_sub(probe.received);
        let micros = now.saturating_duration_since(probe.at).as_micros().max(1);
        let per_second = u128::from(octets).saturating_mul(1_000_000).checked_div(micros).unwrap_or_default();
        let rate = u64::try_from(per_second).unwrap_or(u64::MAX);
        // A sender held up by its window sends in bursts, so that of one round trip between half a window and a
        // whole one lies behind the probe.
        let filled = octets.saturating_mul(3) >= u64::from(self.target);
        // An eighth more: less is noise.
        let faster = rate.saturating_sub(self.best) > self.best >> 3;
        self.best = self.best.max(rate);
        if filled && faster {
            self.target = self.target.saturating_mul(2).min(self.highest);
            self.useless = 0;
        } else {
            self.useless = self.useless.saturating_add(1).min(MAX_USELESS);
            self.skip = 1 << self.useless;
        }
    }
}

impl Connection {
    /// Credit for half a window has gone back: maybe a probe.
    #[cold]
    pub(super) fn on_half_window_used(&mut self) {
        let received = self.received();
        let (settled, now) = (!self.settings_due, self.received_at);
        if settled && self.path.as_mut().is_some_and(|path| path.begin(received, now)) {
            self.ping(PROBE_PING);
        }
    }

    /// Takes the acknowledgement of a probe, if it is that.
    pub(super) fn on_probe_pong(&mut self, payload: [u8; 8], now: Instant) -> bool {
        let received = self.received();
        let (Some(path), Some(config)) = (&mut self.path, &self.config.adaptive_windows) else {
            return false;
        };
        if payload != PROBE_PING || path.probe.is_none() {
            return false;
        }
        path.finish(received, now);
        // Twice the window of a stream, so that the connection does not hold up a single one.
        let aim = path.target.saturating_mul(2).min(config.max_connection_window).min(MAX_WINDOW);
        let increment = aim.saturating_sub(self.recv_window.size());
        if path.useless == 0 && increment > 0 {
            self.recv_window.grow(increment);
            self.announced = self.announced.saturating_add(u64::from(increment));
            WindowUpdate { stream: StreamId::CONNECTION, increment }.encode(self.output.frames());
        }
        true
    }

    /// By how much the window of a stream that has used up half of it grows now.
    pub(super) fn stream_growth(&mut self, key: StreamKey) -> u32 {
        let (Some(path), Some(config)) = (&self.path, &self.config.adaptive_windows) else { return 0 };
        self.streams.grow(key, path.target.min(config.max_stream_window).min(MAX_WINDOW))
    }

    /// Octets of DATA frames received on the connection, padding included: what was announced and is not open any
    /// more.
    fn received(&self) -> u64 {
        self.announced.saturating_sub(self.recv_window.available() as u64)
    }
}

/// Payload of the probes.
pub(super) const PROBE_PING: [u8; 8] = *b"how wide";

/// Up to 2^6 times half a window goes by without a probe when probes show nothing new.
const MAX_USELESS: u32 = 6;

/// RFC 9113, 6.9.1.
const MAX_WINDOW: u32 = 0x7fff_ffff;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const KIB: u64 = 1024;

    /// Probes a path of `rate` octets a second and `trip` there and back, whose sender always has data, until
    /// nothing grows any more; answers the window then.
    fn settle(rate: u64, trip: Duration) -> u64 {
        let mut path = Path::new(256 * 1024, &AdaptiveWindows::default());
        let mut now = Instant::now();
        let mut received = 0;
        for _ in 0..200 {
            received += 128 * KIB;
            if path.begin(received, now) {
                // A window a round trip, or what the path carries; then data queues and the trip takes longer.
                let window = u64::from(path.target);
                let queued = Duration::from_secs_f64(window as f64 / rate as f64);
                now += trip.max(queued);
                received += window;
                path.finish(received, now);
            }
        }
        u64::from(path.target)
    }

    #[test]
    fn a_window_grows_to_what_the_path_holds_and_no_further() {
        let trip = Duration::from_millis(20);
        // 100 MB/s by 20 ms: 2 MB.
        let settled = settle(100_000_000, trip);
        assert!((2_000_000..=8_000_000).contains(&settled), "{settled}");
        // 1 MB/s by 20 ms: 20 kB, less than the window from the beginning. The first probe has nothing to compare.
        let settled = settle(1_000_000, trip);
        assert!(settled <= 512 * KIB, "{settled}");
        // Without end.
        assert_eq!(settle(u64::MAX, trip), 16 * KIB * KIB);
    }

    #[test]
    fn a_reader_that_is_slow_is_given_no_more() {
        let mut path = Path::new(256 * 1024, &AdaptiveWindows::default());
        let mut now = Instant::now();
        let mut received = 0;
        let mut probes = 0;
        for _ in 0..1000 {
            received += 128 * KIB;
            if path.begin(received, now) {
                probes += 1;
                now += Duration::from_millis(1);
                received += 10 * KIB;
                path.finish(received, now);
            }
        }
        assert_eq!(path.target, 256 * 1024);
        assert!(probes < 25, "{probes}");
    }

    #[test]
    fn a_probe_needs_data_after_the_last_one() {
        // wire-rules 79: a server that sent nothing in between would count it
        let now = Instant::now();
        let mut path = Path::new(256 * 1024, &AdaptiveWindows::default());
        assert!(path.begin(1000, now));
        assert!(!path.begin(2000, now), "one at a time");
        path.finish(200_000, now);
        assert!(!path.begin(200_000, now));
        assert!(path.begin(200_001, now));
    }
}
