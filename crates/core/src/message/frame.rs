//! The prefix of a message: one flag byte and a 32-bit length (wire-rules 29).

use crate::message::Encoding;
use crate::status::Status;

/// Bytes before each message.
pub const PREFIX_LEN: usize = 5;

/// The longest message that a prefix can announce.
pub const MAX_MESSAGE_LEN: usize = u32::MAX as usize;

/// A prefix that passed the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Length of the message behind it, at most the limit.
    pub len: usize,
    /// Whether the message is compressed.
    pub compressed: bool,
}

/// Reads and checks the prefix at the start of `bytes`; `None` if it is not
/// complete yet.
///
/// # Errors
/// The flag does not fit the encoding or is unknown (INTERNAL), or the length
/// is over `max` (RESOURCE_EXHAUSTED).
pub fn parse_prefix(_bytes: &[u8], _encoding: Encoding, _max: usize) -> Result<Option<Prefix>, Status> {
    todo!()
}

/// Appends the prefix of an uncompressed message of `len` bytes.
pub fn write_prefix(out: &mut Vec<u8>, len: u32) {
    let [a, b, c, d] = len.to_be_bytes();
    out.extend_from_slice(&[0, a, b, c, d]);
}
