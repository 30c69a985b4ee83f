//! Random messages beside prost-reflect: both print the same, and each reads what the other printed.

use prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};

use crate::support::{EVERYTHING, OLDER, descriptor, print, printed_by_them, read, theirs};

/// Pseudo-random numbers, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Small and large, at the edges and between.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(3),
            1 => self.below(3).wrapping_neg(),
            2 => self.next() >> self.below(64),
            _ => [i32::MAX as u64, i32::MIN as u64, u32::MAX.into(), i64::MAX as u64, i64::MIN as u64]
                [self.below(5) as usize],
        }
    }

    fn text(&mut self) -> String {
        let letters =
            ['a', 'Z', '_', ' ', '"', '\\', '/', '\n', '\u{1}', '\u{7f}', 'ä', '€', '😀', '\u{2028}'];
        (0..self.below(6)).map(|_| letters[self.below(letters.len() as u64) as usize]).collect()
    }
}

fn random_message(random: &mut Random, of: &MessageDescriptor, depth: u32) -> DynamicMessage {
    let mut message = DynamicMessage::new(of.clone());
    let count = of.fields().len() as u64;
    let wanted = if depth == 0 || count == 0 { 0 } else { random.below(8) };
    for _ in 0..wanted {
        let Some(field) = of.fields().nth(random.below(count) as usize) else { continue };
        if let Some(value) = random_field(random, &field, depth) {
            message.set_field(&field, value);
        }
    }
    message
}

fn random_field(random: &mut Random, field: &FieldDescriptor, depth: u32) -> Option<Value> {
    if field.is_list() {
        let values = (0..random.below(4)).map(|_| random_value(random, &field.kind(), depth));
        return values.collect::<Option<_>>().map(Value::List);
    }
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else { return None };
        let key_kind = entry.map_entry_key_field().kind();
        let value_kind = entry.map_entry_value_field().kind();
        let mut entries = std::collections::HashMap::new();
        for _ in 0..random.below(4) {
            let key = match random_value(random, &key_kind, 0)? {
                Value::Bool(key) => MapKey::Bool(key),
                Value::I32(key) => MapKey::I32(key),
                Value::I64(key) => MapKey::I64(key),
                Value::U32(key) => MapKey::U32(key),
                Value::U64(key) => MapKey::U64(key),
                Value::String(key) => MapKey::String(key),
                _ => return None,
            };
            entries.insert(key, random_value(random, &value_kind, depth)?);
        }
        return Some(Value::Map(entries));
    }
    random_value(random, &field.kind(), depth)
}

