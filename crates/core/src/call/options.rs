//! What a caller may set for one call.

use std::time::Duration;

use crate::compression::Compression;
use crate::format::Format;

/// Options of one call; unset ones fall back to the channel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// Time the whole call may take, counted from when it is made. Default: no limit.
    pub timeout: Option<Duration>,
    /// Whether to wait for a connection instead of failing UNAVAILABLE while none can be made. Default: false.
    // wire-rules 96
    pub wait_for_ready: Option<bool>,
    /// Longest response message in bytes. Default: 4 MiB.
    // wire-rules 42
    pub max_response_size: Option<usize>,
    /// Longest request message in bytes. Default: no limit but the wire's 4 GiB.
    // wire-rules 44
    pub max_request_size: Option<usize>,
    /// How messages look on the wire. Default: [`Format::Proto`].
    pub format: Option<Format>,
    /// Whether and how request messages are compressed. Default: not at all.
    pub compression: Option<Compression>,
}

impl CallOptions {
    /// Nothing is set.
    pub(crate) const UNSET: Self = Self {
        timeout: None,
        wait_for_ready: None,
        max_response_size: None,
        max_request_size: None,
        format: None,
        compression: None,
    };

    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the time of the whole call, counted from when it is made.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Whether to wait for a connection instead of failing while none can be made.
    // wire-rules 96
    #[must_use]
    pub fn wait_for_ready(mut self, wait: bool) -> Self {
        self.wait_for_ready = Some(wait);
        self
    }

    /// Limits a response message to `bytes` bytes.
    // wire-rules 42
    #[must_use]
    pub fn max_response_size(mut self, bytes: usize) -> Self {
        self.max_response_size = Some(bytes);
        self
    }

    /// Limits a request message to `bytes` bytes.
    // wire-rules 44
    #[must_use]
    pub fn max_request_size(mut self, bytes: usize) -> Self {
        self.max_request_size = Some(bytes);
        self
    }

    /// Compresses request messages.
    #[must_use]
    pub fn compression(mut self, compression: impl Into<Compression>) -> Self {
        self.compression = Some(compression.into());
        self
    }

    /// These options, with what is unset taken from `defaults`.
    #[must_use]
    pub fn or(self, defaults: Self) -> Self {
        Self {
            timeout: self.timeout.or(defaults.timeout),
            wait_for_ready: self.wait_for_ready.or(defaults.wait_for_ready),
            max_response_size: self.max_response_size.or(defaults.max_response_size),
            max_request_size: self.max_request_size.or(defaults.max_request_size),
            format: self.format.or(defaults.format),
            compression: self.compression.or(defaults.compression),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_on_the_call_wins() {
        let call = CallOptions { timeout: Some(Duration::from_secs(1)), ..CallOptions::default() };
        let channel = CallOptions {
            timeout: Some(Duration::from_secs(9)),
            wait_for_ready: Some(true),
            max_response_size: Some(5),
            max_request_size: Some(6),
            format: Some(Format::Json),
            compression: Some(Compression::adaptive()),
        };
        let merged = CallOptions { timeout: call.timeout, ..channel };
        assert_eq!(call.or(channel), merged);
        assert_eq!(channel.or(call), channel);
    }
}
