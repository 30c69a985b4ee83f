//! Settings of a channel's connections: what servers may make them do, how long they live, who hears of them.
//!
//! Durations that may be turned off take `None` as well.

use std::sync::Arc;
use std::time::Duration;

use peregrine_core::Observe;
use peregrine_http2::{AdaptiveWindows, Keepalive, LimitConfig};

use super::ChannelBuilder;
use crate::channel::keepalive::{MIN_INTERVAL, MIN_TIMEOUT};

impl ChannelBuilder {
    /// How much work without progress a server may cause before its connection is closed with GOAWAY
    /// ENHANCE_YOUR_CALM and the limit's name as debug data. Default: that of each limit, see
    /// [`Limits`](crate::Limits).
    // wire-rules 87
    pub fn limits(mut self, limits: LimitConfig) -> Self {
        self.engine.limits = limits;
        self
    }

    /// Who hears of connections that come and go, of limits that are hit, of what settings of compression came to, and
    /// of messages if it wants to. Default: nobody.
    pub fn observe(mut self, observer: impl Observe) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// When a silent server is asked for a sign of life. If it gives none within the timeout, calls end UNAVAILABLE
    /// and the next one makes another connection. Default: never.
    ///
    /// A timeout below 1 s is raised to that. An interval below 10 s is raised to that, and doubled for later
    /// connections when a server complains of too many PINGs (gRFC A8). Many servers allow one in 5 minutes, and with
    /// `without_streams` one in 2 hours: ask the server's operator.
    // wire-rules 78, 80
    pub fn keepalive(mut self, keepalive: impl Into<Option<Keepalive>>) -> Self {
        self.engine.keepalive = keepalive.into().map(|keepalive| Keepalive {
            interval: keepalive.interval.max(MIN_INTERVAL),
            timeout: keepalive.timeout.max(MIN_TIMEOUT),
            ..keepalive
        });
        self
    }

    /// How long a connection may be without calls before it is closed; the next call makes another. Default: for
    /// ever.
    pub fn max_connection_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.engine.max_idle = idle.into();
        self
    }

    /// How old a connection may get before calls move to a new one; those in progress finish. Default: any age.
    pub fn max_connection_age(mut self, age: impl Into<Option<Duration>>) -> Self {
        self.engine.max_age = age.into();
        self
    }

    /// How far windows grow when they hold a server's replies up: up to twice what the path can carry, within these
    /// bounds. Default: 4 MiB a stream, 16 MiB the connection. `None` keeps them at
    /// [`initial_stream_window`](Self::initial_stream_window) and
    /// [`initial_connection_window`](Self::initial_connection_window).
    pub fn adaptive_windows(mut self, windows: impl Into<Option<AdaptiveWindows>>) -> Self {
        self.engine.adaptive_windows = windows.into();
        self
    }

    /// How long requests may wait for a server whose socket takes nothing at all before the connection is cut.
    /// Default: 2 minutes.
    pub fn write_stall_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.engine.write_stall_timeout = timeout.into();
        self
    }

    /// How long a request stream may wait for window that the server does not give before the call is reset.
    /// Default: for ever, as long as the call's deadline allows.
    pub fn stream_stall_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.engine.stream_stall_timeout = timeout.into();
        self
    }

    /// How long a server may take to acknowledge our SETTINGS (RFC 9113 6.5.3). Default: 10 s.
    pub fn settings_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.engine.settings_timeout = timeout.into();
        self
    }
}
