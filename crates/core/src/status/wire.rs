//! A status as header fields, both ways.
//!
//! The server writes one into the trailers of a call that failed, the client
//! reads one from the trailers of every call.

use crate::metadata::{MetadataMap, WireField, WireFields, append_base64, base64_len, decode_base64};
use crate::status::{Code, Status, percent};

/// The status fields of a received header block, borrowed from it.
///
/// The client feeds every field of the trailers; a successful status copies
/// nothing (wire-rules D3).
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusFields<'a> {
    code: Option<&'a [u8]>,
    message: Option<&'a [u8]>,
    details: Option<&'a [u8]>,
    /// There is another `grpc-status` that says something else.
    contradicts: bool,
}

impl<'a> StatusFields<'a> {
    /// Takes note of a field if it is one of the three that make a status;
    /// true if it was. Of repeated messages and details the first counts; a
    /// status that contradicts the first is no status that can be read, lest
    /// an error pass for success (53).
    pub fn observe(&mut self, name: &[u8], value: &'a [u8]) -> bool {
        let slot = match name {
            CODE => {
                self.contradicts |= self.code.is_some_and(|first| first != value);
                &mut self.code
            }
            MESSAGE => &mut self.message,
            DETAILS => &mut self.details,
            _ => return false,
        };
        slot.get_or_insert(value);
        true
    }

    /// Whether `grpc-status` was among the fields (wire-rules 54).
    pub fn is_present(&self) -> bool {
        self.code.is_some()
    }

    /// Whether the status is success.
    pub fn is_ok(&self) -> bool {
        self.code == Some(b"0") && !self.contradicts
    }

    /// The code; UNKNOWN if missing, unreadable or contradicted (53).
    pub fn code(&self) -> Code {
        match self.code {
            Some(value) if !self.contradicts => Code::from_wire(value),
            _ => Code::Unknown,
        }
    }

    /// The status, with the metadata that came in the same block.
    ///
    /// A code that is missing, unreadable or contradicted is UNKNOWN, and without a
    /// message of its own says so (53). Details that are not base64 are
    /// dropped: the code is never lost (D4).
    pub fn to_status(&self, metadata: MetadataMap) -> Status {
        let code = self.code();
        let mut status = match (self.message, self.code) {
            (Some(message), _) => Status::new(code, percent::decode(message)),
            (None, None) => Status::new(code, "the peer's trailers have no grpc-status"),
            (None, Some(_)) if self.contradicts => {
                Status::new(code, "the peer's trailers have several grpc-status that differ")
            }
            (None, Some(value)) if code == Code::Unknown && value != b"2" => {
                let shown = &value[..value.len().min(MAX_VALUE_SHOWN)];
                Status::new(code, format!("the peer's grpc-status is \"{}\"", shown.escape_ascii()))
            }
            (None, Some(_)) => Status::new(code, ""),
        };
        if let Some(details) = self.details.and_then(decode_base64) {
            status = status.with_details_bytes(details);
        }
        if metadata.is_empty() { status } else { status.with_metadata(metadata) }
    }
}

/// The fields of a status to send: `grpc-status`, `grpc-message`,
/// `grpc-status-details-bin`, then the metadata. Empty ones are left out.
#[derive(Clone, Debug)]
pub struct StatusWire<'a> {
    code: Option<&'static str>,
    message: &'a [u8],
    details: &'a [u8],
    metadata: WireFields<'a>,
}

impl Status {
    /// The trailer fields of this status in order. What needs encoding is
    /// written to `scratch` first; it is cleared, and grown at most once for
    /// the status and once for the metadata.
    pub fn wire_fields<'a>(&'a self, scratch: &'a mut Vec<u8>) -> StatusWire<'a> {
        scratch.clear();
        let details = self.details();
        scratch.reserve(percent::encoded_len_bound(self.message()) + base64_len(details.len()));
        percent::encode_into(self.message(), scratch);
        let details_at = scratch.len();
        append_base64(&details, scratch);
        let metadata_at = scratch.len();
        self.metadata().encode_binary(scratch);
        let encoded: &'a [u8] = scratch;
        StatusWire {
            code: Some(self.code().as_wire()),
            message: &encoded[..details_at],
            details: &encoded[details_at..metadata_at],
            metadata: self.metadata().wire_fields_encoded(&encoded[metadata_at..]),
        }
    }
}

impl<'a> Iterator for StatusWire<'a> {
    type Item = WireField<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = |name, value| Some(WireField { name, value, sensitive: false });
        if let Some(code) = self.code.take() {
            return field(CODE, code.as_bytes());
        }
        if !self.message.is_empty() {
            return field(MESSAGE, std::mem::take(&mut self.message));
        }
        if !self.details.is_empty() {
            return field(DETAILS, std::mem::take(&mut self.details));
        }
        self.metadata.next()
    }
}

