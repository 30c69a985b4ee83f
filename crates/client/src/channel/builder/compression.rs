//! Settings of a channel's message encodings.

use peregrine_core::compression::{Compression, EncodingSet};
use peregrine_core::message::Encoding;
use peregrine_core::{CallOptions, Error, Phase};

use super::ChannelBuilder;

impl ChannelBuilder {
    /// Compresses requests where that makes a message smaller; responses are read compressed whatever this says. A
    /// service or a method can have its own setting, see [`configure`](Self::configure); so can one
    /// [request](peregrine_core::Request::compress), and one message of a stream
    /// ([`compress_next`](peregrine_core::compression::compress_next)). Default: off.
    ///
    /// ```
    /// # use peregrine_client::Channel;
    /// # use peregrine_core::compression::Compression;
    /// # use peregrine_core::message::Encoding;
    /// # let builder = || Channel::builder("localhost:50051");
    /// let once_the_server_accepts_it = builder().compression(Compression::adaptive());
    /// let from_the_first_call = builder().compression(Encoding::Gzip);
    /// ```
    pub fn compression(mut self, compression: impl Into<Compression>) -> Self {
        self.defaults.compression = Some(compression.into());
        self
    }

    /// The encodings that responses may be compressed with: those of `encodings` that are compiled in are told to the
    /// server, in `grpc-accept-encoding`. None means that responses come uncompressed. Default: all that are compiled
    /// in.
    ///
    /// ```
    /// # use peregrine_client::Channel;
    /// # use peregrine_core::message::Encoding;
    /// let plain = Channel::builder("localhost:50051").accept_encodings([]);
    /// let gzip_only = Channel::builder("localhost:50051").accept_encodings([Encoding::Gzip]);
    /// ```
    // wire-rules 36, P3
    pub fn accept_encodings(mut self, encodings: impl IntoIterator<Item = Encoding>) -> Self {
        self.accept_encodings = encodings.into_iter().filter(|encoding| encoding.is_supported()).collect();
        self
    }
}

/// The value of the field; empty if there is nothing to say.
pub(super) fn accept_encoding(encodings: EncodingSet) -> String {
    if encodings.is_identity_only() { String::new() } else { encodings.to_string() }
}

/// wire-rules T4: what cannot be meant is said when the channel is built.
pub(super) fn check(options: &CallOptions, of: &str) -> Result<(), Error> {
    options.compression.map_or(Ok(()), |setting| setting.check()).map_err(|error| {
        Error::new(Phase::Config, format!("{of}: {error}"))
            .with_source(error)
            .with_hint("start from Compression::adaptive(), and name only encodings that are compiled in")
    })
}
