//! Percent-encoding of `grpc-message` (wire-rules 58 to 60, D4).

use std::borrow::Cow;

/// The field value for a message; borrowed if nothing needs encoding.
pub fn encode(_message: &str) -> Cow<'_, str> {
    todo!()
}

/// Appends the field value for a message to `out`.
pub fn encode_into(_message: &str, _out: &mut Vec<u8>) {
    todo!()
}

/// The message of a field value. Never fails: broken `%` sequences stay as
/// they are (59), bytes that are not UTF-8 become U+FFFD (D4).
pub fn decode(_value: &[u8]) -> String {
    todo!()
}
