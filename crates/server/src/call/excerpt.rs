//! Repeating a peer's own words in an error.

/// Bytes that an error repeats.
const LONGEST: usize = 200;

/// Peer-controlled text as an error message repeats it: bounded, and never broken inside of a character.
pub(crate) fn shortened(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned();
    if bytes.len() > LONGEST { format!("{text}... ({} bytes)", bytes.len()) } else { text }
}
