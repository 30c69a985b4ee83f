//! Types whose JSON is not an object of their fields, from text to message.

use super::lexer::{Lexer, Next};
use super::{Fault, Reader, Wrote, excerpt};
use crate::field_mask;
use crate::schema::{Message, Schema, Special};
use crate::time;
use crate::wire::{DELIMITED, FIXED64, VARINT, put_bytes, put_delimited, put_tag, put_varint};

/// Whether `null` is a value of the type, and not the absence of one.
pub(super) fn takes_null(message: &Message) -> bool {
    message.special == Some(Special::Value)
}

impl Reader<'_> {
    pub(super) fn well_known(
        &mut self,
        schema: &Schema,
        message: &Message,
        special: Special,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        match special {
            Special::Any => self.any(out),
            Special::Timestamp => {
                self.instant("a timestamp such as \"2030-01-02T03:04:05.6Z\"", time::parse_timestamp, out)
            }
            Special::Duration => self.instant("a duration such as \"1.5s\"", time::parse_duration, out),
            Special::FieldMask => self.field_mask(out),
            Special::Struct => self.structure(out),
            Special::Value => self.value(out),
            Special::ListValue => self.list(out),
            Special::Wrapper => match message.by_number(1) {
                Some((_, field)) => {
                    let start = out.len();
                    if self.tagged(schema, field.number, field.kind, out)? != Wrote::Value {
                        out.truncate(start);
                    }
                    Ok(())
                }
                None => Err(self.lexer.fault("the type of a wrapper has no value")),
            },
        }
    }

    fn instant(
        &mut self,
        expected: &'static str,
        parse: fn(&str) -> Option<(i64, i32)>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let at = self.lexer.position();
        let text = self.string(expected)?;
        let (seconds, nanos) =
            parse(&text).ok_or_else(|| Fault::at(at, format!("{:?} is not {expected}", excerpt(&text))))?;
        if seconds != 0 {
            put_tag(out, 1, VARINT);
            put_varint(out, seconds as u64);
        }
        if nanos != 0 {
            put_tag(out, 2, VARINT);
            put_varint(out, i64::from(nanos) as u64);
        }
        Ok(())
    }

    fn field_mask(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let at = self.lexer.position();
        let text = self.string("the paths of a field mask in quotes")?;
        for path in text.split(',').filter(|_| !text.is_empty()) {
            let path = field_mask::snake_case(path)
                .ok_or_else(|| Fault::at(at, format!("{:?} is no path of a field mask", excerpt(path))))?;
            put_bytes(out, 1, path.as_bytes());
        }
        Ok(())
    }

    fn structure(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.entries(|reader, at, name, keys| {
            if !keys.insert(name.as_bytes().into()) {
                return Err(Fault::at(at, "the key stands here for the second time"));
            }
            put_tag(out, 1, DELIMITED);
            put_delimited(out, |out| {
                put_bytes(out, 1, name.as_bytes());
                put_tag(out, 2, DELIMITED);
                put_delimited(out, |out| reader.deeper(|reader| reader.value(out)))
            })
        })
    }

    fn list(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.elements(|reader| {
            put_tag(out, 1, DELIMITED);
            put_delimited(out, |out| reader.deeper(|reader| reader.value(out)))
        })
    }

    fn value(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        match self.lexer.peek()? {
            Next::Null => {
                self.lexer.word(Next::Null)?;
                put_tag(out, 1, VARINT);
                out.push(0);
            }
            Next::Number => {
                let value =
                    self.float("a number", super::double, [f64::NAN, f64::INFINITY, f64::NEG_INFINITY])?;
                put_tag(out, 2, FIXED64);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Next::String => put_bytes(out, 3, self.lexer.string()?.as_bytes()),
            Next::True | Next::False => {
                put_tag(out, 4, VARINT);
                out.push(u8::from(self.boolean()?));
            }
            Next::Object => {
                put_tag(out, 5, DELIMITED);
                put_delimited(out, |out| self.structure(out))?;
            }
            Next::Array => {
                put_tag(out, 6, DELIMITED);
                put_delimited(out, |out| self.list(out))?;
            }
        }
        Ok(())
    }

    /// A message of any type, which its member `@type` names. Types with a JSON form of their own have it in `value`.
    fn any(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let at = self.lexer.position();
        let Some(url) = self.find_type()? else { return self.empty_any() };
        let missing = || Fault::at(at, format!("nothing is known of the type {:?}", excerpt(&url)));
        let (schema, id) = self.types.find(&url).ok_or_else(missing)?;
        put_bytes(out, 1, url.as_bytes());
        put_tag(out, 2, DELIMITED);
        let start = out.len();
        put_delimited(out, |out| {
            let message = schema.message(id);
            self.deeper(|reader| match message.special {
                None => reader.object(&schema, message, true, out),
                Some(special) => reader.value_in_any(&schema, message, special, out),
            })
        })?;
        if out.len() == start + 1 {
            // An empty message is the value's default.
            out.truncate(start - 1);
        }
        Ok(())
    }

    fn value_in_any(
        &mut self,
        schema: &Schema,
        message: &Message,
        special: Special,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.expect(Next::Object, "an object")?;
        let (mut is_first, mut has_value) = (true, false);
        while self.lexer.more(b'}', is_first)? {
            is_first = false;
            let at = self.lexer.position();
            let name = self.lexer.name()?;
            match &*name {
                "@type" => self.lexer.skip_value()?,
                "value" if !has_value => {
                    has_value = true;
                    self.well_known(schema, message, special, out).map_err(|fault| fault.within("value"))?;
                }
                _ if self.ignore_unknown => self.lexer.skip_value()?,
                other => {
                    let text = format!("expected one \"value\" beside \"@type\", found {:?}", excerpt(other));
                    return Err(Fault::at(at, text));
                }
            }
        }
        if has_value { Ok(()) } else { Err(self.lexer.fault("\"value\" is missing beside \"@type\"")) }
    }

    /// `{}` stands for an `Any` without a type.
    fn empty_any(&mut self) -> Result<(), Fault> {
        self.expect(Next::Object, "an object")?;
        let at = self.lexer.position();
        if self.lexer.more(b'}', true)? {
            return Err(Fault::at(at, "an Any needs the type of its message in \"@type\""));
        }
        Ok(())
    }

    /// The `@type` of the object that comes next, which is not taken. Usually it is the first member; others are skipped
    /// to find it, within bounds.
    fn find_type(&mut self) -> Result<Option<String>, Fault> {
        let mut ahead: Lexer<'_> = self.lexer.clone();
        match ahead.peek()? {
            Next::Object => ahead.open(),
            other => return Err(self.unexpected("an object with the member \"@type\"", other)),
        }
        let start = ahead.position();
        let mut found = None;
        let mut is_first = true;
        while found.is_none() && ahead.more(b'}', is_first)? {
            is_first = false;
            if ahead.name()? == "@type" {
                found = Some(match ahead.peek()? {
                    Next::String => ahead.string()?.into_owned(),
                    other => return Err(ahead.fault(format!("expected a string, found {}", other.name()))),
                });
            } else {
                ahead.skip_value()?;
            }
        }
        let read = ahead.position() - start;
        let Some(left) = self.look_ahead.checked_sub(read) else {
            return Err(self
                .lexer
                .fault("too much stands before the \"@type\" of messages inside of one another"));
        };
        self.look_ahead = left;
        Ok(found)
    }
}
