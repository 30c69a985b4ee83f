//! Settings of a channel's calls.

use peregrine_core::{CallCredentials, CallOptions, Interceptor};

use super::ChannelBuilder;

impl ChannelBuilder {
    /// Bytes of a request stream that is always ready after which what was encoded leaves, so that the server works
    /// on it while the rest is made. A message is never split for it. A stream that has nothing for now is flushed at
    /// once whatever this says. Default: 32 KiB; larger batches mean fewer system calls, and more memory for each
    /// stream. At least 1.
    // wire-rules B1
    pub fn stream_batch_size(mut self, bytes: usize) -> Self {
        self.stream_batch_size = bytes.max(1);
        self
    }

    /// Adds an interceptor, which sees every call before anything of it is sent. Interceptors run in the order in which
    /// they are added, all before the [credentials](Self::credentials) are asked. The time of a call runs meanwhile.
    /// Default: none.
    ///
    /// ```
    /// # use peregrine_client::Channel;
    /// # use peregrine_core::InterceptedCall;
    /// let channel = Channel::builder("http://127.0.0.1:50051").interceptor(|call: &mut InterceptedCall<'_>| {
    ///     call.metadata_mut().insert("x-request-source", "batch")?;
    ///     Ok(())
    /// });
    /// ```
    pub fn interceptor(mut self, interceptor: impl Interceptor) -> Self {
        self.interceptors.push(interceptor);
        self
    }

    /// Proves who every call is made for, over TLS only: with plaintext connections they are an error that
    /// [`build`](Self::build) reports. A call may have more of its own. Default: none.
    ///
    /// ```
    /// # use peregrine_client::Channel;
    /// # use peregrine_core::BearerToken;
    /// let channel = Channel::builder("https://api.example:443").credentials(BearerToken::new("t0k3n"));
    /// ```
    // wire-rules 94
    pub fn credentials(mut self, credentials: impl CallCredentials) -> Self {
        self.credentials.push(credentials);
        self
    }

    /// Options of the calls of one service, `package.Service`, or of one method, `package.Service/Method`, as far as a
    /// call sets none of its own: a method's count before its service's, and those before the channel's. Of two for
    /// the same name the later counts. A name that cannot be one is an error that [`build`](Self::build) reports.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use peregrine_client::Channel;
    /// # use peregrine_core::CallOptions;
    /// let channel = Channel::builder("http://127.0.0.1:50051")
    ///     .configure("files.v1.Files", CallOptions::new().timeout(Duration::from_secs(5)))
    ///     .configure("files.v1.Files/Download", CallOptions::new().max_response_size(64 << 20));
    /// ```
    pub fn configure(mut self, name: impl Into<String>, options: CallOptions) -> Self {
        self.methods.push((name.into(), options));
        self
    }
}
