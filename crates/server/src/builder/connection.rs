//! Settings of a server's connections: what peers may make them do, how long they live, who hears of them.

use std::sync::Arc;

use peregrine_core::Observe;

use super::Server;
use crate::Limits;

impl Server {
    /// How much work without progress a client may cause before its connection is closed with GOAWAY
    /// ENHANCE_YOUR_CALM and the limit's name as debug data. Default: that of each limit, see [`Limits`].
    ///
    /// ```
    /// # use peregrine_server::{Limits, Rate, Server};
    /// let mut limits = Limits::default();
    /// limits.resets_received = Rate::new(5_000, 500); // clients that cancel much
    /// let server = Server::builder().limits(limits);
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Who hears of connections that come and go, and of limits that are hit. Default: nobody.
    #[must_use]
    pub fn observe(mut self, observer: impl Observe) -> Self {
        self.options.observer = Some(Arc::new(observer));
        self
    }
}
