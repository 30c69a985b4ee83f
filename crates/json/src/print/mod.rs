//! From a protobuf message to JSON, by schema.
//!
//! The message is read as any parser reads it: of a field that stands there twice the last one counts, messages are
//! merged, of a oneof the last member is set, fields that the schema does not know are left out. Fields come in the
//! order of their numbers and keys of maps in theirs, so the same message is always the same text. [`well_known`] has
//! the types with a JSON form of their own.

mod text;
mod well_known;

use std::borrow::Cow;
use std::collections::BTreeMap;

use peregrine_core::EncodeError;

use self::text::Text;
use crate::Options;
use crate::schema::{Field, Kind, Message, MessageId, Schema, Shape};
use crate::types::Types;
use crate::wire::{Fields, Malformed, RawValue, take_array, take_varint, unzigzag};

/// Why a message has no JSON.
#[derive(Debug)]
struct Fault(Cow<'static, str>);

impl Fault {
    fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(message.into())
    }
}

impl From<Malformed> for Fault {
    fn from(_: Malformed) -> Self {
        Self::new("its bytes are no message of its type")
    }
}

/// The JSON of an encoded message.
///
/// # Errors
/// It has none: an `Any` of unknown type, a timestamp beyond the calendar, text that is no UTF-8.
pub(crate) fn print(
    bytes: &[u8],
    schema: &Schema,
    message: MessageId,
    types: &Types,
    options: Options,
) -> Result<Vec<u8>, EncodeError> {
    let mut printer =
        Printer { text: Text::with_capacity(2 * bytes.len() + 16), types, options, levels: LEVELS };
    match printer.message(schema, message, bytes) {
        Ok(()) => Ok(printer.text.into_bytes()),
        Err(Fault(text)) => {
            let name = &schema.message(message).full_name;
            Err(EncodeError::codec(format!("{name} cannot be written as JSON: {text}")))
        }
    }
}

/// Messages inside of one another, as every protobuf runtime bounds them on receipt.
const LEVELS: u32 = 100;

struct Printer<'a> {
    text: Text,
    types: &'a Types,
    options: Options,
    /// Messages that may still be opened inside of one another.
    levels: u32,
}

/// A value of a field of the schema, in the order of the wire.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    /// The field's place in its message.
    place: usize,
    value: RawValue<'a>,
}

/// The fields of one message, sorted.
struct Content<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> Content<'a> {
    fn of(message: &Message, schema: &Schema, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        for raw in Fields::of(bytes) {
            let raw = raw?;
            let Some((place, field)) = message.by_number(raw.number) else { continue };
            if !is_of_type(schema, field, raw.value) {
                continue;
            }
            if let Some(oneof) = field.oneof {
                // The last member that is set unsets the others.
                let is_other = |entry: &Entry<'_>| {
                    entry.place != place && message.fields[entry.place].oneof == Some(oneof)
                };
                if entries.iter().any(is_other) {
                    entries.retain(|entry| !is_other(entry));
                }
            }
            entries.push(Entry { place, value: raw.value });
        }
        // Stable: values of one field keep their order.
        if !entries.is_sorted_by_key(|entry| entry.place) {
            entries.sort_by_key(|entry| entry.place);
        }
        Ok(Self { entries })
    }

    /// The values of the field at a place.
    fn values(&self, place: usize) -> &[Entry<'a>] {
        let start = self.entries.partition_point(|entry| entry.place < place);
        let len = self.entries[start..].iter().take_while(|entry| entry.place == place).count();
        &self.entries[start..start + len]
    }
}

/// Whether a value can be one of the field; any other one is an unknown field to every parser.
fn is_of_type(schema: &Schema, field: &Field, value: RawValue<'_>) -> bool {
    match (field.kind, value) {
        (Kind::Group(_), RawValue::Group(_))
        | (Kind::String | Kind::Bytes | Kind::Message(_), RawValue::Delimited(_))
        | (Kind::Double | Kind::Fixed64 | Kind::Sfixed64, RawValue::Fixed64(_))
        | (Kind::Float | Kind::Fixed32 | Kind::Sfixed32, RawValue::Fixed32(_)) => true,
        // Either form is taken, whatever the schema says of packing.
        (kind, RawValue::Delimited(_)) => matches!(field.shape, Shape::Repeated { .. }) && kind.is_packable(),
        (Kind::Enum(id), RawValue::Varint(number)) => {
            let enumeration = schema.enumeration(id);
            !enumeration.is_closed || enumeration.name(number as i32).is_some()
        }
        (kind, RawValue::Varint(_)) => matches!(
            kind,
            Kind::Int32
                | Kind::Int64
                | Kind::Uint32
                | Kind::Uint64
                | Kind::Sint32
                | Kind::Sint64
                | Kind::Bool
        ),
        _ => false,
    }
}

