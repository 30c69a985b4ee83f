//! Which protocol a client speaks, told by its first bytes.
//!
//! Clients speak first in HTTP/2, HTTP/1 and TLS alike. The server's accept path asks before it says anything itself,
//! so that a client of another protocol gets an answer that it understands, and nothing of what follows is ever
//! taken for a second protocol (http2-abuse 45).

/// A client's protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sniffed {
    /// The whole preface of HTTP/2 is there (RFC 9113 3.4).
    Http2,
    /// The request line of HTTP/1 has begun, an upgrade to h2c perhaps.
    Http1,
    /// A TLS handshake record has begun.
    Tls,
    /// None of these, and nothing that follows can change that.
    Unknown,
}

/// What every HTTP/2 client sends first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Longer than any registered method of HTTP/1.
const LONGEST_METHOD: usize = 20;

/// Judges what a client has sent so far; `None` while it can still become several things. Decided within 24 bytes.
///
/// # Examples
/// ```
/// use peregrine_transport::sniff::{Sniffed, sniff};
///
/// assert_eq!(sniff(b"P"), None); // the preface, or POST
/// assert_eq!(sniff(b"POST /"), Some(Sniffed::Http1));
/// ```
pub fn sniff(first: &[u8]) -> Option<Sniffed> {
    if first.starts_with(PREFACE) {
        return Some(Sniffed::Http2);
    }
    match first {
        [] | [0x16] => return None,
        // A handshake record of TLS 1.x; its version field never names a later major version (RFC 8446 5.1).
        [0x16, 0x03, ..] => return Some(Sniffed::Tls),
        _ => {}
    }
    if PREFACE.starts_with(first) {
        return None;
    }
    // A preface with a fault in it; no HTTP/1 client has this method (RFC 9113 11.6).
    if first.starts_with(b"PRI * HTTP/2") {
        return Some(Sniffed::Unknown);
    }
    let method = first.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    match first.get(method..) {
        Some([b' ', target, ..]) if (1..=LONGEST_METHOD).contains(&method) => {
            // The four forms of RFC 9112 3.2: a path, a whole URI, an authority after CONNECT, an asterisk.
            let begins = matches!(target, b'/' | b'*' | b'h' | b'H') || first.starts_with(b"CONNECT ");
            Some(if begins { Sniffed::Http1 } else { Sniffed::Unknown })
        }
        Some([b' ']) if (1..=LONGEST_METHOD).contains(&method) => None,
        Some([]) if method <= LONGEST_METHOD => None,
        _ => Some(Sniffed::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_is_told_by_its_first_bytes() {
        // wire-rules 86, http2-abuse 45
        for (first, expected) in [
            (PREFACE, Some(Sniffed::Http2)),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04", Some(Sniffed::Http2)),
            (b"PRI * HTTP/2.0\r\n", None),
            (b"", None),
            (b"P", None),
            (b"PR", None),
            (b"PUT /x HTTP/1.1", Some(Sniffed::Http1)),
            (b"GET / HTTP/1.1\r\nUpgrade: h2c\r\n", Some(Sniffed::Http1)),
            (b"GET", None),
            (b"GET ", None),
            (b"GET http://here/", Some(Sniffed::Http1)),
            (b"OPTIONS * HTTP/1.1", Some(Sniffed::Http1)),
            (b"CONNECT here:80 HTTP/1.1", Some(Sniffed::Http1)),
            (b"INVALID CONNECTION PREFACE\r\n\r\n", Some(Sniffed::Unknown)),
            (b"PRI / HTTP/1.1\r\n", Some(Sniffed::Http1)),
            (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", Some(Sniffed::Unknown)),
            (b"\x16", None),
            (b"\x16\x03\x01\x02\0", Some(Sniffed::Tls)),
            (b"\x16\x04", Some(Sniffed::Unknown)),
            (b"SSH-2.0-OpenSSH", Some(Sniffed::Unknown)),
            (b"get / http/1.1", Some(Sniffed::Unknown)),
            (b"\0\0\0\x04", Some(Sniffed::Unknown)),
            (b" GET", Some(Sniffed::Unknown)),
        ] {
            assert_eq!(sniff(first), expected, "{:?}", String::from_utf8_lossy(first));
        }
    }

    #[test]
    fn every_start_is_decided_within_24_bytes() {
        let long = [b'A'; 24];
        assert_eq!(sniff(&long), Some(Sniffed::Unknown));
        for length in 0..=PREFACE.len() {
            let decided = sniff(&PREFACE[..length]).is_some();
            assert_eq!(decided, length == PREFACE.len());
        }
        for byte in 0..=u8::MAX {
            let mut first = PREFACE[..23].to_vec();
            first.push(byte);
            assert!(sniff(&first).is_some(), "{byte}");
        }
    }
}
