//! Message formats beside the codec's own.

use std::sync::Arc;

use peregrine_core::MessageFormat;

use super::Server;

impl Server {
    /// Also takes calls in this format, chosen by the request's content type and answered in the same:
    /// `.json(Json::new())` for `application/grpc+json`. A service without descriptors answers such calls UNIMPLEMENTED.
    /// Default: none, and a request in any other format than the codec's is answered UNIMPLEMENTED.
    #[must_use]
    pub fn json(mut self, format: impl MessageFormat + 'static) -> Self {
        self.options.formats.push(Arc::new(format));
        self
    }
}
