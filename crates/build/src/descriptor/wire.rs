//! Edits an encoded descriptor set without decoding it, so that custom options and fields of newer versions survive.

/// `FileDescriptorSet.file`, `FileDescriptorProto.source_code_info` and `CodeGeneratorRequest.proto_file`.
const FILE: u64 = 1;
const SOURCE_CODE_INFO: u64 = 9;
const PROTO_FILE: u64 = 15;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED32: u64 = 5;

/// The set with every file's `source_code_info` left out: comments are the bulk of it, and no client of reflection
/// needs them. `None` if the bytes are no protobuf message.
pub(super) fn without_source_info(set: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(set.len());
    let mut rest = set;
    while !rest.is_empty() {
        let field = Field::take(&mut rest)?;
        if field.number == FILE && field.wire_type == LENGTH_DELIMITED {
            put_file(&mut out, &file_without_source_info(field.payload)?);
        } else {
            out.extend_from_slice(field.whole);
        }
    }
    Some(out)
}

/// The files of an encoded `CodeGeneratorRequest` as a descriptor set, byte for byte. Stops where the bytes are no
/// protobuf message.
pub(crate) fn set_of_request(request: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(request.len());
    let mut rest = request;
    while let Some(field) = Field::take(&mut rest) {
        if field.number == PROTO_FILE && field.wire_type == LENGTH_DELIMITED {
            put_file(&mut out, field.payload);
        }
    }
    out
}

fn put_file(set: &mut Vec<u8>, file: &[u8]) {
    put_varint(set, FILE << 3 | LENGTH_DELIMITED);
    put_varint(set, file.len() as u64);
    set.extend_from_slice(file);
}

fn file_without_source_info(file: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(file.len());
    let mut rest = file;
    while !rest.is_empty() {
        let field = Field::take(&mut rest)?;
        if field.number != SOURCE_CODE_INFO {
            out.extend_from_slice(field.whole);
        }
    }
    Some(out)
}

struct Field<'a> {
    number: u64,
    wire_type: u64,
    /// Tag, length and payload as they were.
    whole: &'a [u8],
    /// What follows the tag, or the length where there is one.
    payload: &'a [u8],
}

impl<'a> Field<'a> {
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let start = *rest;
        let tag = take_varint(rest)?;
        let (number, wire_type) = (tag >> 3, tag & 7);
        let payload_len = match wire_type {
            VARINT => {
                let mut ahead = *rest;
                take_varint(&mut ahead)?;
                rest.len() - ahead.len()
            }
            FIXED64 => 8,
            FIXED32 => 4,
            LENGTH_DELIMITED => usize::try_from(take_varint(rest)?).ok()?,
            // Groups do not occur in descriptors.
            _ => return None,
        };
        let (payload, after) = rest.split_at_checked(payload_len)?;
        *rest = after;
        Some(Self { number, wire_type, whole: &start[..start.len() - after.len()], payload })
    }
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (at, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Some(value);
        }
    }
    None
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::source_code_info::Location;
    use prost_types::{FileDescriptorProto, FileDescriptorSet, SourceCodeInfo};

    use super::*;

    #[test]
    fn source_info_goes_and_unknown_fields_stay() {
        let mut file = FileDescriptorProto {
            name: Some("a.proto".into()),
            package: Some("p".repeat(300)),
            ..FileDescriptorProto::default()
        };
        let expected = {
            let mut bytes = file.encode_to_vec();
            bytes.extend_from_slice(&[0xa2, 0x06, 0x02, 0x08, 0x01]); // field 100, unknown
            let mut set = Vec::new();
            put_file(&mut set, &bytes);
            set
        };
        file.source_code_info = Some(SourceCodeInfo { location: vec![Location::default(); 3] });
        let mut bytes = file.encode_to_vec();
        bytes.extend_from_slice(&[0xa2, 0x06, 0x02, 0x08, 0x01]);
        let mut set = Vec::new();
        put_file(&mut set, &bytes);

        assert_eq!(without_source_info(&set).unwrap(), expected);
        assert!(FileDescriptorSet::decode(&*expected).unwrap().file[0].source_code_info.is_none());
    }

    #[test]
    fn broken_bytes_are_refused_at_every_cut() {
        let set = FileDescriptorSet {
            file: vec![FileDescriptorProto { name: Some("a".into()), ..Default::default() }],
        };
        let bytes = set.encode_to_vec();
        for cut in 1..bytes.len() {
            assert!(without_source_info(&bytes[..cut]).is_none(), "{cut}");
        }
        assert_eq!(without_source_info(&bytes), Some(bytes));
    }
}
