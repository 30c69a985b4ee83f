//! Versions of TLS, for both roles.

use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

/// A version of TLS. Older ones are never spoken (wire-rules 95, RFC 9113 9.2).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2.
    #[default]
    V1_2,
    /// TLS 1.3.
    V1_3,
}

impl TlsVersion {
    /// What is spoken if this is the oldest.
    pub(super) fn and_newer(self) -> &'static [&'static SupportedProtocolVersion] {
        match self {
            Self::V1_2 => &FROM_1_2,
            Self::V1_3 => &FROM_1_3,
        }
    }
}

static FROM_1_2: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
static FROM_1_3: [&SupportedProtocolVersion; 1] = [&TLS13];
