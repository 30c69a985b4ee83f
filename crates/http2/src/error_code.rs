//! The reason carried by RST_STREAM and GOAWAY (RFC 9113, 7).

use std::fmt;

/// A 32-bit error code. Numbers without a name are legal on the wire and are kept as they came.
#[derive(Copy, Clone, Eq, PartialEq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Graceful end; nothing went wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The peer broke a rule of the protocol that has no code of its own.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The endpoint met a failure inside itself.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// The peer sent more than its window allowed.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame came for a stream that its sender had already ended.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame's length does not fit its type or the agreed maximum.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was not processed at all and may be tried again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is no longer wanted.
    pub const CANCEL: Self = Self(0x8);
    /// The header compression state is lost.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// A tunnelled connection failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer causes too much work.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The transport is not safe enough.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// The request must be made over HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// The name that RFC 9113, 7 gives to the code, if it does.
    // [9113-7-1]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NO_ERROR => "NO_ERROR",
            Self::PROTOCOL_ERROR => "PROTOCOL_ERROR",
            Self::INTERNAL_ERROR => "INTERNAL_ERROR",
            Self::FLOW_CONTROL_ERROR => "FLOW_CONTROL_ERROR",
            Self::SETTINGS_TIMEOUT => "SETTINGS_TIMEOUT",
            Self::STREAM_CLOSED => "STREAM_CLOSED",
            Self::FRAME_SIZE_ERROR => "FRAME_SIZE_ERROR",
            Self::REFUSED_STREAM => "REFUSED_STREAM",
            Self::CANCEL => "CANCEL",
            Self::COMPRESSION_ERROR => "COMPRESSION_ERROR",
            Self::CONNECT_ERROR => "CONNECT_ERROR",
            Self::ENHANCE_YOUR_CALM => "ENHANCE_YOUR_CALM",
            Self::INADEQUATE_SECURITY => "INADEQUATE_SECURITY",
            Self::HTTP_1_1_REQUIRED => "HTTP_1_1_REQUIRED",
            Self(_) => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "UNKNOWN_ERROR(0x{:x})", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_rfc_has_a_name_of_its_own() {
        // RFC 9113, 7: 0x0 to 0xd.
        let names: std::collections::BTreeSet<_> =
            (0..=0xd).map(|code| ErrorCode(code).name().expect("a name")).collect();
        assert_eq!(names.len(), 14);
        assert_eq!(ErrorCode(0xe).name(), None);
    }

    #[test]
    fn shows_the_rfc_name_or_the_number() {
        // [9113-7-1]
        assert_eq!(ErrorCode::ENHANCE_YOUR_CALM.to_string(), "ENHANCE_YOUR_CALM");
        assert_eq!(format!("{:?}", ErrorCode(0xd)), "HTTP_1_1_REQUIRED");
        assert_eq!(ErrorCode(0xe).to_string(), "UNKNOWN_ERROR(0xe)");
    }
}
