//! Message formats beside the codec's own.

use std::sync::Arc;

use peregrine_core::{Format, MessageFormat};

use super::ChannelBuilder;

impl ChannelBuilder {
    /// Makes calls in this format: `.json(Json::new())` for `application/grpc+json`. A call may choose otherwise with
    /// [`Request::format`](peregrine_core::Request::format), and [`format`](Self::format) behind this one makes it
    /// something that calls have to ask for. Default: the codec's own, protobuf.
    pub fn json(mut self, format: impl MessageFormat + 'static) -> Self {
        self.defaults.format = Some(format.format());
        self.formats.add(Arc::new(format));
        self
    }

    /// How messages look on the wire unless a call says otherwise. Default: [`Format::Proto`], or the format that the
    /// channel was given with [`json`](Self::json); another one is an error that [`build`](Self::build) reports.
    pub fn format(mut self, format: Format) -> Self {
        self.defaults.format = Some(format);
        self
    }
}
