//! What errors of handlers become.

use peregrine_core::Status;

use super::Server;
use crate::call::errors::ErrorMapper;

impl Server {
    /// Lets `map` look at every status that a handler, or its response stream, fails with, and answer with another
    /// one instead. `None` leaves the status as it is, so that `map` needs to know only the errors it is about.
    /// Default: statuses are sent as handlers return them.
    ///
    /// A handler's own errors arrive as the [`source`](std::error::Error::source) of a status that was made with
    /// [`Status::from_error`] or [`Status::with_source`]. If `map` panics, the call ends with INTERNAL. Not asked:
    /// refusals that come before a handler runs, deadlines, and panics of handlers.
    ///
    /// ```
    /// # use std::error::Error as _;
    /// # use peregrine_core::Status;
    /// # use peregrine_server::Server;
    /// let server = Server::builder().map_errors(|status| {
    ///     let io = status.source()?.downcast_ref::<std::io::Error>()?;
    ///     (io.kind() == std::io::ErrorKind::NotFound).then(|| Status::not_found("no such file"))
    /// });
    /// ```
    // wire-rules E2
    #[must_use]
    pub fn map_errors(mut self, map: impl Fn(&Status) -> Option<Status> + Send + Sync + 'static) -> Self {
        self.options.error_mapper = Some(ErrorMapper::new(map));
        self
    }
}
