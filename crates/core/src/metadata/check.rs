//! What names and values may hold (wire-rules 21, 22).

use crate::metadata::{InvalidMetadata, InvalidMetadataReason};

/// The value without space around it, if both may be sent.
pub(super) fn checked_text<'v>(name: &str, value: &'v str) -> Result<&'v [u8], InvalidMetadata> {
    let value = value.trim_matches([' ', '\t']).as_bytes();
    let reason = if !is_name_in_any_case(name.as_bytes()) {
        InvalidMetadataReason::Name
    } else if has_binary_suffix(name) {
        InvalidMetadataReason::TextForBinary
    } else if !is_text(value) {
        InvalidMetadataReason::Value
    } else {
        return Ok(value);
    };
    Err(InvalidMetadata::new(name.as_bytes(), reason))
}

pub(super) fn check_binary_name(name: &str) -> Result<(), InvalidMetadata> {
    let reason = if !is_name_in_any_case(name.as_bytes()) {
        InvalidMetadataReason::Name
    } else if !has_binary_suffix(name) {
        InvalidMetadataReason::BinaryForText
    } else {
        return Ok(());
    };
    Err(InvalidMetadata::new(name.as_bytes(), reason))
}

fn has_binary_suffix(name: &str) -> bool {
    let suffix = name.len().checked_sub(BINARY_SUFFIX.len()).and_then(|at| name.as_bytes().get(at..));
    suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(BINARY_SUFFIX))
}

/// Whether `name` is a metadata name as it stands on the wire (wire-rules 21).
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'_' | b'-' | b'.'))
}

fn is_name_in_any_case(name: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && name.iter().all(allowed)
}

/// Whether `value` is a text value (wire-rules 22).
pub(super) fn is_text(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, 0x20..=0x7e))
}

/// What the name of a binary entry ends in.
pub(super) const BINARY_SUFFIX: &[u8] = b"-bin";
