//! Settings of single services and methods, and what a method has once they are resolved.

use std::sync::Arc;
use std::time::Duration;

use peregrine_core::Interceptor;
use peregrine_core::compression::{Compression, Packer};
use peregrine_core::intercept::Interceptors;

use crate::call::errors::ErrorMapper;
use crate::options::Options;

/// Settings of one service or one method, for [`Server::configure`](crate::Server::configure). What is not set here is
/// the service's, then the server's.
///
/// ```
/// # use std::time::Duration;
/// # use peregrine_server::{MethodConfig, Server};
/// let uploads = MethodConfig::new().max_receive_message_size(64 << 20).timeout(Duration::from_secs(60));
/// let server = Server::builder().configure("files.v1.Files/Upload", uploads);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MethodConfig {
    max_receive: Option<usize>,
    max_send: Option<usize>,
    timeout: Option<Duration>,
    pub(crate) compression: Option<Compression>,
    interceptors: Interceptors,
}

impl MethodConfig {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Largest request message in bytes; a larger one ends its call with RESOURCE_EXHAUSTED. Default: the server's
    /// [`max_receive_message_size`](crate::Server::max_receive_message_size), 4 MiB.
    // wire-rules 42
    #[must_use]
    pub fn max_receive_message_size(mut self, bytes: usize) -> Self {
        self.max_receive = Some(bytes);
        self
    }

    /// Largest reply message in bytes; a larger one is not sent and ends its call with RESOURCE_EXHAUSTED. Default:
    /// the server's [`max_send_message_size`](crate::Server::max_send_message_size), 4 GiB - 1.
    // wire-rules 44
    #[must_use]
    pub fn max_send_message_size(mut self, bytes: usize) -> Self {
        self.max_send = Some(bytes.min(u32::MAX as usize));
        self
    }

    /// Longest time that a call may take, from its head on; then it ends DEADLINE_EXCEEDED as if its client had set
    /// this deadline. A client's own deadline counts where it is earlier. Default: as long as the client lets it.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Whether and how replies are compressed. Default: as the server's [`compression`](crate::Server::compression).
    #[must_use]
    pub fn compression(mut self, compression: impl Into<Compression>) -> Self {
        self.compression = Some(compression.into());
        self
    }

    /// Adds an interceptor, which runs after those that were added before, those of the service, and those of the
    /// [server](crate::Server::interceptor). Default: none.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor) -> Self {
        self.interceptors.push(interceptor);
        self
    }
}

/// What holds for one method.
#[derive(Clone, Debug, Default)]
pub(crate) struct MethodSettings {
    /// Largest request message, in bytes.
    pub(crate) max_receive: usize,
    /// Largest reply message, in bytes.
    pub(crate) max_send: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) compression: Compression,
    /// One for each encoding of `compression`, preferred ones first (wire-rules N6, P1).
    pub(crate) packers: Vec<Arc<Packer>>,
    /// The server's, the service's and the method's, in this order.
    pub(crate) interceptors: Interceptors,
    /// Whether connections are encrypted.
    pub(crate) is_secure: bool,
    /// The user's say in what a handler's error becomes.
    pub(crate) error_mapper: Option<ErrorMapper>,
}

impl MethodSettings {
    /// Those of a method about which nobody said anything.
    pub(crate) fn of_server(options: &Options) -> Self {
        Self {
            max_receive: options.max_receive_message_size,
            max_send: options.max_send_message_size,
            timeout: None,
            compression: options.compression,
            packers: Vec::new(),
            interceptors: options.interceptors.clone(),
            is_secure: options.secure.is_tls(),
            error_mapper: options.error_mapper.clone(),
        }
    }

    pub(crate) fn apply(&mut self, config: &MethodConfig) {
        self.max_receive = config.max_receive.unwrap_or(self.max_receive);
        self.max_send = config.max_send.unwrap_or(self.max_send);
        self.timeout = config.timeout.or(self.timeout);
        self.compression = config.compression.unwrap_or(self.compression);
        self.interceptors = self.interceptors.then(&config.interceptors);
    }

    /// Everything was applied: makes what calls share.
    pub(crate) fn settle(&mut self) {
        let setting = self.compression;
        self.packers =
            setting.encodings().map(|encoding| Arc::new(Packer::new(&setting, encoding))).collect();
    }
}
