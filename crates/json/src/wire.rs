//! Protobuf on the wire: fields as they come, and what it takes to write them.

/// A field number and its value, undecoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawField<'a> {
    pub(crate) number: u32,
    pub(crate) value: RawValue<'a>,
}

/// A value by its wire type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Delimited(&'a [u8]),
    /// What is between the two tags of a group.
    Group(&'a [u8]),
}

/// Bytes that are no protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The fields of a message, in the order of the wire. Ends after the first fault.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<RawField<'a>, Malformed> {
        let (number, wire_type) = take_tag(&mut self.rest)?;
        let value = match wire_type {
            VARINT => RawValue::Varint(take_varint(&mut self.rest)?),
            FIXED64 => RawValue::Fixed64(u64::from_le_bytes(take_array(&mut self.rest)?)),
            FIXED32 => RawValue::Fixed32(u32::from_le_bytes(take_array(&mut self.rest)?)),
            DELIMITED => RawValue::Delimited(take_delimited(&mut self.rest)?),
            START_GROUP => RawValue::Group(take_group(&mut self.rest, number)?),
            _ => return Err(Malformed),
        };
        Ok(RawField { number, value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<RawField<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// What is up to the end tag of the group `number`, whose start tag was taken. Groups inside are skipped without
/// recursion, however deep they go.
fn take_group<'a>(rest: &mut &'a [u8], number: u32) -> Result<&'a [u8], Malformed> {
    let start = *rest;
    let mut open = vec![number];
    loop {
        let before = *rest;
        let (number, wire_type) = take_tag(rest)?;
        match wire_type {
            VARINT => drop(take_varint(rest)?),
            FIXED64 => drop(take_array::<8>(rest)?),
            FIXED32 => drop(take_array::<4>(rest)?),
            DELIMITED => drop(take_delimited(rest)?),
            START_GROUP => open.push(number),
            END_GROUP if open.pop() == Some(number) => {
                if open.is_empty() {
                    return Ok(&start[..start.len() - before.len()]);
                }
            }
            _ => return Err(Malformed),
        }
    }
}

fn take_tag(rest: &mut &[u8]) -> Result<(u32, u8), Malformed> {
    let tag = u32::try_from(take_varint(rest)?).map_err(|_| Malformed)?;
    let number = tag >> 3;
    if number == 0 { Err(Malformed) } else { Ok((number, tag as u8 & 7)) }
}

/// A varint of at most ten bytes; what it has beyond 64 bits is dropped, as every runtime does.
pub(crate) fn take_varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for (at, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return Ok(value);
        }
    }
    Err(Malformed)
}

pub(crate) fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (array, after) = rest.split_first_chunk::<N>().ok_or(Malformed)?;
    *rest = after;
    Ok(*array)
}

fn take_delimited<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let len = usize::try_from(take_varint(rest)?).map_err(|_| Malformed)?;
    let (payload, after) = rest.split_at_checked(len).ok_or(Malformed)?;
    *rest = after;
    Ok(payload)
}

/// Wire types.
pub(crate) const VARINT: u8 = 0;
pub(crate) const FIXED64: u8 = 1;
pub(crate) const DELIMITED: u8 = 2;
pub(crate) const START_GROUP: u8 = 3;
pub(crate) const END_GROUP: u8 = 4;
pub(crate) const FIXED32: u8 = 5;

pub(crate) fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: u8) {
    put_varint(out, u64::from(number) << 3 | u64::from(wire_type));
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of bytes, text or an encoded message.
pub(crate) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, DELIMITED);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A length and what `write` puts behind it. The length is known afterwards only: one byte is kept for it, and the rest
/// moves on if it needs more.
pub(crate) fn put_delimited<E>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.push(0);
    write(out)?;
    let len = out.len() - start - 1;
    if len < 0x80 {
        out[start] = len as u8;
    } else {
        let mut prefix = Vec::with_capacity(5);
        put_varint(&mut prefix, len as u64);
        out.splice(start..=start, prefix);
    }
    Ok(())
}

/// Signed to unsigned such that small amounts are small numbers.
pub(crate) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Vec<String> {
        Fields::of(bytes).map(|field| format!("{field:?}")).collect()
    }

    #[test]
    fn every_wire_type_is_read() {
        let mut bytes = Vec::new();
        put_tag(&mut bytes, 1, VARINT);
        put_varint(&mut bytes, u64::MAX);
        put_tag(&mut bytes, 2, FIXED64);
        bytes.extend_from_slice(&7_u64.to_le_bytes());
        put_tag(&mut bytes, 3, FIXED32);
        bytes.extend_from_slice(&8_u32.to_le_bytes());
        put_bytes(&mut bytes, 536_870_911, b"ab");
        // A group with another one of the same number inside.
        bytes.extend_from_slice(&[0x2b, 0x2b, 0x08, 0x01, 0x2c, 0x2c]);
        let all: Vec<_> = Fields::of(&bytes).map(Result::unwrap).collect();
        assert_eq!(all.len(), 5);
        assert!(matches!(all[0].value, RawValue::Varint(u64::MAX)));
        assert!(matches!(all[1].value, RawValue::Fixed64(7)));
        assert!(matches!(all[2].value, RawValue::Fixed32(8)));
        assert!(matches!(all[3], RawField { number: 536_870_911, value: RawValue::Delimited(b"ab") }));
        assert!(matches!(all[4].value, RawValue::Group([0x2b, 0x08, 0x01, 0x2c])));
        for cut in 1..bytes.len() {
            let _no_panic = fields(&bytes[..cut]);
        }
    }

    #[test]
    fn broken_fields_end_the_message() {
        let broken: [&[u8]; 8] = [
            &[0x00],
            &[0x08],
            &[0x0e, 0x00],
            &[0x0c],
            &[0x0b, 0x08, 0x01],
            &[0x0b, 0x14],
            &[0x0a, 0x02, 0x00],
            &[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        ];
        for bytes in broken {
            assert_eq!(fields(bytes), ["Err(Malformed)"], "{bytes:02x?}");
        }
    }

    #[test]
    fn lengths_of_any_size_are_filled_in() {
        for len in [0_usize, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let mut out = vec![9];
            put_delimited(&mut out, |out| {
                out.resize(out.len() + len, 7);
                Ok::<(), Malformed>(())
            })
            .unwrap();
            let mut rest = &out[1..];
            assert_eq!(take_varint(&mut rest), Ok(len as u64));
            assert!(rest.len() == len && rest.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn zigzag_goes_both_ways() {
        for value in [0, -1, 1, i64::MIN, i64::MAX, -123_456] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!((zigzag(-1), zigzag(1)), (1, 2));
    }
}
