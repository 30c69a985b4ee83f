//! Settings of a channel's connections: what peers may make them do, how long they live, who hears of them.

use std::sync::Arc;

use peregrine_core::Observe;

use super::ChannelBuilder;
use crate::Limits;

impl ChannelBuilder {
    /// How much work without progress a server may cause before its connection is closed with GOAWAY
    /// ENHANCE_YOUR_CALM and the limit's name as debug data. Default: that of each limit, see [`Limits`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Who hears of connections that come and go, and of limits that are hit. Default: nobody.
    pub fn observe(mut self, observer: impl Observe) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}