const CODE: &[u8] = b"grpc-status";
const MESSAGE: &[u8] = b"grpc-message";
const DETAILS: &[u8] = b"grpc-status-details-bin";

/// Bytes of an unreadable `grpc-status` that a message repeats.
const MAX_VALUE_SHOWN: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &str)]) -> Status {
        let mut status = StatusFields::default();
        let mut metadata = MetadataMap::new();
        for (name, value) in fields {
            if !status.observe(name.as_bytes(), value.as_bytes()) {
                metadata.push_wire(name.as_bytes(), value.as_bytes(), false).unwrap();
            }
        }
        status.to_status(metadata)
    }

    fn written(status: &Status) -> Vec<(String, String)> {
        let mut scratch = b"left over".to_vec();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        status.wire_fields(&mut scratch).map(|field| (text(field.name), text(field.value))).collect()
    }

    fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_full_status_round_trips() {
        let mut status = Status::not_found("no \u{263a}").with_details_bytes(vec![1, 2, 3, 4]);
        status.metadata_mut().append("a", "1").unwrap();
        status.metadata_mut().append_bin("b-bin", b"\x00").unwrap();
        status.metadata_mut().append("a", "2").unwrap();
        let fields = [
            ("grpc-status", "5"),
            ("grpc-message", "no %E2%98%BA"),
            ("grpc-status-details-bin", "AQIDBA"),
            ("a", "1"),
            ("b-bin", "AA"),
            ("a", "2"),
        ];
        assert_eq!(written(&status), pairs(&fields));
        let read = read(&fields);
        assert_eq!((read.code(), read.message()), (Code::NotFound, "no \u{263a}"));
        assert_eq!(read.details()[..], [1, 2, 3, 4]);
        assert_eq!(read.metadata(), status.metadata());
    }

    // wire-rules 49: the status is sent even if it is OK, and nothing more than it has.
    #[test]
    fn empty_parts_are_not_sent() {
        assert_eq!(written(&Status::ok()), pairs(&[("grpc-status", "0")]));
        assert_eq!(written(&Status::internal("x")), pairs(&[("grpc-status", "13"), ("grpc-message", "x")]));
    }

    // wire-rules 20, H2: a user cannot forge the status.
    #[test]
    fn metadata_cannot_override_the_status() {
        let mut status = Status::aborted("");
        status.metadata_mut().append("grpc-status", "0").unwrap();
        assert_eq!(written(&status), pairs(&[("grpc-status", "10")]));
    }

    // wire-rules 53
    #[test]
    fn missing_and_unreadable_codes_are_unknown_and_say_so() {
        let status = read(&[]);
        assert_eq!(status.code(), Code::Unknown);
        assert!(status.message().contains("no grpc-status"));
        let status = read(&[("grpc-status", "07")]);
        assert_eq!(status.code(), Code::Unknown);
        assert!(status.message().contains("\"07\""));
        let status = read(&[("grpc-status", "99"), ("grpc-message", "theirs")]);
        assert_eq!((status.code(), status.message()), (Code::Unknown, "theirs"));
        assert_eq!(read(&[("grpc-status", "2")]).message(), "");
    }

    // wire-rules D4
    #[test]
    fn the_code_survives_a_broken_message_and_broken_details() {
        let status =
            read(&[("grpc-status", "9"), ("grpc-message", "%FF%zz"), ("grpc-status-details-bin", "!!")]);
        assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, "\u{fffd}%zz"));
        assert!(status.details().is_empty());
    }

    #[test]
    fn success_is_seen_without_building_a_status() {
        let mut fields = StatusFields::default();
        assert!(!fields.is_present());
        assert!(fields.observe(b"grpc-status", b"0"));
        assert!(!fields.observe(b"content-type", b"application/grpc"));
        assert!(fields.is_present() && fields.is_ok());
        assert!(fields.observe(b"grpc-status", b"0"), "a repeated field is still ours");
        assert!(fields.is_ok(), "and says the same");
    }

    // wire-rules 53: two that differ are not one decimal number; whichever came first, success is not what was said.
    #[test]
    fn statuses_that_contradict_each_other_are_unknown() {
        for (first, second) in [("0", "13"), ("13", "0"), ("5", "7"), ("0", "00"), ("2", "0")] {
            let status = read(&[("grpc-status", first), ("a", "1"), ("grpc-status", second)]);
            assert_eq!(status.code(), Code::Unknown, "{first} {second}");
            assert!(status.message().contains("differ"), "{status}");
            let status = read(&[("grpc-status", first), ("grpc-message", "theirs"), ("grpc-status", second)]);
            assert_eq!((status.code(), status.message()), (Code::Unknown, "theirs"));
        }
        assert_eq!(read(&[("grpc-status", "5"), ("grpc-status", "5")]).code(), Code::NotFound);
        let thrice = read(&[("grpc-status", "0"), ("grpc-status", "5"), ("grpc-status", "0")]);
        assert_eq!(thrice.code(), Code::Unknown);
    }
}
