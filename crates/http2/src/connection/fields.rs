//! Which header lists are well-formed (RFC 9113, 8.2 and 8.3), checked field by field while a block is
//! decoded.
//!
//! Deliberate leniency: blanks around a value, which 8.2.1 forbids, are stripped instead, since gRPC peers
//! send them in metadata (wire-rules 22).

use crate::head::{Pseudo, parse_status};
use crate::memo::{BlockKind, Room};
use crate::{Field, Head};

/// Builds a [`Head`] from the fields of one block.
pub(super) struct HeadBuilder {
    kind: BlockKind,
    head: Head,
    /// Size of the list so far, whether stored or not.
    size: usize,
    /// Largest list that is stored; beyond it fields are checked and dropped.
    limit: usize,
    /// Pseudo-header fields seen, by bit.
    seen: u8,
    /// A regular field has come, no pseudo-header field may follow.
    regular: bool,
    host: bool,
    malformed: Option<Malformed>,
}

/// What is wrong with a header list: always a stream error PROTOCOL_ERROR (8.1.1).
pub(super) type Malformed = &'static str;

/// What a block turned out to be.
pub(super) enum Built {
    Head(Head),
    /// Longer than we accept; its size.
    TooLarge(usize),
    Malformed(Malformed),
}

impl HeadBuilder {
    /// For a block that is expected to decode to so many fields and octets.
    pub(super) fn new(kind: BlockKind, limit: usize, expected: Room) -> Self {
        HeadBuilder {
            kind,
            head: Head::with_capacity(expected.fields, expected.bytes.min(limit)),
            size: 0,
            limit,
            seen: 0,
            regular: false,
            host: false,
            malformed: None,
        }
    }

    /// Size of the list so far.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Takes the next field.
    pub(super) fn push(&mut self, field: Field<'_>) {
        self.size = self.size.saturating_add(field.size());
        if self.malformed.is_some() {
            return;
        }
        let pushed = match field.name.first() {
            None => Err("empty field name"),
            Some(b':') => self.push_pseudo(field),
            Some(_) => self.push_regular(field),
        };
        self.malformed = pushed.err();
    }

    /// Judges the whole list.
    pub(super) fn finish(self) -> Built {
        if let Some(reason) = self.malformed.or(self.missing()) {
            return Built::Malformed(reason);
        }
        if self.size > self.limit {
            return Built::TooLarge(self.size);
        }
        Built::Head(self.head)
    }

    // wire-rules 7
    fn push_pseudo(&mut self, field: Field<'_>) -> Result<(), Malformed> {
        // [9113-8.3-2]
        if self.regular {
            return Err("pseudo-header field after a regular one");
        }
        // [9113-8.3-1]
        let pseudo = Pseudo::of(field.name).ok_or("unknown pseudo-header field")?;
        match (self.kind, pseudo) {
            (BlockKind::Trailers, _) => return Err("pseudo-header field in trailers"),
            (BlockKind::Request, Pseudo::Status) => return Err(":status in a request"),
            (BlockKind::Response, Pseudo::Status) => {
                parse_status(field.value).ok_or(":status is not three digits")?;
            }
            (BlockKind::Response, _) => return Err("pseudo-header field of requests in a response"),
            (BlockKind::Request, _) => {}
        }
        // [9113-8.3-3]
        if self.seen & bit(pseudo) != 0 {
            return Err("pseudo-header field given twice");
        }
        check_value(field.value)?;
        // [9113-8.3.1-5]
        if field.value.is_empty() && pseudo != Pseudo::Authority {
            // 8.3.1: :path must not be empty; nor can a method or scheme be.
            return Err("empty pseudo-header field");
        }
        self.seen |= bit(pseudo);
        if self.size <= self.limit {
            self.head.set_pseudo(pseudo, field.value);
        }
        Ok(())
    }

