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
    pub fn from_wire(_value: &[u8]) -> Self {
        todo!()
    }

    /// The `grpc-status` value.
    pub fn as_wire(self) -> &'static str {
        todo!()
    }

    /// The number.
    pub fn value(self) -> i32 {
        self as i32
    }

    /// The name as gRPC's documents print it, for example `NOT_FOUND`.
    pub fn name(self) -> &'static str {
        todo!()
    }

    /// The code for a response without `grpc-status` (wire-rules 55).
    pub fn from_http_status(_status: u16) -> Self {
        todo!()
    }

    /// The code for a stream that the peer reset (wire-rules 65 to 70);
    /// `error_code` is the HTTP/2 error code (RFC 9113 7).
    pub fn from_reset(_error_code: u32) -> Self {
        todo!()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
