//! Settings of a server's connections: what peers may make them do, how long they live, who hears of them.
//!
//! Durations that may be turned off take `None` as well.

use std::sync::Arc;
use std::time::Duration;

use peregrine_core::Observe;
use peregrine_http2::{AdaptiveWindows, Keepalive, LimitConfig, PingPolicy};

use super::Server;

/// gRPC's own bound for servers: more PINGs would only be load.
const MIN_KEEPALIVE: Duration = Duration::from_secs(1);
/// Shorter, and clients would be cut whose answer is on its way.
const MIN_KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(1);

impl Server {
    /// How much work without progress a client may cause before its connection is closed with GOAWAY
    /// ENHANCE_YOUR_CALM and the limit's name as debug data. Default: that of each limit, see
    /// [`Limits`](crate::Limits).
    ///
    /// ```
    /// # use peregrine_server::{Limits, Rate, Server};
    /// let mut limits = Limits::default();
    /// limits.resets_received = Rate::new(5_000, 500); // clients that cancel much
    /// let server = Server::builder().limits(limits);
    /// ```
    // wire-rules 87
    #[must_use]
    pub fn limits(mut self, limits: LimitConfig) -> Self {
        self.options.engine.limits = limits;
        self
    }

    /// Who hears of connections that come and go, of limits that are hit, of what settings of compression came to, and
    /// of messages if it wants to. Default: nobody.
    #[must_use]
    pub fn observe(mut self, observer: impl Observe) -> Self {
        self.options.observer = Some(Arc::new(observer));
        self
    }

    /// When a silent client is asked for a sign of life. One that gives none within the timeout is gone: its calls
    /// are cancelled. Default: after 2 hours, with 20 s to answer, with or without calls. An interval or a timeout
    /// below 1 s is raised to that.
    // wire-rules 78
    #[must_use]
    pub fn keepalive(mut self, keepalive: impl Into<Option<Keepalive>>) -> Self {
        self.options.engine.keepalive = keepalive.into().map(|keepalive| Keepalive {
            interval: keepalive.interval.max(MIN_KEEPALIVE),
            timeout: keepalive.timeout.max(MIN_KEEPALIVE_TIMEOUT),
            ..keepalive
        });
        self
    }

    /// How often clients may send PING; the third one too many closes the connection with GOAWAY and the debug data
    /// `too_many_pings` (gRFC A8). Default: every 5 minutes while calls run, every 2 hours otherwise. `None` leaves
    /// it to [`Limits`](crate::Limits).
    // wire-rules 79
    #[must_use]
    pub fn ping_policy(mut self, policy: impl Into<Option<PingPolicy>>) -> Self {
        self.options.engine.ping_policy = policy.into();
        self
    }

    /// How long a connection may be without calls before it is closed gracefully (gRFC A9). Default: for ever.
    #[must_use]
    pub fn max_connection_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.options.engine.max_idle = idle.into();
        self
    }

    /// How old a connection may get before it is closed gracefully, its calls left to finish: clients come back
    /// and spread over the servers that there are by then. Each connection gets up to a tenth more or less (gRFC
    /// A9). Default: any age.
    #[must_use]
    pub fn max_connection_age(mut self, age: impl Into<Option<Duration>>) -> Self {
        self.options.engine.max_age = age.into();
        self
    }

    /// How long the calls of a connection that is being closed gracefully, for its age for instance, may take to
    /// end; what runs then is cut. The server's own shutdown has its
    /// [`shutdown_grace`](Self::shutdown_grace) besides. Default: as long as they like.
    #[must_use]
    pub fn max_connection_age_grace(mut self, grace: impl Into<Option<Duration>>) -> Self {
        self.options.engine.drain_timeout = grace.into();
        self
    }

    /// How far windows grow when they hold a client's uploads up: up to twice what the path can carry, within these
    /// bounds. Default: 4 MiB a stream, 16 MiB a connection, 256 MiB all connections of the server. `None` keeps
    /// them at [`initial_stream_window`](Self::initial_stream_window) and
    /// [`initial_connection_window`](Self::initial_connection_window).
    #[must_use]
    pub fn adaptive_windows(mut self, windows: impl Into<Option<AdaptiveWindows>>) -> Self {
        self.options.engine.adaptive_windows = windows.into();
        self
    }

    /// How long replies may wait for a client whose socket takes nothing at all before the connection is cut.
    /// Default: 2 minutes.
    #[must_use]
    pub fn write_stall_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options.engine.write_stall_timeout = timeout.into();
        self
    }

    /// How long a reply may wait for window that its client does not give before the call is reset with CANCEL.
    /// Default: 5 minutes; `None` for streams that are read once in a while only.
    // http2-abuse 17
    #[must_use]
    pub fn stream_stall_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options.engine.stream_stall_timeout = timeout.into();
        self
    }

    /// How long a client may take to acknowledge our SETTINGS (RFC 9113 6.5.3). Default: 10 s.
    #[must_use]
    pub fn settings_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options.engine.settings_timeout = timeout.into();
        self
    }
    /// How long the message of a unary or server-streaming request may take to arrive, from its head to its last
    /// byte; what trickles in longer ends DEADLINE_EXCEEDED and is counted as `slow_request`. Noticed up to a quarter
    /// late. A request that is no gRPC is refused then at the latest. Default: 10 minutes. A call's own deadline ends
    /// it earlier.
    // http2-abuse 39
    #[must_use]
    pub fn receive_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.options.receive_timeout = timeout.into();
        self
    }

    /// Bytes of replies that may wait for a connection whose client does not read, or gives it no window. Beyond,
    /// calls are accepted but their handlers do not begin until there is room, which is counted as `queued_replies`;
    /// streams of replies wait much earlier. Default: 16 MiB.
    // http2-abuse 16
    #[must_use]
    pub fn max_queued_replies(mut self, bytes: usize) -> Self {
        self.options.engine.max_backlog = bytes;
        self
    }
}
