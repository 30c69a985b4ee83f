//! The user's say in what a handler's error becomes (wire-rules E2).

use std::fmt;
use std::sync::Arc;

use peregrine_core::{Code, Status, drop_quietly, survive};

/// What a call ends with whose request message could not be read. The client is told whose limit is too low, and its
/// server's operator what raises it (wire-rules 42).
#[cold]
pub(crate) fn bad_request(status: Status) -> Status {
    if status.code() != Code::ResourceExhausted {
        return status;
    }
    let message =
        format!("{} of this server, which its max_receive_message_size can raise", status.message());
    status.with_message(message)
}

/// Looks at the status of a failed handler and gives another one in its place, or none.
#[derive(Clone)]
pub(crate) struct ErrorMapper(Arc<Map>);

type Map = dyn Fn(&Status) -> Option<Status> + Send + Sync;

impl ErrorMapper {
    pub(crate) fn new(map: impl Fn(&Status) -> Option<Status> + Send + Sync + 'static) -> Self {
        Self(Arc::new(map))
    }

    /// What a call ends with whose handler returned `status`. A mapper that panics is the server's fault, and its
    /// words stay here (E1, E2).
    fn map(&self, status: Status) -> Status {
        let mapped = match survive(|| (self.0)(&status)) {
            Some(Some(mapped)) => mapped,
            Some(None) => return status,
            None => Status::internal("the server's error mapper panicked"),
        };
        drop_quietly(status);
        mapped
    }
}

/// The status that a handler's error stands for: what the mapper says, never OK (wire-rules E1, E2). Calls that
/// succeed do not come here (wire-rules E4).
#[cold]
pub(crate) fn settled(status: Status, mapper: Option<&ErrorMapper>) -> Status {
    match mapper {
        Some(mapper) => mapper.map(status).refuse_ok(),
        None => status.refuse_ok(),
    }
}

impl fmt::Debug for ErrorMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorMapper")
    }
}
