//! As much of the protobuf wire format as `google.rpc` takes: strings, integers, messages.
//!
//! Written by hand because `core` knows no protobuf crate, and the types of `google.rpc` have not changed shape in a
//! decade. What is read comes from a peer: nothing here panics, recurses without a bound, or reserves more than it
//! was given.

use std::collections::BTreeMap;

use crate::codec::DecodeError;

/// The value of one field, borrowed from the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// Integers, booleans, enums.
    Varint(u64),
    /// Strings, bytes, messages, map entries.
    Bytes(&'a [u8]),
    /// Fixed-width numbers and groups, of which `google.rpc` has none: skipped.
    Other,
}

/// A message that fields are read into, one after another.
pub(super) trait Merge: Default {
    /// Takes a field. One whose number or type is not known is left alone, as protobuf asks for.
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError>;

    /// Reads all fields of `bytes`. Of a singular field the last one counts; messages merge.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (number, value) = field(&mut rest)?;
            self.take(number, value)?;
        }
        Ok(())
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }
}

/// Appends fields to a message. Fields that hold their default are left out.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn string(&mut self, number: u32, value: &str) {
        if !value.is_empty() {
            self.message(number, value.as_bytes());
        }
    }

    pub(super) fn strings(&mut self, number: u32, values: &[String]) {
        // In a list an empty string counts.
        for value in values {
            self.message(number, value.as_bytes());
        }
    }

    /// An `int32` or `int64`.
    pub(super) fn integer(&mut self, number: u32, value: i64) {
        if value != 0 {
            self.present_integer(number, value);
        }
    }

    /// An `optional` integer that is there, zero or not.
    pub(super) fn present_integer(&mut self, number: u32, value: i64) {
        self.tag(number, VARINT);
        // Negative numbers take ten bytes, as protobuf has it.
        self.varint(value as u64);
    }

    /// A field of the given encoded content, empty or not.
    pub(super) fn message(&mut self, number: u32, content: &[u8]) {
        self.tag(number, LEN);
        self.varint(content.len() as u64);
        self.0.extend_from_slice(content);
    }

    pub(super) fn map(&mut self, number: u32, entries: &BTreeMap<String, String>) {
        for (key, value) in entries {
            let mut entry = Self::default();
            entry.string(1, key);
            entry.string(2, value);
            self.message(number, &entry.0);
        }
    }

    fn tag(&mut self, number: u32, wire_type: u32) {
        self.varint(u64::from(number << 3 | wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Sets a string field.
pub(super) fn set_string(place: &mut String, value: &[u8]) -> Result<(), DecodeError> {
    text(value)?.clone_into(place);
    Ok(())
}

/// Adds to a list of strings.
pub(super) fn push_string(list: &mut Vec<String>, value: &[u8]) -> Result<(), DecodeError> {
    list.push(text(value)?.to_owned());
    Ok(())
}

/// Adds to a list of messages.
pub(super) fn push_message<M: Merge>(list: &mut Vec<M>, value: &[u8]) -> Result<(), DecodeError> {
    list.push(M::from_bytes(value)?);
    Ok(())
}

/// Adds an entry to a map; the last one of a key counts.
pub(super) fn insert(map: &mut BTreeMap<String, String>, entry: &[u8]) -> Result<(), DecodeError> {
    let Entry { key, value } = Entry::from_bytes(entry)?;
    map.insert(key, value);
    Ok(())
}

/// An entry of a `map<string, string>`.
#[derive(Default)]
struct Entry {
    key: String,
    value: String,
}

impl Merge for Entry {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(key)) => set_string(&mut self.key, key),
            (2, Value::Bytes(value)) => set_string(&mut self.value, value),
            _ => Ok(()),
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).map_err(|_| DecodeError::new("a string is not UTF-8"))
}

/// Takes one field off the front of `rest`.
fn field<'a>(rest: &mut &'a [u8]) -> Result<(u32, Value<'a>), DecodeError> {
    let (number, wire_type) = tag(rest)?;
    let value = match wire_type {
        VARINT => Value::Varint(varint(rest)?),
        LEN => {
            let len = varint(rest)?;
            Value::Bytes(bytes(rest, len)?)
        }
        wire_type => {
            skip(rest, number, wire_type, MAX_GROUPS)?;
            Value::Other
        }
    };
    Ok((number, value))
}

fn tag(rest: &mut &[u8]) -> Result<(u32, u32), DecodeError> {
    let tag = u32::try_from(varint(rest)?).map_err(|_| DecodeError::new("a field number is too large"))?;
    match tag >> 3 {
        0 => Err(DecodeError::new("a field has the number 0")),
        number => Ok((number, tag & 7)),
    }
}

