//! What came instead of a response of gRPC's, from a web server or a proxy: shown to people (wire-rules 55, 57).

use peregrine_core::Status;
use peregrine_http2::Head;

use crate::call_error::hinted;

/// Bytes of a page that is not gRPC shown in the status message (57).
const PAGE_LIMIT: usize = 1024;

/// A response that something other than a gRPC server gave.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) http_status: u16,
    content_type: String,
    body: Vec<u8>,
}

impl Page {
    pub(super) fn new(head: &Head) -> Self {
        let content_type = head.field(b"content-type").map(|value| value.escape_ascii().to_string());
        Self {
            http_status: head.status().unwrap_or_default(),
            content_type: content_type.unwrap_or_default(),
            body: Vec::new(),
        }
    }

    /// Keeps the start of the body; true when there is enough.
    pub(super) fn push(&mut self, data: &[u8]) -> bool {
        let room = PAGE_LIMIT - self.body.len();
        self.body.extend_from_slice(&data[..data.len().min(room)]);
        self.body.len() == PAGE_LIMIT
    }

    /// The code follows the HTTP status (55), the message shows what came instead of gRPC (57).
    pub(super) fn status(&self) -> Status {
        let status = Status::from_http_status(self.http_status);
        let mut message = format!("the peer answered HTTP status {}", self.http_status);
        message += match self.content_type.as_str() {
            "" => ", which is not gRPC",
            _ => " with content-type ",
        };
        message += &self.content_type;
        let body = String::from_utf8_lossy(&self.body);
        if !body.trim().is_empty() {
            message += ": ";
            message += body.trim();
        }
        hinted(
            status.with_message(message),
            "not the gRPC server answered but a web server or a proxy before it: check the port, and that the proxy \
             passes gRPC on",
        )
    }
}
