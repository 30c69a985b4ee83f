//! Percent-encoding of `grpc-message` (wire-rules 58 to 60, D4).
//!
//! Used where a status becomes header fields and back, on both sides.

/// Appends the field value for `message` to `out`.
///
/// Encoded are all bytes outside 0x20 to 0x7E, `%`, and a space at either end,
/// which HTTP would strip or refuse (RFC 9113 8.2.1).
pub fn encode_into(message: &str, out: &mut Vec<u8>) {
    let bytes = message.as_bytes();
    if are_plain(bytes) && bytes.first() != Some(&b' ') && bytes.last() != Some(&b' ') {
        // What most messages are.
        return out.extend_from_slice(bytes);
    }
    let last = bytes.len().saturating_sub(1);
    for (index, &byte) in bytes.iter().enumerate() {
        let at_end = index == 0 || index == last;
        if is_plain(byte) && !(at_end && byte == b' ') {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
        }
    }
}

/// The length of what [`encode_into`] appends at most.
pub fn encoded_len_bound(message: &str) -> usize {
    let bytes = message.as_bytes();
    let others = if are_plain(bytes) { 0 } else { bytes.iter().filter(|byte| !is_plain(**byte)).count() };
    bytes.len() + 2 * (others + 2)
}

/// The message of a field value. Never fails: broken `%` sequences stay as
/// they are (59), bytes that are not UTF-8 become U+FFFD (D4).
pub fn decode(value: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(percent) = rest.iter().position(|&byte| byte == b'%') {
        let (plain, after) = (&rest[..percent], &rest[percent + 1..]);
        bytes.extend_from_slice(plain);
        if let [high, low, tail @ ..] = after
            && let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low))
        {
            bytes.push(high << 4 | low);
            rest = tail;
        } else {
            bytes.push(b'%');
            rest = after;
        }
    }
    bytes.extend_from_slice(rest);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Looks at all of them, many at a time.
fn are_plain(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |plain, byte| plain & is_plain(*byte))
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e) && byte != b'%'
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Upper case, as the protocol has it (58).
const HEX: [u8; 16] = *b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(message: &str) -> String {
        let mut out = Vec::new();
        encode_into(message, &mut out);
        assert!(out.len() <= encoded_len_bound(message));
        String::from_utf8(out).unwrap()
    }

    // wire-rules 58
    #[test]
    fn only_printable_ascii_without_percent_stays() {
        assert_eq!(encode(""), "");
        assert_eq!(encode("all is well ~!"), "all is well ~!");
        assert_eq!(encode("100%"), "100%25");
        assert_eq!(encode("a\tb\r\n\u{7f}"), "a%09b%0D%0A%7F");
        assert_eq!(encode("\u{e9}\u{263a}\u{1f608}"), "%C3%A9%E2%98%BA%F0%9F%98%88");
    }

    // RFC 9113 8.2.1: a field value has no space at its ends.
    #[test]
    fn space_at_the_ends_is_encoded() {
        assert_eq!(encode(" a b "), "%20a b%20");
        assert_eq!(encode(" "), "%20");
        assert_eq!(encode("  "), "%20%20");
    }

    // wire-rules 59, bug-reports 73
    #[test]
    fn broken_sequences_stay_literal() {
        let cases: [(&[u8], &str); 8] = [
            (b"%", "%"),
            (b"a%", "a%"),
            (b"%4", "%4"),
            (b"%zz", "%zz"),
            (b"%4z1", "%4z1"),
            (b"%%41", "%A"),
            (b"%-1", "%-1"),
            (b"%e2%98%ba", "\u{263a}"),
        ];
        for (value, expected) in cases {
            assert_eq!(decode(value), expected, "{}", value.escape_ascii());
        }
    }

    // wire-rules 58, D4: one U+FFFD per broken sequence.
    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(decode(b"a%FFb"), "a\u{fffd}b");
        assert_eq!(decode(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(decode(b"%E2%98x"), "\u{fffd}x");
        assert_eq!(decode(b"%F0%9F%98%FF"), "\u{fffd}\u{fffd}");
    }

    // wire-rules 60, bug-reports 72: the interop suite's special_status_message and more.
    #[test]
    fn messages_round_trip() {
        let special = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}\t\n";
        for message in [special, "%25", "%", " %20 ", "\0", "\u{10ffff}"] {
            assert_eq!(decode(encode(message).as_bytes()), message);
        }
        for char in (0..0x3000).filter_map(char::from_u32) {
            let message = char.to_string();
            assert_eq!(decode(encode(&message).as_bytes()), message);
        }
    }
}