/// Skips the value of a field; `groups` may be open inside of one another at most.
fn skip(rest: &mut &[u8], number: u32, wire_type: u32, groups: u32) -> Result<(), DecodeError> {
    match wire_type {
        VARINT => varint(rest).map(drop),
        FIXED64 => bytes(rest, 8).map(drop),
        FIXED32 => bytes(rest, 4).map(drop),
        LEN => {
            let len = varint(rest)?;
            bytes(rest, len).map(drop)
        }
        GROUP if groups > 0 => loop {
            match tag(rest)? {
                (end, GROUP_END) if end == number => return Ok(()),
                (_, GROUP_END) => return Err(DecodeError::new("a group ends that did not begin")),
                (number, wire_type) => skip(rest, number, wire_type, groups - 1)?,
            }
        },
        GROUP => Err(DecodeError::new("groups are nested too deeply")),
        _ => Err(DecodeError::new("a field has no known wire type")),
    }
}

fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0;
    for shift in (0..).step_by(7).take(10) {
        let Some((&byte, after)) = rest.split_first() else { return Err(cut()) };
        *rest = after;
        // Of the tenth byte one bit is left to fill.
        if shift == 63 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(DecodeError::new("an integer is too long"))
}

fn bytes<'a>(rest: &mut &'a [u8], len: u64) -> Result<&'a [u8], DecodeError> {
    let len = usize::try_from(len).map_err(|_| cut())?;
    let (bytes, after) = rest.split_at_checked(len).ok_or_else(cut)?;
    *rest = after;
    Ok(bytes)
}

fn cut() -> DecodeError {
    DecodeError::new("the message ends inside of a field")
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LEN: u32 = 2;
const GROUP: u32 = 3;
const GROUP_END: u32 = 4;
const FIXED32: u32 = 5;

/// Groups that an unknown field may nest, as in every protobuf runtime.
const MAX_GROUPS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what it is told.
    #[derive(Debug, Default)]
    struct Seen(Vec<String>);

    impl Merge for Seen {
        fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
            self.0.push(format!("{number} {value:?}"));
            Ok(())
        }
    }

    fn seen(bytes: &[u8]) -> Result<Vec<String>, DecodeError> {
        Seen::from_bytes(bytes).map(|seen| seen.0)
    }

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.string(1, "");
        writer.string(2, "two");
        writer.integer(3, 0);
        writer.integer(4, -1);
        writer.present_integer(5, 0);
        writer.strings(2_000, &[String::new()]);
        let bytes = writer.into_bytes();
        let expected = [
            "2 Bytes([116, 119, 111])".to_owned(),
            format!("4 Varint({})", u64::MAX),
            "5 Varint(0)".to_owned(),
            "2000 Bytes([])".to_owned(),
        ];
        assert_eq!(seen(&bytes).unwrap(), expected);
        assert_eq!(bytes[5..16], [0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    }

    #[test]
    fn every_cut_is_an_error_and_no_panic() {
        let mut writer = Writer::default();
        writer.string(1, "one");
        writer.integer(300, i64::MIN);
        let bytes = writer.into_bytes();
        let whole = [5, bytes.len()];
        for end in 1..bytes.len() {
            assert_eq!(seen(&bytes[..end]).is_ok(), whole.contains(&end), "{end}");
        }
    }

    #[test]
    fn fixed_numbers_and_groups_are_skipped() {
        let fixed = [0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4];
        assert_eq!(seen(&fixed).unwrap(), ["1 Other", "2 Other"]);
        // Group 1 with a varint, a string, and a group 2 that holds a fixed number.
        let group = [0x0b, 0x08, 1, 0x12, 1, b'x', 0x13, 0x1d, 1, 2, 3, 4, 0x14, 0x0c];
        assert_eq!(seen(&group).unwrap(), ["1 Other"]);
    }

    #[test]
    fn broken_messages_are_errors() {
        let cases: [&[u8]; 9] = [
            &[0x00, 0],                                                       // field 0
            &[0x0c],                                                          // a group's end alone
            &[0x0b, 0x14],                                                    // another group's end
            &[0x0e],                                                          // wire types 6
            &[0x0f],                                                          // and 7
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], // 65 bits
            &[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0],
            &[0xf8, 0xff, 0xff, 0xff, 0x1f, 0], // a field number of 33 bits
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], // a length beyond any memory
        ];
        for bytes in cases {
            assert!(seen(bytes).is_err(), "{bytes:x?}");
        }
        let deep = vec![0x0b; 200];
        assert!(seen(&deep).unwrap_err().to_string().contains("too deeply"));
    }
}
