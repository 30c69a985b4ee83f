//! `grpc-timeout` both ways (wire-rules 13 to 16).
//!
//! A call has one monotonic deadline. On the wire travels the time left, as 1
//! to 8 digits and a unit. Neither direction allocates.

use std::fmt;
use std::time::{Duration, Instant};

/// A `grpc-timeout` value, at most 9 bytes, held in place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TimeoutText {
    bytes: [u8; MAX_DIGITS + 1],
    len: u8,
}

impl TimeoutText {
    /// The field value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Writes the time left in the finest unit that fits 8 digits, rounded up so
/// that the peer never gives up before we do (14).
///
/// Zero becomes `0n`; a client fails such a call itself instead of sending it
/// (16). More than 99,999,999 hours are clamped to that (15).
pub fn encode_timeout(_left: Duration) -> TimeoutText {
    todo!()
}

/// Reads a `grpc-timeout` value. Zero is legal and means "already over" (16).
///
/// # Errors
/// No digit, more than 8, a sign, or no known unit: HTTP 400 with INTERNAL on
/// a server (14).
pub fn parse_timeout(_value: &[u8]) -> Result<Duration, InvalidTimeout> {
    todo!()
}

/// The instant `timeout` after `now`; `None`, meaning never, where the clock
/// cannot represent it (15).
pub fn deadline_after(now: Instant, timeout: Duration) -> Option<Instant> {
    now.checked_add(timeout)
}

/// A `grpc-timeout` value that breaks rule 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidTimeout;

impl fmt::Display for InvalidTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed grpc-timeout: 1 to 8 digits and one of H M S m u n are expected")
    }
}

impl std::error::Error for InvalidTimeout {}

impl fmt::Debug for TimeoutText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeoutText({})", self.as_bytes().escape_ascii())
    }
}

/// Digits a value may have.
const MAX_DIGITS: usize = 8;