    fn push_regular(&mut self, field: Field<'_>) -> Result<(), Malformed> {
        self.regular = true;
        check_name(field.name)?;
        check_value(field.value)?;
        let value = field.value.trim_ascii();
        match field.name {
            // 8.2.2, wire-rules 12
            // [9113-8.2.2-1]
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
                return Err("connection-specific field");
            }
            // [9113-8.2.2-2]
            b"te" if !value.eq_ignore_ascii_case(b"trailers") => return Err("te is not trailers"),
            // wire-rules 11
            b"host" if std::mem::replace(&mut self.host, true) => return Err("host given twice"),
            // [9113-8.1.1-2]
            b"content-length" if self.kind != BlockKind::Trailers => {
                let length = parse_length(value).ok_or("content-length is not a number")?;
                if self.head.content_length().is_some_and(|earlier| earlier != length) {
                    return Err("two different content-length fields");
                }
                self.head.set_content_length(length);
            }
            _ => {}
        }
        if self.size <= self.limit {
            self.head.push(Field { value, ..field });
        }
        Ok(())
    }

    /// What the list lacks (8.3.1, 8.3.2).
    // [9113-8.3.1-6] [9113-8.3.2-1] [9113-8.5-1]
    fn missing(&self) -> Option<Malformed> {
        let has = |pseudo| self.seen & bit(pseudo) != 0;
        match self.kind {
            BlockKind::Trailers => None,
            BlockKind::Response => (!has(Pseudo::Status)).then_some(":status is missing"),
            BlockKind::Request if self.head.method() == Some(b"CONNECT") => {
                // 8.5
                let sound = has(Pseudo::Authority) && !has(Pseudo::Scheme) && !has(Pseudo::Path);
                (!sound).then_some("CONNECT takes :authority and neither :scheme nor :path")
            }
            BlockKind::Request => [
                (Pseudo::Method, ":method is missing"),
                (Pseudo::Scheme, ":scheme is missing"),
                (Pseudo::Path, ":path is missing"),
            ]
            .into_iter()
            .find_map(|(pseudo, reason)| (!has(pseudo)).then_some(reason)),
        }
    }
}

fn bit(pseudo: Pseudo) -> u8 {
    1 << pseudo as u8
}

/// 8.2.1: no upper case, no blanks and controls, nothing beyond ASCII, no colon.
// wire-rules 21
// [9113-8.2.1-1] [9113-8.2.1-2]
fn check_name(name: &[u8]) -> Result<(), Malformed> {
    if name.iter().all(|octet| matches!(octet, 0x21..=0x7e) && !matches!(octet, b'A'..=b'Z' | b':')) {
        Ok(())
    } else {
        Err("forbidden character in a field name")
    }
}

/// 8.2.1: no NUL, CR, LF.
// [9113-8.2.1-3]
fn check_value(value: &[u8]) -> Result<(), Malformed> {
    if value.iter().any(|octet| matches!(octet, 0 | b'\r' | b'\n')) {
        Err("forbidden character in a field value")
    } else {
        Ok(())
    }
}

