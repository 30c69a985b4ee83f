//! The prefix of a message: one flag byte and a 32-bit length (wire-rules 29).

use crate::message::Encoding;
use crate::status::Status;

/// Bytes before each message.
pub const PREFIX_LEN: usize = 5;

/// The longest message that a prefix can announce, in bytes.
pub const MAX_MESSAGE_LEN: usize = u32::MAX as usize;

/// A prefix that passed the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Length of the message behind it in bytes, at most the limit.
    pub len: usize,
    /// Whether the message is compressed.
    pub compressed: bool,
}

/// Reads and checks the prefix at the start of `bytes`; `None` if it is not
/// complete yet. This is the one place that judges the flag; 0 is right whatever the encoding (wire-rules 33).
///
/// # Errors
/// The flag does not fit the encoding or is unknown: INTERNAL (wire-rules 31,
/// 32). The length is over `max`: RESOURCE_EXHAUSTED, before anything is
/// buffered for it (42).
#[inline(always)]
pub fn parse_prefix(bytes: &[u8], encoding: Encoding, max: usize) -> Result<Option<Prefix>, Status> {
    let [flag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    match (flag, encoding) {
        (1, Encoding::Identity) => return Err(unexpected_compression()),
        (0 | 1, _) => {}
        (2.., _) => return Err(unknown_flag(flag)),
    }
    let len = u32::from_be_bytes([a, b, c, d]) as usize;
    if len > max {
        return Err(over_limit(len, max));
    }
    Ok(Some(Prefix { len, compressed: flag == 1 }))
}

/// The length that a prefix at the start of `bytes` claims, unchecked.
pub(crate) fn claimed_len(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [_, a, b, c, d, ..] => Some(u32::from_be_bytes([a, b, c, d]) as usize),
        _ => None,
    }
}

/// Appends the prefix of an uncompressed message of `len` bytes.
#[inline]
pub fn write_prefix(out: &mut Vec<u8>, len: u32) {
    write_prefix_with_flag(out, false, len);
}

/// Appends the prefix of a message of `len` bytes as they follow, `compressed` or not (wire-rules F1).
#[inline]
pub(crate) fn write_prefix_with_flag(out: &mut Vec<u8>, compressed: bool, len: u32) {
    let [a, b, c, d] = len.to_be_bytes();
    out.extend_from_slice(&[u8::from(compressed), a, b, c, d]);
}

#[cold]
fn unexpected_compression() -> Status {
    Status::internal("received a compressed message, but the peer named no grpc-encoding")
}

#[cold]
fn unknown_flag(flag: u8) -> Status {
    Status::internal(format!("received a message with the unknown flag {flag:#04x}"))
}

#[cold]
fn over_limit(len: usize, max: usize) -> Status {
    Status::resource_exhausted(format!(
        "received message of {len} bytes is over the receive limit of {max} bytes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Code;

    fn parse(bytes: &[u8], max: usize) -> Result<Option<Prefix>, Code> {
        parse_prefix(bytes, Encoding::Identity, max).map_err(|status| status.code())
    }

    // wire-rules 29, 30
    #[test]
    fn a_prefix_is_read_once_it_is_complete() {
        let bytes = [0, 0, 1, 2, 3, 99];
        for cut in 0..PREFIX_LEN {
            assert_eq!(parse(&bytes[..cut], usize::MAX), Ok(None));
        }
        let prefix = Prefix { len: 0x01_02_03, compressed: false };
        assert_eq!(parse(&bytes, usize::MAX), Ok(Some(prefix)));
        assert_eq!(parse(&[0; 5], 0), Ok(Some(Prefix { len: 0, compressed: false })));
    }

    // wire-rules 31, 32 and the table "Header versus flag"
    #[test]
    fn without_an_encoding_every_flag_but_zero_is_internal() {
        for flag in 1..=u8::MAX {
            assert_eq!(parse(&[flag, 0, 0, 0, 0], usize::MAX), Err(Code::Internal), "{flag}");
        }
    }

    // wire-rules 42: exactly at the limit passes; the text has both numbers.
    #[test]
    fn the_limit_is_checked_at_the_prefix() {
        assert!(parse(&[0, 0, 0, 0, 10], 10).is_ok());
        assert_eq!(parse(&[0, 0, 0, 0, 11], 10), Err(Code::ResourceExhausted));
        assert_eq!(parse(&[0, 0x80, 0, 0, 0], 10), Err(Code::ResourceExhausted));
        let status = parse_prefix(&[0, 0, 0, 0, 11], Encoding::Identity, 10).unwrap_err();
        assert!(status.message().contains("11 bytes") && status.message().contains("10 bytes"));
    }

    #[test]
    fn what_is_written_is_read() {
        for len in [0, 1, 255, 65_536, u32::MAX] {
            let mut out = Vec::new();
            write_prefix(&mut out, len);
            assert_eq!(claimed_len(&out), Some(len as usize));
            let prefix = Prefix { len: len as usize, compressed: false };
            assert_eq!(parse(&out, MAX_MESSAGE_LEN), Ok(Some(prefix)));
        }
    }
}
