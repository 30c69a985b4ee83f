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
    fn new(mut number: u32, unit: u8) -> Self {
        let mut bytes = [0; MAX_DIGITS + 1];
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        for place in bytes[..digits].iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
        bytes[digits] = unit;
        Self { bytes, len: digits as u8 + 1 }
    }

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
pub fn encode_timeout(left: Duration) -> TimeoutText {
    let nanos = left.as_nanos();
    for (unit, size) in UNITS {
        if nanos <= MAX_VALUE * size {
            return TimeoutText::new(nanos.div_ceil(size) as u32, unit);
        }
    }
    TimeoutText::new(MAX_VALUE as u32, b'H')
}

/// Reads a `grpc-timeout` value. Zero is legal and means "already over" (16).
///
/// # Errors
/// No digit, more than 8, a sign, or no known unit: HTTP 400 with INTERNAL on
/// a server (14).
pub fn parse_timeout(value: &[u8]) -> Result<Duration, InvalidTimeout> {
    let (unit, digits) = value.split_last().ok_or(InvalidTimeout)?;
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return Err(InvalidTimeout);
    }
    let mut number = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(InvalidTimeout);
        }
        number = number * 10 + u64::from(digit - b'0');
    }
    // At most 8 digits: no product below overflows.
    match unit {
        b'H' => Ok(Duration::from_hours(number)),
        b'M' => Ok(Duration::from_mins(number)),
        b'S' => Ok(Duration::from_secs(number)),
        b'm' => Ok(Duration::from_millis(number)),
        b'u' => Ok(Duration::from_micros(number)),
        b'n' => Ok(Duration::from_nanos(number)),
        _ => Err(InvalidTimeout),
    }
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

/// The largest number of 8 digits.
const MAX_VALUE: u128 = 99_999_999;

/// Units from the finest on, with their size in nanoseconds.
const UNITS: [(u8, u128); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', 1_000_000_000),
    (b'M', 60_000_000_000),
    (b'H', 3_600_000_000_000),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn text(left: Duration) -> String {
        String::from_utf8(encode_timeout(left).as_bytes().to_vec()).unwrap()
    }

    // wire-rules 14
    #[test]
    fn the_finest_unit_that_fits_is_used_and_rounded_up() {
        let cases = [
            (Duration::from_nanos(1), "1n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_millis(100), "100000u"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_secs(1), "1000000u"),
            (Duration::from_micros(99_999_999), "99999999u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::new(100, 1), "100001m"),
            (Duration::from_millis(99_999_999), "99999999m"),
            (Duration::from_secs(100_000), "100000S"),
            (Duration::from_secs(99_999_999), "99999999S"),
            (Duration::from_secs(100_000_000), "1666667M"),
            (Duration::from_mins(99_999_999), "99999999M"),
            (Duration::from_secs(60 * 99_999_999 + 1), "1666667H"),
        ];
        for (left, expected) in cases {
            assert_eq!(text(left), expected, "{left:?}");
        }
    }

    // wire-rules 15, 16
    #[test]
    fn the_extremes_stay_in_eight_digits() {
        assert_eq!(text(Duration::ZERO), "0n");
        assert_eq!(text(Duration::MAX), "99999999H");
        assert_eq!(parse_timeout(b"99999999H"), Ok(Duration::from_hours(99_999_999)));
    }

    // wire-rules 13
    #[test]
    fn every_unit_is_read() {
        let cases: [(&[u8], Duration); 8] = [
            (b"1H", Duration::from_hours(1)),
            (b"2M", Duration::from_mins(2)),
            (b"3S", Duration::from_secs(3)),
            (b"4m", Duration::from_millis(4)),
            (b"5u", Duration::from_micros(5)),
            (b"6n", Duration::from_nanos(6)),
            (b"0n", Duration::ZERO),
            (b"00000001S", Duration::from_secs(1)),
        ];
        for (value, expected) in cases {
            assert_eq!(parse_timeout(value), Ok(expected), "{}", value.escape_ascii());
        }
    }

    // wire-rules 14
    #[test]
    fn malformed_values_are_refused() {
        let values: [&[u8]; 14] = [
            b"",
            b"S",
            b"1",
            b"123456789S",
            b"-1S",
            b"+1S",
            b"1s",
            b"1h",
            b"1 S",
            b" 1S",
            b"1S ",
            b"1.5S",
            b"1\xffS",
            b"12x",
        ];
        for value in values {
            assert_eq!(parse_timeout(value), Err(InvalidTimeout), "{}", value.escape_ascii());
        }
    }

    // wire-rules 14: never less time than we have, and less than a unit more.
    #[test]
    fn what_is_written_reads_back_rounded_up() {
        let mut nanos = 1_u64;
        while nanos < u64::MAX / 7 {
            for left in [nanos - 1, nanos, nanos + 1].map(Duration::from_nanos) {
                let read = parse_timeout(encode_timeout(left).as_bytes()).unwrap();
                assert!(read >= left, "{left:?} became {read:?}");
                assert!(read.saturating_sub(left) <= left / 99_999, "{left:?} became {read:?}");
            }
            nanos *= 7;
        }
    }

    // wire-rules 15
    #[test]
    fn a_deadline_past_the_clock_is_none() {
        let now = Instant::now();
        assert_eq!(deadline_after(now, Duration::from_secs(1)), Some(now + Duration::from_secs(1)));
        assert_eq!(deadline_after(now, Duration::MAX), None);
    }
}