/// The bytes of a message that may stand there in several pieces: parsers merge them as if they stood in one.
fn merged<'a>(values: &[Entry<'a>]) -> Cow<'a, [u8]> {
    let piece = |entry: &Entry<'a>| match entry.value {
        RawValue::Delimited(bytes) | RawValue::Group(bytes) => bytes,
        _ => &[],
    };
    match values {
        [] => Cow::Borrowed(&[]),
        [one] => Cow::Borrowed(piece(one)),
        many => Cow::Owned(many.iter().flat_map(piece).copied().collect()),
    }
}

impl Printer<'_> {
    fn message(&mut self, schema: &Schema, id: MessageId, bytes: &[u8]) -> Result<(), Fault> {
        let left = self.levels.checked_sub(1).ok_or_else(|| Fault::new("messages are nested too deeply"))?;
        self.levels = left;
        let message = schema.message(id);
        match message.special {
            None => {
                self.text.raw("{");
                self.members(schema, message, bytes, &mut true)?;
                self.text.raw("}");
            }
            Some(special) => self.well_known(schema, message, special, bytes)?,
        }
        self.levels += 1;
        Ok(())
    }

    /// The fields of a message, without the braces around them. `is_first`: no comma is due.
    fn members(
        &mut self,
        schema: &Schema,
        message: &Message,
        bytes: &[u8],
        is_first: &mut bool,
    ) -> Result<(), Fault> {
        let content = Content::of(message, schema, bytes)?;
        if self.options.emit_defaults {
            for (place, field) in message.fields.iter().enumerate() {
                self.field(schema, field, content.values(place), is_first)?;
            }
            return Ok(());
        }
        let mut rest = &content.entries[..];
        while let Some(first) = rest.first() {
            let values = rest.iter().take_while(|entry| entry.place == first.place).count();
            self.field(schema, &message.fields[first.place], &rest[..values], is_first)?;
            rest = &rest[values..];
        }
        Ok(())
    }

    /// A field with its name, if it has anything to show.
    fn field(
        &mut self,
        schema: &Schema,
        field: &Field,
        values: &[Entry<'_>],
        is_first: &mut bool,
    ) -> Result<(), Fault> {
        let is_shown = match (field.shape, values) {
            // What has presence shows that there is none by its absence.
            (Shape::Singular { implicit: false }, values) => !values.is_empty(),
            (Shape::Singular { implicit: true }, values) => {
                self.options.emit_defaults
                    || values.last().is_some_and(|entry| !is_zero(field.kind, entry.value))
            }
            (Shape::Repeated { .. } | Shape::Map, values) => self.options.emit_defaults || !values.is_empty(),
        };
        if !is_shown {
            return Ok(());
        }
        let start = self.text.mark();
        let was_first = *is_first;
        self.text.comma_unless(is_first);
        self.text.name(if self.options.proto_field_names { &field.name } else { &field.json_name });
        let has_any = match field.shape {
            Shape::Singular { .. } => {
                match (field.kind, values.last()) {
                    (Kind::Message(id) | Kind::Group(id), _) => self.message(schema, id, &merged(values))?,
                    (kind, Some(last)) => self.scalar(schema, kind, last.value)?,
                    (kind, None) => self.default(schema, kind)?,
                }
                true
            }
            Shape::Repeated { .. } => self.repeated(schema, field.kind, values)?,
            Shape::Map => self.map(schema, field, values)?,
        };
        if !has_any && !self.options.emit_defaults {
            // Packed and empty, or of values that a closed enum does not name: the same as nothing.
            self.text.back_to(start);
            *is_first = was_first;
        }
        Ok(())
    }

    /// An array; false if it is empty.
    fn repeated(&mut self, schema: &Schema, kind: Kind, values: &[Entry<'_>]) -> Result<bool, Fault> {
        self.text.raw("[");
        let mut is_first = true;
        for entry in values {
            match (kind, entry.value) {
                (
                    Kind::Message(id) | Kind::Group(id),
                    RawValue::Delimited(bytes) | RawValue::Group(bytes),
                ) => {
                    self.text.comma_unless(&mut is_first);
                    self.message(schema, id, bytes)?;
                }
                (kind, RawValue::Delimited(packed)) if kind.is_packable() => {
                    let mut rest = packed;
                    while !rest.is_empty() {
                        let value = take_packed(kind, &mut rest)?;
                        if is_known(schema, kind, value) {
                            self.text.comma_unless(&mut is_first);
                            self.scalar(schema, kind, value)?;
                        }
                    }
                }
                (kind, value) => {
                    self.text.comma_unless(&mut is_first);
                    self.scalar(schema, kind, value)?;
                }
            }
        }
        self.text.raw("]");
        Ok(!is_first)
    }

    /// An object of a map's entries; false if it is empty.
    fn map(&mut self, schema: &Schema, field: &Field, values: &[Entry<'_>]) -> Result<bool, Fault> {
        let entry = field.kind.message().map(|id| schema.message(id));
        let fields = entry.and_then(|entry| Some((entry, entry.by_number(1)?, entry.by_number(2)?)));
        let Some((entry, (key_place, key), (value_place, value))) = fields else {
            return Err(Fault::new("the entries of a map have no key or no value"));
        };
        let mut contents = Vec::with_capacity(values.len());
        for raw in values {
            if let RawValue::Delimited(bytes) = raw.value {
                let content = Content::of(entry, schema, bytes)?;
                // An entry whose value is no name of a closed enum is an unknown field as a whole.
                if !content.values(value_place).is_empty() || !has_field(bytes, 2)? {
                    contents.push(content);
                }
            }
        }
        // Of equal keys the last one counts.
        let mut sorted: BTreeMap<Key<'_>, &Content<'_>> = BTreeMap::new();
        for content in &contents {
            sorted.insert(
                Key::of(key.kind, content.values(key_place).last().map(|entry| entry.value))?,
                content,
            );
        }
        self.text.raw("{");
        let mut is_first = true;
        for (key, content) in sorted {
            self.text.comma_unless(&mut is_first);
            match key {
                Key::Bool(value) => self.text.name(if value { "true" } else { "false" }),
                Key::Signed(value) => self.text.quoted(value),
                Key::Unsigned(value) => self.text.quoted(value),
                Key::String(value) => self.text.name(value),
            }
            if matches!(key, Key::Signed(_) | Key::Unsigned(_)) {
                self.text.raw(":");
            }
            let values = content.values(value_place);
            match (value.kind, values.last()) {
                (Kind::Message(id) | Kind::Group(id), _) => self.message(schema, id, &merged(values))?,
                (kind, Some(last)) => self.scalar(schema, kind, last.value)?,
                (kind, None) => self.default(schema, kind)?,
            }
        }
        self.text.raw("}");
        Ok(!is_first)
    }

    /// The value of a field that is not there.
    fn default(&mut self, schema: &Schema, kind: Kind) -> Result<(), Fault> {
        let zero = match kind {
            Kind::String | Kind::Bytes | Kind::Message(_) => RawValue::Delimited(&[]),
            Kind::Group(_) => RawValue::Group(&[]),
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => RawValue::Fixed64(0),
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => RawValue::Fixed32(0),
            Kind::Enum(id) => RawValue::Varint(i64::from(schema.enumeration(id).default) as u64),
            _ => RawValue::Varint(0),
        };
        self.scalar(schema, kind, zero)
    }

    /// A value that is no message.
    fn scalar(&mut self, schema: &Schema, kind: Kind, value: RawValue<'_>) -> Result<(), Fault> {
        let text = &mut self.text;
        match (kind, value) {
            (Kind::Double, RawValue::Fixed64(bits)) => text.double(f64::from_bits(bits)),
            (Kind::Float, RawValue::Fixed32(bits)) => text.float(f32::from_bits(bits)),
            (Kind::Fixed64, RawValue::Fixed64(value)) | (Kind::Uint64, RawValue::Varint(value)) => {
                text.quoted(value);
            }
            (Kind::Sfixed64, RawValue::Fixed64(value)) | (Kind::Int64, RawValue::Varint(value)) => {
                text.quoted(value as i64);
            }
            (Kind::Fixed32, RawValue::Fixed32(value)) => text.number(value),
            (Kind::Sfixed32, RawValue::Fixed32(value)) => text.number(value as i32),
            (Kind::Int32, RawValue::Varint(value)) => text.number(value as i32),
            (Kind::Uint32, RawValue::Varint(value)) => text.number(value as u32),
            (Kind::Sint32, RawValue::Varint(value)) => text.number(sint32(value)),
            (Kind::Sint64, RawValue::Varint(value)) => text.quoted(unzigzag(value)),
            (Kind::Bool, RawValue::Varint(value)) => text.raw(if value == 0 { "false" } else { "true" }),
            (Kind::String, RawValue::Delimited(bytes)) => text.string(utf8(bytes)?),
            (Kind::Bytes, RawValue::Delimited(bytes)) => text.bytes(bytes),
            (Kind::Enum(id), RawValue::Varint(number)) => {
                let enumeration = schema.enumeration(id);
                match enumeration.name(number as i32) {
                    Some(_) if enumeration.is_null => text.raw("null"),
                    Some(name) if !self.options.enum_numbers => text.string(name),
                    _ => text.number(number as i32),
                }
            }
            _ => return Err(Malformed.into()),
        }
        Ok(())
    }
}

/// The key of a map's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    String(&'a str),
}

impl<'a> Key<'a> {
    /// Of an entry without a key, the zero of its type.
    fn of(kind: Kind, value: Option<RawValue<'a>>) -> Result<Self, Fault> {
        let number = match value {
            Some(RawValue::Varint(value) | RawValue::Fixed64(value)) => value,
            Some(RawValue::Fixed32(value)) => u64::from(value),
            _ => 0,
        };
        Ok(match kind {
            Kind::Bool => Self::Bool(number != 0),
            Kind::Int32 | Kind::Sfixed32 => Self::Signed(i64::from(number as i32)),
            Kind::Int64 | Kind::Sfixed64 => Self::Signed(number as i64),
            Kind::Sint32 => Self::Signed(i64::from(unzigzag(number) as i32)),
            Kind::Sint64 => Self::Signed(unzigzag(number)),
            Kind::Uint32 | Kind::Fixed32 => Self::Unsigned(u64::from(number as u32)),
            Kind::Uint64 | Kind::Fixed64 => Self::Unsigned(number),
            _ => match value {
                Some(RawValue::Delimited(bytes)) => Self::String(utf8(bytes)?),
                _ => Self::String(""),
            },
        })
    }
}

fn has_field(message: &[u8], number: u32) -> Result<bool, Malformed> {
    for field in Fields::of(message) {
        if field?.number == number {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The next of several values that stand behind one another.
fn take_packed(kind: Kind, rest: &mut &[u8]) -> Result<RawValue<'static>, Malformed> {
    Ok(match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => {
            RawValue::Fixed64(u64::from_le_bytes(take_array(rest)?))
        }
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => {
            RawValue::Fixed32(u32::from_le_bytes(take_array(rest)?))
        }
        _ => RawValue::Varint(take_varint(rest)?),
    })
}

/// Whether a packed value is one of its type: a closed enum has no others than those it names.
fn is_known(schema: &Schema, kind: Kind, value: RawValue<'_>) -> bool {
    match (kind, value) {
        (Kind::Enum(id), RawValue::Varint(number)) => {
            let enumeration = schema.enumeration(id);
            !enumeration.is_closed || enumeration.name(number as i32).is_some()
        }
        _ => true,
    }
}

/// Whether a value is its type's zero, which a field without presence does not show.
fn is_zero(kind: Kind, value: RawValue<'_>) -> bool {
    match value {
        // Of a longer number 32 bits count, as everywhere in protobuf.
        RawValue::Varint(value) if matches!(kind, Kind::Int32 | Kind::Uint32 | Kind::Enum(_)) => {
            value as u32 == 0
        }
        RawValue::Varint(value) if matches!(kind, Kind::Sint32) => sint32(value) == 0,
        RawValue::Varint(value) | RawValue::Fixed64(value) => value == 0,
        RawValue::Fixed32(value) => value == 0,
        RawValue::Delimited(bytes) | RawValue::Group(bytes) => bytes.is_empty(),
    }
}

/// What a varint says of a sint32: its upper half counts for nothing.
fn sint32(value: u64) -> i32 {
    unzigzag(u64::from(value as u32)) as i32
}

fn utf8(bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|_| Fault::new("it has a string that is no UTF-8 text"))
}
