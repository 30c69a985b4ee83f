//! From JSON to a protobuf message, by schema.
//!
//! The text is read once, front to back, and the message is written as it is read: memory is that of the message.
//! Names are those of the proto or their `lowerCamelCase`; what the schema does not know is an error, unless unknown
//! fields shall be ignored. [`well_known`] has the types with a JSON form of their own.

mod lexer;
mod number;
mod well_known;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use peregrine_core::DecodeError;

use self::lexer::{Lexer, Next};
use self::number::{double, float, integer};
use crate::bits::Places;
use crate::schema::{Enum, Field, Kind, Message, MessageId, Schema, Shape};
use crate::types::Types;
use crate::wire::{
    DELIMITED, END_GROUP, FIXED32, FIXED64, START_GROUP, VARINT, put_delimited, put_tag, put_varint, zigzag,
};

/// What is wrong with a text, and where.
#[derive(Debug)]
struct Fault {
    /// Bytes before it.
    at: usize,
    message: Cow<'static, str>,
    /// Names of the fields around it, the innermost first.
    path: Vec<String>,
}

impl Fault {
    fn at(at: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { at, message: message.into(), path: Vec::new() }
    }

    /// The same fault, inside of a field or an element.
    fn within(mut self, outer: impl fmt::Display) -> Self {
        self.path.push(excerpt(&outer.to_string()));
        self
    }

    fn describe(&self, text: &str) -> String {
        let before = &text.as_bytes()[..self.at.min(text.len())];
        let line = before.split(|&byte| byte == b'\n').count();
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        // Counted in bytes, as the text may be cut anywhere.
        let column = 1 + before.len() - line_start;
        let mut path = String::new();
        for part in self.path.iter().rev() {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        if !path.is_empty() {
            path.push_str(": ");
        }
        format!("{path}{} (line {line}, column {column} of the JSON)", self.message)
    }
}

/// The message that a text stands for, encoded.
///
/// # Errors
/// The text is no JSON, or none of this type; the error names the field and the place.
pub(crate) fn read(
    body: &[u8],
    schema: &Schema,
    message: MessageId,
    types: &Types,
    ignore_unknown: bool,
    recursion: u32,
) -> Result<Vec<u8>, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        DecodeError::new(format!("the JSON is no UTF-8 text from byte {} on", error.valid_up_to()))
    })?;
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut reader = Reader {
        lexer: Lexer::new(text),
        types,
        ignore_unknown,
        levels: recursion,
        look_ahead: LOOK_AHEAD.saturating_mul(text.len()),
    };
    let read = reader.message(schema, message, &mut out).and_then(|()| reader.lexer.end());
    match read {
        Ok(()) => Ok(out),
        Err(fault) => Err(DecodeError::new(fault.describe(text))),
    }
}

/// How often, on average, a text may be read ahead to find the type of an `Any` whose `@type` does not come first.
const LOOK_AHEAD: usize = 8;

struct Reader<'a> {
    lexer: Lexer<'a>,
    types: &'a Types,
    ignore_unknown: bool,
    /// Messages that may still be opened inside of one another, `Value`s among them.
    levels: u32,
    /// Bytes that may still be read ahead.
    look_ahead: usize,
}

/// What was written for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrote {
    Value,
    /// The type's zero, which a field without presence does not carry.
    Zero,
    /// The name of an enum's value that is not known, and is ignored: what was written has to go again.
    Unknown,
}

