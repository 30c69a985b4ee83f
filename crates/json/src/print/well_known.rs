//! Types whose JSON is not an object of their fields, from message to text.

use std::collections::BTreeMap;

use super::{Content, Fault, Printer, utf8};
use crate::field_mask;
use crate::schema::{Message, Schema, Special};
use crate::time;
use crate::wire::{Fields, RawValue};

impl Printer<'_> {
    pub(super) fn well_known(
        &mut self,
        schema: &Schema,
        message: &Message,
        special: Special,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        match special {
            Special::Any => self.any(bytes),
            Special::Timestamp => self.instant(bytes, time::print_timestamp, "timestamp"),
            Special::Duration => self.instant(bytes, time::print_duration, "duration"),
            Special::FieldMask => self.field_mask(bytes),
            Special::Struct => self.structure(bytes),
            Special::Value => self.value(bytes),
            Special::ListValue => self.list(bytes),
            Special::Wrapper => {
                let Some((place, field)) = message.by_number(1) else {
                    return Err(Fault::new("the type of a wrapper has no value"));
                };
                let content = Content::of(message, schema, bytes)?;
                match content.values(place).last() {
                    Some(last) => self.scalar(schema, field.kind, last.value),
                    None => self.default(schema, field.kind),
                }
            }
        }
    }

    fn instant(
        &mut self,
        bytes: &[u8],
        print: fn(i64, i32) -> Option<String>,
        name: &str,
    ) -> Result<(), Fault> {
        let (mut seconds, mut nanos) = (0, 0);
        for field in Fields::of(bytes) {
            let field = field?;
            match (field.number, field.value) {
                (1, RawValue::Varint(value)) => seconds = value as i64,
                (2, RawValue::Varint(value)) => nanos = value as i32,
                _ => {}
            }
        }
        let text = print(seconds, nanos).ok_or_else(|| {
            Fault::new(format!("a {name} of {seconds} s and {nanos} ns is out of its type's range"))
        })?;
        self.text.string(&text);
        Ok(())
    }

    fn field_mask(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut paths = Vec::new();
        for field in Fields::of(bytes) {
            let field = field?;
            if let (1, RawValue::Delimited(path)) = (field.number, field.value) {
                let path = utf8(path)?;
                paths.push(field_mask::camel_case(path).ok_or_else(|| {
                    Fault::new(format!("the field mask's path {path:?} has no lowerCamelCase form"))
                })?);
            }
        }
        self.text.string(&paths.join(","));
        Ok(())
    }

    fn structure(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut members: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
        for field in Fields::of(bytes) {
            let field = field?;
            let (1, RawValue::Delimited(entry)) = (field.number, field.value) else { continue };
            let (mut name, mut value) = ("", Vec::new());
            for part in Fields::of(entry) {
                let part = part?;
                match (part.number, part.value) {
                    (1, RawValue::Delimited(bytes)) => name = utf8(bytes)?,
                    (2, RawValue::Delimited(bytes)) => value.extend_from_slice(bytes),
                    _ => {}
                }
            }
            members.insert(name, value);
        }
        self.text.raw("{");
        let mut is_first = true;
        for (name, value) in members {
            self.text.comma_unless(&mut is_first);
            self.text.name(name);
            self.nested_value(&value)?;
        }
        self.text.raw("}");
        Ok(())
    }

    fn list(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.text.raw("[");
        let mut is_first = true;
        for field in Fields::of(bytes) {
            let field = field?;
            if let (1, RawValue::Delimited(value)) = (field.number, field.value) {
                self.text.comma_unless(&mut is_first);
                self.nested_value(value)?;
            }
        }
        self.text.raw("]");
        Ok(())
    }

    fn nested_value(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let left = self.levels.checked_sub(1).ok_or_else(|| Fault::new("values are nested too deeply"))?;
        self.levels = left;
        self.value(bytes)?;
        self.levels += 1;
        Ok(())
    }

    /// Of several kinds that are set, the last one counts, as in every oneof.
    fn value(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut last = None;
        let mut pieces = Vec::new();
        for field in Fields::of(bytes) {
            let field = field?;
            let is_kind = matches!(
                (field.number, field.value),
                (1 | 4, RawValue::Varint(_))
                    | (2, RawValue::Fixed64(_))
                    | (3 | 5 | 6, RawValue::Delimited(_))
            );
            if !is_kind {
                continue;
            }
            if last.is_some_and(|(number, _)| number != field.number) {
                pieces.clear();
            }
            if let RawValue::Delimited(bytes) = field.value {
                pieces.push(bytes);
            }
            last = Some((field.number, field.value));
        }
        match last {
            Some((1, _)) => self.text.raw("null"),
            Some((2, RawValue::Fixed64(bits))) => {
                let number = f64::from_bits(bits);
                if !number.is_finite() {
                    return Err(Fault::new(format!("a google.protobuf.Value cannot be {number}")));
                }
                self.text.double(number);
            }
            Some((3, RawValue::Delimited(text))) => self.text.string(utf8(text)?),
            Some((4, RawValue::Varint(value))) => self.text.raw(if value == 0 { "false" } else { "true" }),
            Some((5, _)) => self.structure(&pieces.concat())?,
            Some((6, _)) => self.list(&pieces.concat())?,
            _ => return Err(Fault::new("a google.protobuf.Value has no value of any kind")),
        }
        Ok(())
    }

    fn any(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let (mut url, mut value): (&str, &[u8]) = ("", &[]);
        for field in Fields::of(bytes) {
            let field = field?;
            match (field.number, field.value) {
                (1, RawValue::Delimited(bytes)) => url = utf8(bytes)?,
                (2, RawValue::Delimited(bytes)) => value = bytes,
                _ => {}
            }
        }
        if url.is_empty() && value.is_empty() {
            self.text.raw("{}");
            return Ok(());
        }
        let (schema, id) = self.types.find(url).ok_or_else(|| {
            Fault::new(format!(
                "it holds an Any of {url:?}, of which nothing is known: give Json its descriptors"
            ))
        })?;
        self.text.raw("{\"@type\":");
        self.text.string(url);
        let message = schema.message(id);
        if message.special.is_some() {
            self.text.raw(",\"value\":");
            self.message(&schema, id, value)?;
        } else {
            let left =
                self.levels.checked_sub(1).ok_or_else(|| Fault::new("messages are nested too deeply"))?;
            self.levels = left;
            self.members(&schema, message, value, &mut false)?;
            self.levels += 1;
        }
        self.text.raw("}");
        Ok(())
    }
}
