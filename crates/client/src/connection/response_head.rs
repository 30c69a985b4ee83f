//! What a header block of a response says, worked out once per block.
//!
//! The engine's memo hands the same [`Head`] to every call that received the same bytes, so the facts below are kept
//! with it: most responses of a connection cost no look at a header field at all.

use std::sync::OnceLock;

use peregrine_core::Format;
use peregrine_core::compression::EncodingSet;
use peregrine_core::content_type::{self, ContentType};
use peregrine_core::message::Encoding;
use peregrine_core::metadata::{InvalidMetadata, MetadataMap, is_reserved_on_receipt};
use peregrine_core::status::{Code, Status, StatusFields};
use peregrine_http2::Head;

/// The facts of a response's first block, of its trailers, or of both in one (trailers-only).
#[derive(Debug)]
pub(super) struct ResponseHead {
    /// Whether `content-type` says gRPC (wire-rules 9); false if there is none.
    pub(super) is_grpc: bool,
    /// The format that `content-type` names, if it is one that we know.
    pub(super) format: Option<Format>,
    /// `grpc-status`, if there is one (54).
    pub(super) code: Option<Code>,
    /// `grpc-encoding`, or why it cannot be read (35).
    pub(super) encoding: Result<Encoding, Box<str>>,
    /// `grpc-accept-encoding`, if there is one.
    pub(super) accepts: Option<EncodingSet>,
    /// Fields that are the user's, and the bytes of their names and values: enough to size a map once (H1).
    user_fields: usize,
    user_bytes: usize,
    /// The user's fields, once somebody has asked for them; `None` if one cannot be read.
    metadata: OnceLock<Option<MetadataMap>>,
}

impl ResponseHead {
    /// The facts of `head`, from the place where they are kept.
    pub(super) fn of(head: &Head) -> &Self {
        head.attachment(Self::derive)
    }

    fn derive(head: &Head) -> Self {
        let mut facts = Self {
            is_grpc: false,
            format: None,
            code: None,
            encoding: Ok(Encoding::Identity),
            accepts: None,
            user_fields: 0,
            user_bytes: 0,
            metadata: OnceLock::new(),
        };
        // A field that says one thing and is there twice says nothing, in whatever order (wire-rules N2, N5, N7).
        let (mut types, mut encodings) = (0_usize, 0_usize);
        let mut status = StatusFields::default();
        for field in head.fields() {
            if status.observe(field.name, field.value) {
                continue;
            }
            match field.name {
                b"content-type" => {
                    types += 1;
                    let content_type = content_type::classify(field.value);
                    facts.is_grpc = content_type != ContentType::NotGrpc;
                    facts.format = match content_type {
                        ContentType::Grpc(format) => Some(format),
                        ContentType::OtherFormat(_) | ContentType::NotGrpc => None,
                    };
                }
                b"grpc-encoding" => {
                    encodings += 1;
                    facts.encoding =
                        Encoding::from_wire(field.value).map_err(|error| error.to_string().into());
                }
                // wire-rules N4
                b"grpc-accept-encoding" => {
                    let named = EncodingSet::from_wire(field.value);
                    facts.accepts = Some(facts.accepts.unwrap_or_default().union(named));
                }
                name if is_reserved_on_receipt(name) => {}
                name => {
                    facts.user_fields += 1;
                    facts.user_bytes += name.len() + field.value.len();
                }
            }
        }
        if types > 1 {
            (facts.is_grpc, facts.format) = (false, None);
        }
        if encodings > 1 {
            facts.encoding = Err("the response has more than one grpc-encoding".into());
        }
        facts.code = status.is_present().then(|| status.code());
        facts
    }

    /// Whether any field is the user's.
    pub(super) fn has_metadata(&self) -> bool {
        self.user_fields > 0
    }
}

/// The user's fields of `head` as metadata, shared with the other calls that received the same block (wire-rules H1).
///
/// # Errors
/// INTERNAL for a `-bin` field that is not base64 (wire-rules 25).
pub(crate) fn metadata(head: &Head) -> Result<MetadataMap, Status> {
    let facts = ResponseHead::of(head);
    if facts.user_fields == 0 {
        return Ok(MetadataMap::new());
    }
    match facts.metadata.get_or_init(|| read(head, facts).ok()) {
        Some(metadata) => Ok(metadata.clone()),
        None => read(head, facts),
    }
}

fn read(head: &Head, facts: &ResponseHead) -> Result<MetadataMap, Status> {
    let mut metadata = MetadataMap::with_capacity(facts.user_fields, facts.user_bytes);
    for field in head.fields() {
        metadata.push_wire(field.name, field.value, field.sensitive).map_err(|error| broken(&error))?;
    }
    Ok(metadata)
}

/// The status that `head`, which has a `grpc-status`, stands for, with the metadata beside it.
pub(super) fn status(head: &Head) -> Status {
    let metadata = match metadata(head) {
        Ok(metadata) => metadata,
        Err(status) => return status,
    };
    let mut fields = StatusFields::default();
    for field in head.fields() {
        fields.observe(field.name, field.value);
    }
    fields.to_status(metadata)
}

fn broken(error: &InvalidMetadata) -> Status {
    Status::internal(format!("the peer's response cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use peregrine_http2::Field;

    use super::*;

    fn head(fields: &[(&str, &str)]) -> Head {
        Head::from_fields(fields.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes())))
    }

    #[test]
    fn a_missing_status_differs_from_an_unreadable_one() {
        // wire-rules 53, 54
        assert_eq!(ResponseHead::of(&head(&[("a", "b")])).code, None);
        assert_eq!(ResponseHead::of(&head(&[("grpc-status", "x")])).code, Some(Code::Unknown));
        assert_eq!(ResponseHead::of(&head(&[("grpc-status", "5")])).code, Some(Code::NotFound));
    }

    #[test]
    fn only_the_users_fields_become_metadata() {
        // wire-rules 20, 24
        let head = head(&[
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("k", "v"),
            ("x-bin", "AQ,Ag"),
            ("k", "w"),
            ("grpc-status", "0"),
        ]);
        let metadata = metadata(&head).unwrap();
        let values: Vec<_> = metadata.get_all("k").map(|value| value.as_bytes().to_vec()).collect();
        assert_eq!(values, [b"v", b"w"]);
        let binary: Vec<_> = metadata.get_all("x-bin").map(|value| value.as_bytes().to_vec()).collect();
        assert_eq!(binary, [[1], [2]]);
        assert_eq!(metadata.len(), 4);
        assert!(ResponseHead::of(&head).has_metadata());
    }

    #[test]
    fn a_status_keeps_the_metadata_beside_it() {
        let status = status(&head(&[("grpc-status", "7"), ("grpc-message", "no%20way"), ("why", "because")]));
        assert_eq!((status.code(), status.message()), (Code::PermissionDenied, "no way"));
        assert_eq!(status.metadata().get("why"), Some("because"));
    }

    #[test]
    fn a_binary_value_that_is_not_base64_is_the_peers_fault() {
        // wire-rules 25
        assert_eq!(metadata(&head(&[("x-bin", "!")])).unwrap_err().code(), Code::Internal);
    }
}
