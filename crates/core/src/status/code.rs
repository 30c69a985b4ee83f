//! The status codes and where they come from besides `grpc-status`.

use std::fmt;

/// The gRPC status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// Success.
    Ok = 0,
    /// The caller gave up.
    Cancelled = 1,
    /// An error without a known code.
    Unknown = 2,
    /// The argument is wrong whatever the state of the system.
    InvalidArgument = 3,
    /// Out of time.
    DeadlineExceeded = 4,
    /// No such entity.
    NotFound = 5,
    /// The entity to create is there.
    AlreadyExists = 6,
    /// The caller is known and may not.
    PermissionDenied = 7,
    /// A quota, a limit or the disk is used up.
    ResourceExhausted = 8,
    /// Wrong in the present state; do not retry as it is.
    FailedPrecondition = 9,
    /// A conflict; retry at a higher level.
    Aborted = 10,
    /// Past the valid range.
    OutOfRange = 11,
    /// No such method or feature.
    Unimplemented = 12,
    /// An invariant is broken.
    Internal = 13,
    /// Not now; retry with backoff.
    Unavailable = 14,
    /// Unrecoverable loss or corruption.
    DataLoss = 15,
    /// No valid credentials.
    Unauthenticated = 16,
}

impl Code {
    /// All codes in numeric order.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The code of a number; UNKNOWN for numbers without one.
    pub fn from_i32(number: i32) -> Self {
        usize::try_from(number).ok().and_then(|index| Self::ALL.get(index)).copied().unwrap_or(Self::Unknown)
    }

    /// Reads a `grpc-status` value: decimal without leading zeros, anything
    /// else is UNKNOWN (wire-rules 53).
    pub fn from_wire(value: &[u8]) -> Self {
        let number = match *value {
            [ones @ b'0'..=b'9'] => ones - b'0',
            [b'1', ones @ b'0'..=b'9'] => 10 + ones - b'0',
            _ => return Self::Unknown,
        };
        Self::from_i32(i32::from(number))
    }

    /// The `grpc-status` value.
    pub fn as_wire(self) -> &'static str {
        const TEXT: [&str; 17] =
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"];
        TEXT[self as usize]
    }

    /// The number.
    pub fn value(self) -> i32 {
        self as i32
    }

    /// The name as gRPC's documents print it, for example `NOT_FOUND`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// The code for a response without `grpc-status` (wire-rules 55).
    pub fn from_http_status(status: u16) -> Self {
        match status {
            400 | 431 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502 | 503 | 504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    /// The code for a stream that the peer reset (wire-rules 65 to 70);
    /// `error_code` is the HTTP/2 error code (RFC 9113 7).
    pub fn from_reset(error_code: u32) -> Self {
        match error_code {
            // NO_ERROR to FRAME_SIZE_ERROR, COMPRESSION_ERROR, CONNECT_ERROR,
            // HTTP_1_1_REQUIRED.
            0x0..=0x6 | 0x9 | 0xa | 0xd => Self::Internal,
            // REFUSED_STREAM: certainly not processed.
            0x7 => Self::Unavailable,
            // CANCEL.
            0x8 => Self::Cancelled,
            // ENHANCE_YOUR_CALM.
            0xb => Self::ResourceExhausted,
            // INADEQUATE_SECURITY.
            0xc => Self::PermissionDenied,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_text_and_names_agree() {
        for (number, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code.value(), number as i32);
            assert_eq!(Code::from_i32(number as i32), code);
            assert_eq!(code.as_wire(), number.to_string());
            assert_eq!(Code::from_wire(code.as_wire().as_bytes()), code);
            // The variant in another spelling.
            assert_eq!(code.name().replace('_', "").to_lowercase(), format!("{code:?}").to_lowercase());
        }
    }

    // wire-rules 53
    #[test]
    fn unreadable_values_are_unknown() {
        let values: [&[u8]; 12] =
            [b"", b"00", b"01", b"17", b"20", b"99", b"100", b"-1", b"+1", b" 1", b"OK", b"\xff"];
        for value in values {
            assert_eq!(Code::from_wire(value), Code::Unknown, "{}", value.escape_ascii());
        }
        for number in [-1, 17, i32::MIN, i32::MAX] {
            assert_eq!(Code::from_i32(number), Code::Unknown);
        }
    }

    // wire-rules 55
    #[test]
    fn http_statuses_map_as_the_document_says() {
        for status in 0..=u16::MAX {
            let expected = match status {
                400 | 431 => Code::Internal,
                401 => Code::Unauthenticated,
                403 => Code::PermissionDenied,
                404 => Code::Unimplemented,
                429 | 502 | 503 | 504 => Code::Unavailable,
                _ => Code::Unknown,
            };
            assert_eq!(Code::from_http_status(status), expected, "{status}");
        }
    }

    // wire-rules 65 to 70
    #[test]
    fn resets_map_as_the_document_says() {
        let expected = [
            (0x0, Code::Internal),          // NO_ERROR
            (0x1, Code::Internal),          // PROTOCOL_ERROR
            (0x2, Code::Internal),          // INTERNAL_ERROR
            (0x3, Code::Internal),          // FLOW_CONTROL_ERROR
            (0x4, Code::Internal),          // SETTINGS_TIMEOUT
            (0x5, Code::Internal),          // STREAM_CLOSED
            (0x6, Code::Internal),          // FRAME_SIZE_ERROR
            (0x7, Code::Unavailable),       // REFUSED_STREAM
            (0x8, Code::Cancelled),         // CANCEL
            (0x9, Code::Internal),          // COMPRESSION_ERROR
            (0xa, Code::Internal),          // CONNECT_ERROR
            (0xb, Code::ResourceExhausted), // ENHANCE_YOUR_CALM
            (0xc, Code::PermissionDenied),  // INADEQUATE_SECURITY
            (0xd, Code::Internal),          // HTTP_1_1_REQUIRED
            (0xe, Code::Unknown),
            (u32::MAX, Code::Unknown),
        ];
        for (error_code, code) in expected {
            assert_eq!(Code::from_reset(error_code), code, "{error_code:#x}");
        }
    }
}
