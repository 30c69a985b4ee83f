//! How often a client may send PING.

use std::time::Duration;

/// What a server allows (gRFC A8, wire-rules 79); see [`Config::ping_policy`](super::Config::ping_policy).
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