fn random_value(random: &mut Random, kind: &Kind, depth: u32) -> Option<Value> {
    let number = random.number();
    Some(match kind {
        Kind::Double => Value::F64(match random.below(4) {
            0 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][random.below(3) as usize],
            1 => number as f64,
            _ => f64::from_bits(random.next()),
        }),
        Kind::Float => Value::F32(match random.below(3) {
            0 => number as f32,
            _ => f32::from_bits(random.next() as u32),
        }),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number as i32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number as i64),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(number as u32),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(number),
        Kind::Bool => Value::Bool(number.is_multiple_of(2)),
        Kind::String => Value::String(random.text()),
        Kind::Bytes => Value::Bytes((0..random.below(5)).map(|_| random.next() as u8).collect()),
        Kind::Enum(of) => {
            let values = of.values().len() as u64;
            Value::EnumNumber(of.values().nth(random.below(values) as usize)?.number())
        }
        Kind::Message(of) => Value::Message(match of.full_name() {
            "google.protobuf.Timestamp" => {
                let seconds = random.below(315_537_897_600) as i64 - 62_135_596_800;
                instant(of, seconds, random_nanos(random))
            }
            "google.protobuf.Duration" => {
                let sign = if random.below(2) == 0 { 1 } else { -1 };
                instant(of, sign * random.below(315_576_000_000) as i64, sign as i32 * random_nanos(random))
            }
            "google.protobuf.FieldMask" => {
                let paths = (0..random.below(3)).map(|at| Value::String(format!("a{at}.b_c")));
                with(of, "paths", Value::List(paths.collect()))
            }
            "google.protobuf.Any" => {
                let inner = ["google.protobuf.Duration", "google.protobuf.BoolValue", EVERYTHING, OLDER];
                let inner = descriptor(inner[random.below(4) as usize]);
                let value = random_value(random, &Kind::Message(inner.clone()), depth.saturating_sub(1))?;
                let mut any = with(of, "type_url", Value::String(format!("t/{}", inner.full_name())));
                any.set_field_by_name("value", Value::Bytes(value.as_message()?.encode_to_vec().into()));
                any
            }
            // It has no text for a NaN in a wrapper, nor for an infinity.
            "google.protobuf.DoubleValue" => with(of, "value", Value::F64(number as f64 / 8.0)),
            "google.protobuf.FloatValue" => with(of, "value", Value::F32(number as f32 / 8.0)),
            "google.protobuf.Value" => match random.below(if depth == 0 { 4 } else { 6 }) {
                0 => with(of, "null_value", Value::EnumNumber(0)),
                1 => with(of, "number_value", Value::F64(number as f64 / 8.0)),
                2 => with(of, "string_value", Value::String(random.text())),
                3 => with(of, "bool_value", Value::Bool(number.is_multiple_of(2))),
                4 => with(
                    of,
                    "list_value",
                    random_value(random, &of.get_field_by_name("list_value")?.kind(), depth - 1)?,
                ),
                _ => with(
                    of,
                    "struct_value",
                    random_value(random, &of.get_field_by_name("struct_value")?.kind(), depth - 1)?,
                ),
            },
            _ => random_message(random, of, depth.saturating_sub(1)),
        }),
    })
}

fn random_nanos(random: &mut Random) -> i32 {
    match random.below(4) {
        0 => 0,
        1 => random.below(1_000) as i32 * 1_000_000,
        2 => random.below(1_000_000) as i32 * 1_000,
        _ => random.below(1_000_000_000) as i32,
    }
}

fn instant(of: &MessageDescriptor, seconds: i64, nanos: i32) -> DynamicMessage {
    let mut message = with(of, "seconds", Value::I64(seconds));
    message.set_field_by_name("nanos", Value::I32(nanos));
    message
}

fn with(of: &MessageDescriptor, field: &str, value: Value) -> DynamicMessage {
    let mut message = DynamicMessage::new(of.clone());
    message.set_field_by_name(field, value);
    message
}

/// `1` and `1.0` are the same number; so are floats whose shortest text is a matter of taste. Doubles are compared to
/// their last bit when they are read back.
fn normal(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;

    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, |number| (number as f32).into()),
        Value::Array(values) => values.into_iter().map(normal).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, normal(value))).collect(),
        other => other,
    }
}

#[test]
fn random_messages_are_printed_and_read_as_the_other_implementation_does() {
    let mut random = Random(5);
    let (mut largest, mut compared) = (0, 0);
    for round in 0..1_500 {
        let name = if round % 4 == 0 { OLDER } else { EVERYTHING };
        let bytes = random_message(&mut random, &descriptor(name), 4).encode_to_vec();
        let ours = print(name, &bytes).unwrap_or_else(|error| panic!("{round}: {error}"));
        let back = read(name, &ours).unwrap_or_else(|error| panic!("{round}: {ours}: {error}"));
        assert_eq!(print(name, &back).as_deref(), Ok(&*ours), "{round}");
        largest = largest.max(ours.len());
        let Ok(printed) = printed_by_them(name, &bytes) else { continue };
        assert_eq!(normal(serde_json::from_str(&ours).unwrap()), normal(printed.clone()), "{round}");
        let Ok(read_by_them) = theirs(name, &ours) else { continue };
        compared += 1;
        // Compared as text: the keys of maps have no order in bytes, and a NaN is no other NaN.
        assert_eq!(print(name, &read_by_them).as_deref(), Ok(&*ours), "{round}");
        let read_of_theirs = read(name, &printed.to_string());
        assert!(read_of_theirs.is_ok(), "{round}: {printed}: {read_of_theirs:?}");
    }
    assert!(largest > 500 && compared > 1_400, "{largest} bytes at most, {compared} compared");
}
