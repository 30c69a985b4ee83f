//! Windows that grow with what a path can hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bounds of windows that grow when they, and not the path or the reader, hold a sender up
/// ([`Config::adaptive_windows`](super::Config::adaptive_windows)).
#[derive(Clone, Debug)]
pub struct AdaptiveWindows {
    /// No stream may have more in flight or unread than so many octets. Default 4 MiB.
    pub max_stream_window: u32,
    /// Nor the connection in flight; and the sum of what its streams got beyond the configured window stays
    /// below this as well. Default 16 MiB.
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

/// Octets of grown windows that connections share, for a bound per process. Lock-free.
#[derive(Debug)]
pub struct WindowBudget {
    limit: u64,
    used: AtomicU64,
}

impl WindowBudget {
    /// A budget of `limit` octets.
    pub fn new(limit: u64) -> Self {
        WindowBudget { limit, used: AtomicU64::new(0) }
    }

    /// Octets handed out and not yet given back.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The most there is to hand out.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}
