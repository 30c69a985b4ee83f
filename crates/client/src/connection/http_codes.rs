//! Codes of responses that have an HTTP status and no `grpc-status`, where the channel's owner wants others than gRPC's
//! own. Built by `channel/builder`, asked by `state` when such a call ends.

use std::sync::Arc;

use peregrine_core::Code;

/// Exceptions of one channel, shared by its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpCodes {
    exceptions: Arc<[(u16, Code)]>,
}

impl HttpCodes {
    /// These, and `code` for `http_status`, whatever it had before.
    pub(crate) fn with(&self, http_status: u16, code: Code) -> Self {
        let others = self.exceptions.iter().filter(|(status, _)| *status != http_status);
        Self { exceptions: others.copied().chain([(http_status, code)]).collect() }
    }

    /// The exception for `http_status`, if there is one.
    pub(super) fn exception(&self, http_status: u16) -> Option<Code> {
        self.exceptions.iter().find(|(status, _)| *status == http_status).map(|(_, code)| *code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_exception_for_a_status_counts() {
        let codes = HttpCodes::default().with(431, Code::Aborted).with(404, Code::NotFound);
        let codes = codes.with(431, Code::Unknown);
        assert_eq!(codes.exception(431), Some(Code::Unknown));
        assert_eq!(codes.exception(404), Some(Code::NotFound));
        assert_eq!(codes.exception(503), None);
    }
}
