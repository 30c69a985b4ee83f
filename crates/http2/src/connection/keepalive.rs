//! PINGs of ours that find out whether the peer is still there.

use std::time::Duration;

/// When to ask a silent peer for a sign of life, and how long to wait for it
/// ([`Config::keepalive`](super::Config::keepalive)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// A PING goes out when nothing at all was received for so long. The gRPC texts ask clients for at least
    /// 10 s, and servers police clients by their own [`PingPolicy`](super::PingPolicy); neither is enforced
    /// here.
    pub interval: Duration,
    /// The connection ends when so long after the PING still nothing was received.
    pub timeout: Duration,
    /// Whether a connection without streams is asked as well. A server does so as a rule; most servers allow
    /// a client no more than one such PING in two hours.
    pub without_streams: bool,
}
