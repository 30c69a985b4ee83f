//! Settings of a server's calls.

use peregrine_core::{Code, Interceptor};

use super::Server;
use crate::method_config::MethodConfig;

impl Server {
    /// Bytes of a response stream that is always ready after which what was encoded leaves, so that the client works
    /// on it while the rest is made. A message is never split for it. A stream that has nothing for now is flushed at
    /// once whatever this says. Default 32 KiB; larger batches mean fewer system calls, and more memory for each
    /// stream. At least 1.
    // wire-rules B1
    #[must_use]
    pub fn stream_batch_size(mut self, bytes: usize) -> Self {
        self.options.stream_batch_size = bytes.max(1);
        self
    }

    /// Whether a unary or server-streaming call that comes without its request message ends INVALID_ARGUMENT, as
    /// pekko-grpc has it, and not UNIMPLEMENTED, as the gRPC texts do. More than one message is UNIMPLEMENTED either
    /// way. Default false.
    // wire-rules 47
    #[must_use]
    pub fn missing_message_is_invalid_argument(mut self, is_invalid: bool) -> Self {
        self.options.missing_message = if is_invalid { Code::InvalidArgument } else { Code::Unimplemented };
        self
    }

    /// Adds an interceptor, which sees every call of every service once it is known which method is called, before
    /// its message is decoded. Interceptors run in the order in which they are added; those of [services and
    /// methods](Self::configure) come after the server's. Default: none.
    ///
    /// ```
    /// # use peregrine_core::{InterceptedCall, Status};
    /// # use peregrine_server::Server;
    /// let server = Server::builder().interceptor(|call: &mut InterceptedCall<'_>| {
    ///     match call.metadata().get("authorization") {
    ///         Some("Bearer t0k3n") => Ok(()),
    ///         _ => Err(Status::unauthenticated("who are you?")),
    ///     }
    /// });
    /// ```
    // wire-rules 5
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor) -> Self {
        self.options.interceptors.push(interceptor);
        self
    }

    /// Settings of one service, `package.Service`, or of one method, `package.Service/Method`, beside those of the
    /// server: a method's count before its service's, and of two for the same name the later. A name that is not
    /// mounted is an error that [`serve`](Self::serve) reports.
    #[must_use]
    pub fn configure(mut self, name: impl Into<String>, config: MethodConfig) -> Self {
        self.configs.push((name.into(), config));
        self
    }
}