impl Reader<'_> {
    /// A message, without tag and length.
    fn message(&mut self, schema: &Schema, id: MessageId, out: &mut Vec<u8>) -> Result<(), Fault> {
        let message = schema.message(id);
        self.deeper(|reader| match message.special {
            None => reader.object(schema, message, false, out),
            Some(special) => reader.well_known(schema, message, special, out),
        })
    }

    /// A message whose JSON is an object of its fields. `in_any`: its type stands among them.
    fn object(
        &mut self,
        schema: &Schema,
        message: &Message,
        in_any: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.expect(Next::Object, "an object")?;
        let mut seen = Places::default();
        let mut is_first = true;
        while self.lexer.more(b'}', is_first)? {
            is_first = false;
            let at = self.lexer.position();
            let name = self.lexer.name()?;
            if in_any && name == "@type" {
                // Looked at already.
                self.lexer.skip_value()?;
                continue;
            }
            if in_any && name == "value" && message.fields.is_empty() {
                // Some print an Empty as if it had a form of its own.
                self.object(schema, message, false, out)?;
                continue;
            }
            let Some((place, field)) = message.by_name(&name) else {
                if self.ignore_unknown {
                    self.lexer.skip_value()?;
                    continue;
                }
                let name = excerpt(&name);
                return Err(Fault::at(at, format!("{} has no field {name:?}", message.full_name)));
            };
            if !seen.insert(place) {
                return Err(
                    Fault::at(at, "the field stands here for the second time").within(&field.json_name)
                );
            }
            if self.skip_null(schema, field)? {
                continue;
            }
            if let Some(oneof) = field.oneof
                && !seen.insert(message.fields.len() + oneof)
            {
                let fault = Fault::at(at, "another field of the same oneof is set already");
                return Err(fault.within(&field.json_name));
            }
            self.field(schema, field, out).map_err(|fault| fault.within(&field.json_name))?;
        }
        Ok(())
    }

    /// Takes a `null` that stands for the absence of a field's value.
    fn skip_null(&mut self, schema: &Schema, field: &Field) -> Result<bool, Fault> {
        let is_value = matches!(field.shape, Shape::Singular { .. })
            && match field.kind {
                Kind::Enum(id) => schema.enumeration(id).is_null,
                Kind::Message(id) | Kind::Group(id) => well_known::takes_null(schema.message(id)),
                _ => false,
            };
        if is_value || self.lexer.peek()? != Next::Null {
            return Ok(false);
        }
        self.lexer.word(Next::Null)?;
        Ok(true)
    }

    fn field(&mut self, schema: &Schema, field: &Field, out: &mut Vec<u8>) -> Result<(), Fault> {
        match field.shape {
            Shape::Singular { implicit } => {
                let start = out.len();
                match self.tagged(schema, field.number, field.kind, out)? {
                    Wrote::Value => {}
                    Wrote::Zero if !implicit => {}
                    Wrote::Zero | Wrote::Unknown => out.truncate(start),
                }
                Ok(())
            }
            Shape::Repeated { packed } => self.repeated(schema, field, packed, out),
            Shape::Map => self.map(schema, field, out),
        }
    }

    fn repeated(
        &mut self,
        schema: &Schema,
        field: &Field,
        packed: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let start = out.len();
        if !packed {
            return self.elements(|reader| {
                let start = out.len();
                if reader.tagged(schema, field.number, field.kind, out)? == Wrote::Unknown {
                    out.truncate(start);
                }
                Ok(())
            });
        }
        put_tag(out, field.number, DELIMITED);
        let before = out.len() + 1;
        put_delimited(out, |out| {
            self.elements(|reader| {
                let start = out.len();
                if reader.scalar(schema, field.kind, out)? == Wrote::Unknown {
                    out.truncate(start);
                }
                Ok(())
            })
        })?;
        if out.len() == before {
            out.truncate(start);
        }
        Ok(())
    }

    /// An array, each of its values taken by `element`.
    fn elements(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.expect(Next::Array, "an array")?;
        let mut index = 0_usize;
        while self.lexer.more(b']', index == 0)? {
            element(self).map_err(|fault| fault.within(format_args!("[{index}]")))?;
            index += 1;
        }
        Ok(())
    }

    fn map(&mut self, schema: &Schema, field: &Field, out: &mut Vec<u8>) -> Result<(), Fault> {
        let entry = field.kind.message().map(|id| schema.message(id));
        let kinds = entry.and_then(|entry| Some((entry.by_number(1)?.1.kind, entry.by_number(2)?.1.kind)));
        let Some((key_kind, value_kind)) = kinds else { return Err(self.lexer.fault("no map at all")) };
        self.entries(|reader, at, name, keys| {
            let start = out.len();
            let mut wrote = Wrote::Value;
            put_tag(out, field.number, DELIMITED);
            put_delimited(out, |out| {
                let key = out.len();
                put_key(key_kind, name, out).map_err(|message| Fault::at(at, message))?;
                if !keys.insert(out[key..].into()) {
                    return Err(Fault::at(at, "the key stands here for the second time"));
                }
                wrote = reader.tagged(schema, 2, value_kind, out)?;
                Ok(())
            })?;
            if wrote == Wrote::Unknown {
                out.truncate(start);
            }
            Ok(())
        })
    }

    /// An object of any names, each value taken by `entry`, with the place of its name, the name, and the keys so far.
    fn entries(
        &mut self,
        mut entry: impl FnMut(&mut Self, usize, &str, &mut BTreeSet<Box<[u8]>>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect(Next::Object, "an object")?;
        let mut keys = BTreeSet::new();
        let mut is_first = true;
        while self.lexer.more(b'}', is_first)? {
            is_first = false;
            let at = self.lexer.position();
            let name = self.lexer.name()?;
            entry(self, at, &name, &mut keys)
                .map_err(|fault| fault.within(format_args!("[{:?}]", excerpt(&name))))?;
        }
        Ok(())
    }

    /// A value behind its tag.
    fn tagged(
        &mut self,
        schema: &Schema,
        number: u32,
        kind: Kind,
        out: &mut Vec<u8>,
    ) -> Result<Wrote, Fault> {
        put_tag(out, number, wire_type(kind));
        match kind {
            Kind::Message(id) => put_delimited(out, |out| self.message(schema, id, out))?,
            Kind::Group(id) => {
                self.message(schema, id, out)?;
                put_tag(out, number, END_GROUP);
            }
            scalar => return self.scalar(schema, scalar, out),
        }
        Ok(Wrote::Value)
    }

    /// A value that is no message, without its tag.
    fn scalar(&mut self, schema: &Schema, kind: Kind, out: &mut Vec<u8>) -> Result<Wrote, Fault> {
        let is_zero = match kind {
            Kind::Double => {
                self.float("a number", double, [f64::NAN, f64::INFINITY, f64::NEG_INFINITY]).map(|value| {
                    out.extend_from_slice(&value.to_le_bytes());
                    value.to_bits() == 0
                })
            }
            Kind::Float => {
                self.float("a number", float, [f32::NAN, f32::INFINITY, f32::NEG_INFINITY]).map(|value| {
                    out.extend_from_slice(&value.to_le_bytes());
                    value.to_bits() == 0
                })
            }
            Kind::Bool => self.boolean().map(|value| {
                out.push(u8::from(value));
                !value
            }),
            Kind::String => self.string("a string").map(|text| {
                put_varint(out, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
                text.is_empty()
            }),
            Kind::Bytes => self.bytes().map(|bytes| {
                put_varint(out, bytes.len() as u64);
                out.extend_from_slice(&bytes);
                bytes.is_empty()
            }),
            Kind::Enum(id) => {
                let Some(number) = self.enumeration(schema.enumeration(id))? else {
                    return Ok(Wrote::Unknown);
                };
                put_varint(out, i64::from(number) as u64);
                Ok(number == 0)
            }
            Kind::Message(_) | Kind::Group(_) => Err(self.lexer.fault("a message among scalars")),
            integral => self.integral(integral, out),
        };
        Ok(if is_zero? { Wrote::Zero } else { Wrote::Value })
    }

    /// An integer of one of the ten kinds; true if it is zero.
    fn integral(&mut self, kind: Kind, out: &mut Vec<u8>) -> Result<bool, Fault> {
        let at = self.lexer.position();
        let text = match self.lexer.peek()? {
            Next::Number => Cow::Borrowed(self.lexer.number()?),
            Next::String => self.lexer.string()?,
            other => return Err(Fault::at(at, format!("expected an integer, found {}", other.name()))),
        };
        let Some(value) = integer(&text) else {
            return Err(Fault::at(at, format!("expected an integer, found {}", excerpt(&text))));
        };
        put_integer(kind, value, out)
            .ok_or_else(|| Fault::at(at, format!("{} is out of the field's range", excerpt(&text))))?;
        Ok(value == 0)
    }

    fn float<T: Copy>(
        &mut self,
        expected: &'static str,
        parse: fn(&str) -> Option<T>,
        [nan, infinity, negative_infinity]: [T; 3],
    ) -> Result<T, Fault> {
        let at = self.lexer.position();
        let text = match self.lexer.peek()? {
            Next::Number => Cow::Borrowed(self.lexer.number()?),
            Next::String => match self.lexer.string()? {
                text if text == "NaN" => return Ok(nan),
                text if text == "Infinity" => return Ok(infinity),
                text if text == "-Infinity" => return Ok(negative_infinity),
                text => text,
            },
            other => return Err(Fault::at(at, format!("expected {expected}, found {}", other.name()))),
        };
        parse(&text).ok_or_else(|| {
            Fault::at(at, format!("{} is no number, or out of the field's range", excerpt(&text)))
        })
    }

    fn boolean(&mut self) -> Result<bool, Fault> {
        match self.lexer.peek()? {
            word @ (Next::True | Next::False) => {
                self.lexer.word(word)?;
                Ok(word == Next::True)
            }
            other => Err(self.unexpected("true or false", other)),
        }
    }

    fn string(&mut self, expected: &'static str) -> Result<Cow<'_, str>, Fault> {
        match self.lexer.peek()? {
            Next::String => self.lexer.string(),
            other => Err(self.unexpected(expected, other)),
        }
    }

    /// Base64 of either alphabet, padded or not.
    fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        let at = self.lexer.position();
        let text = self.string("base64 in quotes")?;
        let text = if text.contains(['-', '_']) {
            Cow::Owned(text.replace('-', "+").replace('_', "/"))
        } else {
            text
        };
        BASE64.decode(text.as_bytes()).map_err(|error| Fault::at(at, format!("this is no base64: {error}")))
    }

    /// The number of an enum's value; `None` for an unknown name that is ignored.
    fn enumeration(&mut self, of: &Enum) -> Result<Option<i32>, Fault> {
        let at = self.lexer.position();
        match self.lexer.peek()? {
            Next::String => {
                let name = self.lexer.string()?;
                match of.number(&name) {
                    None if !self.ignore_unknown => {
                        let name = excerpt(&name);
                        Err(Fault::at(at, format!("{} has no value {name:?}", of.full_name)))
                    }
                    number => Ok(number),
                }
            }
            Next::Number => {
                let text = self.lexer.number()?;
                let number = integer(text).and_then(|number| i32::try_from(number).ok());
                let fault = || Fault::at(at, format!("{} is no number of an enum", excerpt(text)));
                number.map(Some).ok_or_else(fault)
            }
            Next::Null if of.is_null => {
                self.lexer.word(Next::Null)?;
                Ok(Some(0))
            }
            other => Err(self.unexpected("the name of an enum's value", other)),
        }
    }

    /// Takes the `{` or `[` of a value that has to begin so.
    fn expect(&mut self, wanted: Next, name: &'static str) -> Result<(), Fault> {
        match self.lexer.peek()? {
            found if found == wanted => {
                self.lexer.open();
                Ok(())
            }
            found => Err(self.unexpected(name, found)),
        }
    }

    fn unexpected(&self, expected: &str, found: Next) -> Fault {
        self.lexer.fault(format!("expected {expected}, found {}", found.name()))
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let Some(left) = self.levels.checked_sub(1) else {
            return Err(self.lexer.fault("messages are nested too deeply"));
        };
        self.levels = left;
        let read = read(self)?;
        self.levels += 1;
        Ok(read)
    }
}

fn wire_type(kind: Kind) -> u8 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => FIXED64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => FIXED32,
        Kind::String | Kind::Bytes | Kind::Message(_) => DELIMITED,
        Kind::Group(_) => START_GROUP,
        _ => VARINT,
    }
}

