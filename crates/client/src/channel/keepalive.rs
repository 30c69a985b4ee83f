//! How often the connections of a channel send keepalive PINGs: as configured, and half as often each time a server
//! complains (gRFC A8).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use peregrine_http2::Keepalive;

/// Servers police clients that ask more often.
pub(super) const MIN_INTERVAL: Duration = Duration::from_secs(10);
/// Shorter, and servers would be given up whose answer is on its way.
pub(super) const MIN_TIMEOUT: Duration = Duration::from_secs(1);
/// More doublings than this make no difference: the interval is in the years.
const MAX_DOUBLINGS: u64 = 24;

/// Shared by a channel and its connections.
#[derive(Debug)]
pub(crate) struct KeepaliveTime {
    configured: Option<Keepalive>,
    doublings: AtomicU64,
}

impl KeepaliveTime {
    pub(crate) fn new(configured: Option<Keepalive>) -> Self {
        Self { configured, doublings: AtomicU64::new(0) }
    }

    /// For the next connection.
    pub(super) fn now(&self) -> Option<Keepalive> {
        let doublings = self.doublings.load(Ordering::Relaxed).min(MAX_DOUBLINGS) as u32;
        let configured = self.configured?;
        Some(Keepalive { interval: configured.interval.saturating_mul(1 << doublings), ..configured })
    }

    /// A server has said that PINGs come too often (wire-rules 80, bug-reports 61).
    pub(crate) fn double(&self) {
        self.doublings.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_doubles_with_each_complaint() {
        let keepalive =
            Keepalive { interval: MIN_INTERVAL, timeout: Duration::from_secs(1), without_streams: true };
        let time = KeepaliveTime::new(Some(keepalive));
        assert_eq!(time.now(), Some(keepalive));
        time.double();
        time.double();
        assert_eq!(time.now().unwrap().interval, 4 * MIN_INTERVAL);
        for _ in 0..1_000 {
            time.double();
        }
        assert!(time.now().unwrap().interval > Duration::from_hours(24 * 365));
        let none = KeepaliveTime::new(None);
        none.double();
        assert_eq!(none.now(), None);
    }
}
