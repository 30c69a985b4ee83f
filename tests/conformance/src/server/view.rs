//! What the server saw of a call, as it is sent back to the caller: in the first answer, or in the details of an error
//! that comes instead of answers.

use std::time::Instant;

use buffa_types::google::protobuf::Any;
use peregrine::Request;
use peregrine_conformance::headers;
use peregrine_conformance::pb::Header;
use peregrine_conformance::pb::conformance_payload::RequestInfo;

/// The head of a call.
#[derive(Debug)]
pub(crate) struct View {
    headers: Vec<Header>,
    deadline: Option<Instant>,
}

impl View {
    pub(crate) fn of<T>(request: &Request<T>) -> Self {
        Self { headers: headers::list(request.metadata()), deadline: request.deadline() }
    }

    /// All that is known of the call, with the requests that came.
    pub(crate) fn info(&self, requests: Vec<Any>) -> RequestInfo {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        RequestInfo {
            request_headers: self.headers.clone(),
            timeout_ms: left.map(|left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX)),
            requests,
            ..Default::default()
        }
    }
}