/// The key of a map's entry, from the name it has in JSON.
fn put_key(kind: Kind, name: &str, out: &mut Vec<u8>) -> Result<(), String> {
    put_tag(out, 1, wire_type(kind));
    match (kind, name) {
        (Kind::String, _) => {
            put_varint(out, name.len() as u64);
            out.extend_from_slice(name.as_bytes());
            Ok(())
        }
        (Kind::Bool, "true" | "false") => {
            out.push(u8::from(name == "true"));
            Ok(())
        }
        (Kind::Bool, _) => Err(format!("expected \"true\" or \"false\" as key, found {:?}", excerpt(name))),
        _ => integer(name)
            .and_then(|value| put_integer(kind, value, out))
            .ok_or_else(|| format!("expected an integer in the key's range, found {:?}", excerpt(name))),
    }
}

/// `None` if the value is out of the range of its kind.
fn put_integer(kind: Kind, value: i128, out: &mut Vec<u8>) -> Option<()> {
    match kind {
        Kind::Int32 => put_varint(out, i64::from(i32::try_from(value).ok()?) as u64),
        Kind::Int64 => put_varint(out, i64::try_from(value).ok()? as u64),
        Kind::Uint32 => put_varint(out, u64::from(u32::try_from(value).ok()?)),
        Kind::Uint64 => put_varint(out, u64::try_from(value).ok()?),
        Kind::Sint32 => put_varint(out, zigzag(i64::from(i32::try_from(value).ok()?))),
        Kind::Sint64 => put_varint(out, zigzag(i64::try_from(value).ok()?)),
        Kind::Fixed32 => out.extend_from_slice(&u32::try_from(value).ok()?.to_le_bytes()),
        Kind::Fixed64 => out.extend_from_slice(&u64::try_from(value).ok()?.to_le_bytes()),
        Kind::Sfixed32 => out.extend_from_slice(&i32::try_from(value).ok()?.to_le_bytes()),
        Kind::Sfixed64 => out.extend_from_slice(&i64::try_from(value).ok()?.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// The peer's own words as an error repeats them.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
