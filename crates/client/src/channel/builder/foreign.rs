//! What a channel makes of answers that come from something else than a gRPC server.

use peregrine_core::Code;

use super::ChannelBuilder;

impl ChannelBuilder {
    /// Ends calls with `code` when they are answered with `http_status` and without a `grpc-status`, as proxies and
    /// load balancers do. May be called for several statuses. Default: gRPC's own table: 400 and 431 are INTERNAL,
    /// 401 UNAUTHENTICATED, 403 PERMISSION_DENIED, 404 UNIMPLEMENTED, 429, 502, 503 and 504 UNAVAILABLE, any other
    /// UNKNOWN.
    ///
    /// ```
    /// use peregrine_client::Channel;
    /// # use peregrine_core::Code;
    ///
    /// // This gateway answers 404 while it learns its routes.
    /// let builder = Channel::builder("http://gateway:80").code_for_http_status(404, Code::Unavailable);
    /// ```
    // wire-rules 55
    pub fn code_for_http_status(mut self, http_status: u16, code: Code) -> Self {
        self.http_codes = self.http_codes.with(http_status, code);
        self
    }
}
