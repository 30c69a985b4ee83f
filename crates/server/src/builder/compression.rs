//! Settings of a server's message encodings.

use peregrine_core::compression::{Compression, InvalidCompression};
use peregrine_core::{Error, Phase};

use super::Server;
use crate::method_config::MethodConfig;

impl Server {
    /// Compresses replies, with the first of our encodings that the client accepts, where that makes a message smaller.
    /// Requests are read compressed whatever this says. One service or method can have its own setting, see
    /// [`configure`](Self::configure); so can one [response](peregrine_core::Response::compress), and one message of a
    /// stream ([`compress_next`](peregrine_core::compression::compress_next)). Default: off.
    ///
    /// ```
    /// # use peregrine_core::compression::Compression;
    /// # use peregrine_server::{MethodConfig, Server};
    /// let server = Server::builder()
    ///     .compression(Compression::adaptive())
    ///     .configure("auth.v1.Tokens", MethodConfig::new().compression(Compression::off()));
    /// ```
    #[must_use]
    pub fn compression(mut self, compression: impl Into<Compression>) -> Self {
        self.options.compression = compression.into();
        self
    }
}

/// wire-rules T4: what cannot be meant is said when the server starts.
pub(super) fn check(server: &Compression, configs: &[(String, MethodConfig)]) -> Result<(), Error> {
    let failed = |of: &str, error: InvalidCompression| {
        Error::new(Phase::Serve, format!("{of}: {error}"))
            .with_source(error)
            .with_hint("start from Compression::adaptive(), and name only encodings that are compiled in")
    };
    server.check().map_err(|error| failed("the server", error))?;
    for (name, config) in configs {
        config.compression.map_or(Ok(()), |setting| setting.check()).map_err(|error| failed(name, error))?;
    }
    Ok(())
}
