//! Settings of a channel's message encodings.

use peregrine_core::compression::EncodingSet;
use peregrine_core::message::Encoding;

use super::ChannelBuilder;

impl ChannelBuilder {
    /// The encodings that responses may be compressed with: those of `encodings` that are compiled in are told to the
    /// server, in `grpc-accept-encoding`. None means that responses come uncompressed (wire-rules 36, P3). Default: all
    /// that are compiled in.
    ///
    /// ```
    /// # use peregrine_client::Channel;
    /// # use peregrine_core::message::Encoding;
    /// let plain = Channel::builder("localhost:50051").accept_encodings([]);
    /// let gzip_only = Channel::builder("localhost:50051").accept_encodings([Encoding::Gzip]);
    /// ```
    pub fn accept_encodings(mut self, encodings: impl IntoIterator<Item = Encoding>) -> Self {
        self.accept_encodings = encodings.into_iter().filter(|encoding| encoding.is_supported()).collect();
        self
    }
}

/// The value of the field; empty if there is nothing to say.
pub(super) fn accept_encoding(encodings: EncodingSet) -> String {
    if encodings.is_identity_only() { String::new() } else { encodings.to_string() }
}
