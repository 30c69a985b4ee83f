//! Metadata and status as the engine's header fields.

use peregrine_core::Status;
use peregrine_core::metadata::{MetadataMap, WireField};
use peregrine_http2::Field;

/// The user's metadata as fields, reserved names left out (wire-rules 20, H2). `scratch` takes base64.
pub(super) fn metadata_fields<'a>(
    metadata: &'a MetadataMap,
    scratch: &'a mut Vec<u8>,
) -> impl Iterator<Item = Field<'a>> + Clone {
    metadata.wire_fields(scratch).map(to_field)
}

/// The fields of a status, with its details and metadata. `scratch` takes what needs encoding.
pub(super) fn status_fields<'a>(
    status: &'a Status,
    scratch: &'a mut Vec<u8>,
) -> impl Iterator<Item = Field<'a>> + Clone {
    status.wire_fields(scratch).map(to_field)
}

fn to_field(field: WireField<'_>) -> Field<'_> {
    Field { name: field.name, value: field.value, sensitive: field.sensitive }
}
