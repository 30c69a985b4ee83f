//! What a shutdown did.

use std::fmt;
use std::time::Duration;

/// What became of the connections when a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Connections that were open when the shutdown began.
    pub connections: usize,
    /// Connections that had not finished when the grace period was over, and were closed.
    pub cut_connections: usize,
    /// Calls on those that had not been answered to their end, a reply that waits for the client's window included.
    pub cut_calls: usize,
    /// How long the shutdown took.
    pub elapsed: Duration,
}

impl ShutdownReport {
    /// Of no connections.
    pub(super) const NOTHING: Self =
        Self { connections: 0, cut_connections: 0, cut_calls: 0, elapsed: Duration::ZERO };

    /// True when every call that was running got its answer.
    pub fn is_clean(&self) -> bool {
        self.cut_calls == 0
    }
}

impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} connections closed in {:?}", self.connections, self.elapsed)?;
        if self.cut_connections > 0 {
            write!(
                f,
                "; cut: {} connections with {} unfinished calls",
                self.cut_connections, self.cut_calls
            )?;
        }
        Ok(())
    }
}