/// Digits only, without overflow (RFC 9110, 8.6).
#[expect(clippy::arithmetic_side_effects, reason = "a digit is at least `0`")]
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    let length = value.iter().try_fold(0_u64, |length, octet| {
        let digit = octet.is_ascii_digit().then(|| u64::from(octet - b'0'))?;
        length.checked_mul(10)?.checked_add(digit)
    })?;
    // The largest number stands for "unknown" in the stream's state.
    (length < u64::MAX).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(kind: BlockKind, fields: &[(&str, &str)]) -> Built {
        let mut builder = HeadBuilder::new(kind, 1000, Room::default());
        for (name, value) in fields {
            builder.push(Field::new(name.as_bytes(), value.as_bytes()));
        }
        builder.finish()
    }

    fn reason(kind: BlockKind, fields: &[(&str, &str)]) -> &'static str {
        match build(kind, fields) {
            Built::Malformed(reason) => reason,
            Built::TooLarge(_) => "(too large)",
            Built::Head(_) => "",
        }
    }

    const GOOD: [(&str, &str); 4] =
        [(":method", "POST"), (":scheme", "http"), (":path", "/s/m"), (":authority", "a")];

    fn request(more: &[(&str, &str)]) -> &'static str {
        reason(BlockKind::Request, &[&GOOD[..], more].concat())
    }

    #[test]
    fn well_formed_lists_pass() {
        // [9113-8.5-1]
        assert_eq!(
            request(&[("te", "trailers"), ("x", ""), ("content-length", "5"), ("content-length", "5")]),
            ""
        );
        assert_eq!(reason(BlockKind::Request, &GOOD[..3]), "");
        assert_eq!(reason(BlockKind::Request, &[(":method", "CONNECT"), (":authority", "a:1")]), "");
        assert_eq!(reason(BlockKind::Response, &[(":status", "200"), ("x", "\u{e9}")]), "");
        assert_eq!(reason(BlockKind::Trailers, &[("grpc-status", "0")]), "");
    }

    #[test]
    fn pseudo_header_fields_are_first_known_unique_and_complete() {
        // [9113-8.3-1] [9113-8.3-2] [9113-8.3-3] [9113-8.3.1-5] [9113-8.3.1-6] [9113-8.3.2-1]
        // wire-rules 7
        assert_eq!(request(&[("x", "1"), (":path", "/")]), "pseudo-header field after a regular one");
        assert_eq!(request(&[(":path", "/")]), "pseudo-header field given twice");
        assert_eq!(request(&[(":protocol", "x")]), "unknown pseudo-header field");
        assert_eq!(request(&[(":status", "200")]), ":status in a request");
        for missing in 0..3 {
            let mut fields = GOOD.to_vec();
            fields.remove(missing);
            assert!(reason(BlockKind::Request, &fields).ends_with("is missing"));
        }
        assert_eq!(
            reason(BlockKind::Request, &[GOOD[0], GOOD[1], (":path", "")]),
            "empty pseudo-header field"
        );
        assert_eq!(reason(BlockKind::Response, &[("x", "1")]), ":status is missing");
        assert_eq!(reason(BlockKind::Response, &[(":status", "20")]), ":status is not three digits");
        assert_eq!(
            reason(BlockKind::Response, &[(":status", "200"), (":path", "/")]),
            "pseudo-header field of requests in a response"
        );
        assert_eq!(reason(BlockKind::Trailers, &[(":status", "200")]), "pseudo-header field in trailers");
    }

    #[test]
    fn connection_specific_fields_are_refused() {
        // [9113-8.2.2-1] [9113-8.2.2-2]
        // wire-rules 12, 11
        for name in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"] {
            assert_eq!(request(&[(name, "x")]), "connection-specific field");
        }
        assert_eq!(request(&[("te", "trailers, deflate")]), "te is not trailers");
        assert_eq!(request(&[("host", "a"), ("host", "a")]), "host given twice");
    }

    #[test]
    fn names_and_values_are_checked() {
        // [9113-8.2.1-1] [9113-8.2.1-2] [9113-8.2.1-3]
        // wire-rules 21
        for name in ["Upper", "sp ace", "co:lon", "nul\0", "del\u{7f}", "h\u{e9}"] {
            assert_eq!(request(&[(name, "x")]), "forbidden character in a field name");
        }
        assert_eq!(request(&[("", "")]), "empty field name");
        for value in ["a\0b", "a\rb", "a\nb"] {
            assert_eq!(request(&[("x", value)]), "forbidden character in a field value");
        }
        let mut builder = HeadBuilder::new(BlockKind::Trailers, 1000, Room::default());
        builder.push(Field::new(b"x", b" \tv v "));
        let Built::Head(head) = builder.finish() else { panic!("refused") };
        assert_eq!(head.field(b"x"), Some(&b"v v"[..])); // wire-rules 22
    }

    #[test]
    fn content_length_is_one_number() {
        // [9113-8.1.1-2]
        for bad in ["", "-1", "1 2", "0x1", "18446744073709551615", "99999999999999999999", "5, 5"] {
            assert_eq!(request(&[("content-length", bad)]), "content-length is not a number", "{bad}");
        }
        assert_eq!(
            request(&[("content-length", "1"), ("content-length", "2")]),
            "two different content-length fields"
        );
    }

    #[test]
    fn a_long_list_is_checked_to_its_end_and_not_stored() {
        let filler = "x".repeat(500);
        let long = [("a", filler.as_str()), ("b", filler.as_str())];
        let Built::TooLarge(size) = build(BlockKind::Trailers, &long) else { panic!("stored") };
        assert_eq!(size, 2 * (1 + 500 + 32));
        let bad = [&long[..], &[("connection", "close")]].concat();
        assert_eq!(reason(BlockKind::Trailers, &bad), "connection-specific field");
    }
}
