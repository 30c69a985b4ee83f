//! A JSON tree into a message, by its descriptor (ProtoJSON).
//!
//! Errors point at the spot and say what would fit: the type, the choices, the nearest name.

use std::{collections::HashMap, fmt::Write, ops::Range};

use base64::Engine;
use prost_reflect::{
    DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind, MapKey, MessageDescriptor, OneofDescriptor,
    ReflectMessage, Value as Field,
};

use super::{
    JsonError,
    number::{self, Misfit},
    parse::{self, Member, Node, Value},
    well_known,
};
use crate::suggest;

/// A message made of JSON.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) message: DynamicMessage,
    /// Paths of fields that were skipped because the schema does not know them.
    pub(crate) ignored: Vec<String>,
}

/// Makes a message of type `descriptor` of the one JSON value in `text`.
pub(crate) fn decode(
    text: &str,
    descriptor: &MessageDescriptor,
    allow_unknown_fields: bool,
) -> Result<Decoded, JsonError> {
    let node = parse::parse(text)?;
    let mut decoder = Decoder { text, allow_unknown_fields, ignored: Vec::new(), path: Vec::new() };
    if let Value::Array(_) = node.value
        && descriptor.full_name() != "google.protobuf.ListValue"
    {
        let message = format!("an object is expected for {}, not an array", descriptor.full_name());
        return Err(JsonError::new(
            node.span.start..node.span.start + 1,
            message,
            "messages of a stream follow each other, without an array around them",
        ));
    }
    let message = decoder.message(&node, descriptor)?;
    Ok(Decoded { message, ignored: decoder.ignored })
}

/// One run over one text.
pub(super) struct Decoder<'t> {
    /// The whole text, for the well-known types that are handed on as text.
    pub(super) text: &'t str,
    allow_unknown_fields: bool,
    ignored: Vec<String>,
    /// Where in the message we are: `items`, `[2]`, `price`.
    path: Vec<String>,
}

/// A field or an extension of a message: what the decoder needs of both.
enum Slot {
    Field(FieldDescriptor),
    Extension(ExtensionDescriptor),
}

impl Decoder<'_> {
    /// A value of a message type.
    pub(super) fn message(
        &mut self,
        node: &Node,
        descriptor: &MessageDescriptor,
    ) -> Result<DynamicMessage, JsonError> {
        if let Some(message) = well_known::decode(self, node, descriptor)? {
            return Ok(message);
        }
        let Value::Object(members) = &node.value else {
            return Err(self.mismatch(node, &format!("an object ({})", descriptor.full_name())));
        };
        self.members(node, members.iter(), descriptor)
    }

    /// The members of an object as the fields of a message.
    pub(super) fn members<'m>(
        &mut self,
        object: &Node,
        members: impl Iterator<Item = &'m Member>,
        descriptor: &MessageDescriptor,
    ) -> Result<DynamicMessage, JsonError> {
        let mut message = DynamicMessage::new(descriptor.clone());
        let mut seen: HashMap<u32, Range<usize>> = HashMap::new();
        let mut chosen: HashMap<String, String> = HashMap::new();
        for member in members {
            let Some(slot) = find_slot(descriptor, &member.name) else {
                self.on_unknown(member, descriptor)?;
                continue;
            };
            if seen.insert(slot.number(), member.name_span.clone()).is_some() {
                let message = format!("the field `{}` is given twice", member.name);
                return Err(self.at(JsonError::new(member.name_span.clone(), message, "the second time")));
            }
            self.path.push(member.name.clone());
            if member.node.value != Value::Null || slot.takes_null() {
                if let Some(oneof) = slot.oneof()
                    && let Some(other) = chosen.insert(oneof.name().to_owned(), member.name.clone())
                {
                    self.path.pop();
                    return Err(self.at(second_choice(member, &oneof, &other)));
                }
                let value = self.slot(&member.node, &slot)?;
                match &slot {
                    Slot::Field(field) => message.set_field(field, value),
                    Slot::Extension(extension) => message.set_extension(extension, value),
                }
            }
            self.path.pop();
        }
        self.check_required(object, &message)?;
        Ok(message)
    }

    fn on_unknown(&mut self, member: &Member, descriptor: &MessageDescriptor) -> Result<(), JsonError> {
        if self.allow_unknown_fields {
            self.path.push(member.name.clone());
            self.ignored.push(self.path_text());
            self.path.pop();
            return Ok(());
        }
        Err(self.at(unknown_field(member, descriptor)))
    }

    fn check_required(&self, object: &Node, message: &DynamicMessage) -> Result<(), JsonError> {
        let missing =
            message.descriptor().fields().find(|field| field.is_required() && !message.has_field(field));
        let Some(field) = missing else { return Ok(()) };
        let sentence = format!("the required field `{}` is missing", field.json_name());
        let span = object.span.end - 1..object.span.end;
        Err(self.at(JsonError::new(
            span,
            sentence,
            format!("before this, {} is needed", kind_text(&field.kind())),
        )))
    }

    fn slot(&mut self, node: &Node, slot: &Slot) -> Result<Field, JsonError> {
        if let Slot::Field(field) = slot
            && field.is_map()
        {
            return self.map(node, field);
        }
        let kind = slot.kind();
        if !slot.is_list() {
            return self.singular(node, &kind);
        }
        let Value::Array(items) = &node.value else {
            let expected = format!("an array of {}", kind_text(&kind));
            let error = self.mismatch(node, &expected);
            return Err(error.fact("help", "the field is repeated: put [ ] around the value"));
        };
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.path.push(format!("[{index}]"));
            list.push(self.singular(item, &kind)?);
            self.path.pop();
        }
        Ok(Field::List(list))
    }

    fn map(&mut self, node: &Node, field: &FieldDescriptor) -> Result<Field, JsonError> {
        let Kind::Message(entry) = field.kind() else {
            return Err(self.mismatch(node, "a map"));
        };
        let (key_kind, value_kind) =
            (entry.map_entry_key_field().kind(), entry.map_entry_value_field().kind());
        let Value::Object(members) = &node.value else {
            let expected =
                format!("an object (a map from {} to {})", kind_text(&key_kind), kind_text(&value_kind));
            return Err(self.mismatch(node, &expected));
        };
        let mut map = HashMap::with_capacity(members.len());
        for member in members {
            self.path.push(format!("[{:?}]", member.name));
            let key = self.map_key(member, &key_kind)?;
            let value = self.singular(&member.node, &value_kind)?;
            if map.insert(key, value).is_some() {
                let message = format!("the key `{}` is given twice", member.name);
                return Err(self.at(JsonError::new(member.name_span.clone(), message, "the second time")));
            }
            self.path.pop();
        }
        Ok(Field::Map(map))
    }

    fn map_key(&self, member: &Member, kind: &Kind) -> Result<MapKey, JsonError> {
        if *kind == Kind::String {
            return Ok(MapKey::String(member.name.clone()));
        }
        // JSON writes every key as a string: a boolean's text is read as the word, numbers as numbers.
        let value = match (kind, member.name.as_str()) {
            (Kind::Bool, "true") => Value::Bool(true),
            (Kind::Bool, "false") => Value::Bool(false),
            _ => Value::String(member.name.clone()),
        };
        let node = Node { span: member.name_span.clone(), value };
        self.scalar(&node, kind)?.into_map_key().ok_or_else(|| self.mismatch(&node, &kind_text(kind)))
    }

    /// A value of any kind, outside of arrays and maps.
    pub(super) fn singular(&mut self, node: &Node, kind: &Kind) -> Result<Field, JsonError> {
        match kind {
            Kind::Message(descriptor) => Ok(Field::Message(self.message(node, descriptor)?)),
            kind => self.scalar(node, kind),
        }
    }

    fn scalar(&self, node: &Node, kind: &Kind) -> Result<Field, JsonError> {
        let value = match (kind, &node.value) {
            (Kind::Bool, Value::Bool(value)) => Field::Bool(*value),
            (Kind::String, Value::String(value)) => Field::String(value.clone()),
            (Kind::Bytes, Value::String(text)) => Field::Bytes(self.bytes(node, text)?.into()),
            (Kind::Enum(_), _) => self.enumeration(node, kind)?,
            (Kind::Double, Value::Number(text) | Value::String(text)) => {
                Field::F64(self.float(node, text, kind)?)
            }
            (Kind::Float, Value::Number(text) | Value::String(text)) => {
                let wide = self.float(node, text, kind)?;
                let narrow = wide as f32;
                if wide.is_finite() && !narrow.is_finite() {
                    return Err(self.misfit(node, text, kind, Misfit::OutOfRange));
                }
                Field::F32(narrow)
            }
            (kind, Value::Number(text) | Value::String(text)) => match integer_range(kind) {
                Some((low, high)) => {
                    let number = number::integer(text, low, high)
                        .map_err(|misfit| self.misfit(node, text, kind, misfit))?;
                    integer_field(kind, number)
                }
                None => return Err(self.mismatch(node, &kind_text(kind))),
            },
            _ => return Err(self.mismatch(node, &kind_text(kind))),
        };
        Ok(value)
    }

    fn float(&self, node: &Node, text: &str, kind: &Kind) -> Result<f64, JsonError> {
        number::float(text).map_err(|misfit| self.misfit(node, text, kind, misfit))
    }

    fn bytes(&self, node: &Node, text: &str) -> Result<Vec<u8>, JsonError> {
        // Both alphabets of base64 are read, with or without padding.
        let standard: String = text
            .chars()
            .map(|c| match c {
                '-' => '+',
                '_' => '/',
                c => c,
            })
            .collect();
        crate::header::BASE64.decode(standard).map_err(|error| {
            self.at(JsonError::new(node.span.clone(), "this is not base64", error.to_string()))
                .fact("expected", "bytes, written as base64 in a string")
        })
    }

    fn enumeration(&self, node: &Node, kind: &Kind) -> Result<Field, JsonError> {
        let Kind::Enum(descriptor) = kind else { return Err(self.mismatch(node, &kind_text(kind))) };
        let choices = || descriptor.values().map(|v| v.name().to_owned()).collect::<Vec<_>>();
        match &node.value {
            Value::String(name) => {
                if let Some(value) = descriptor.get_value_by_name(name) {
                    return Ok(Field::EnumNumber(value.number()));
                }
                let names = choices();
                let label = suggest::nearest(name, names.iter().map(String::as_str))
                    .map_or_else(String::new, |near| format!("did you mean {near:?}?"));
                let message = format!("`{name}` is no value of {}", descriptor.full_name());
                Err(self.at(JsonError::new(node.span.clone(), message, label)).fact("choices", list(&names)))
            }
            Value::Number(text) => {
                let number = number::integer(text, i32::MIN.into(), i32::MAX.into())
                    .map_err(|misfit| self.misfit(node, text, &Kind::Int32, misfit))?;
                // Numbers without a name are allowed on the wire, so they are here.
                Ok(Field::EnumNumber(number as i32))
            }
            Value::Null if descriptor.full_name() == well_known::NULL_VALUE => Ok(Field::EnumNumber(0)),
            _ => Err(self.mismatch(node, &kind_text(kind)).fact("choices", list(&choices()))),
        }
    }

    /// The value is of another JSON type than the field takes.
    pub(super) fn mismatch(&self, node: &Node, expected: &str) -> JsonError {
        let found = node.value.describe();
        let place = self.path_text();
        let message = if place.is_empty() {
            format!("{expected} is expected, not {found}")
        } else {
            format!("`{place}` takes {expected}, not {found}")
        };
        let label = match (&node.value, expected) {
            (Value::Number(_) | Value::Bool(_), "a string") => "put it in double quotes",
            (Value::String(_), "a boolean") => "write true or false without quotes",
            (Value::Null, _) => "leave the field out instead",
            _ => "",
        };
        JsonError::new(head_of(node), message, label).fact("expected", expected)
    }

    fn misfit(&self, node: &Node, text: &str, kind: &Kind, misfit: Misfit) -> JsonError {
        let wanted = kind_text(kind);
        let shown: String = text.chars().take(40).collect();
        let error = match misfit {
            Misfit::NotANumber => {
                let message = format!("`{}` takes {wanted}; `{shown}` is no number", self.path_text());
                JsonError::new(node.span.clone(), message, "")
            }
            Misfit::Fraction => {
                let message = format!("`{}` takes {wanted}; `{shown}` has a fraction", self.path_text());
                JsonError::new(node.span.clone(), message, "")
            }
            Misfit::OutOfRange => {
                let message = format!("{shown} does not fit `{}`, {wanted}", self.path_text());
                JsonError::new(node.span.clone(), message, "out of range")
            }
        };
        match integer_range(kind) {
            Some((low, high)) => error.fact("expected", format!("{wanted}, {low} to {high}")),
            None => error.fact("expected", wanted),
        }
    }

    /// Adds where in the message the error is, when that says more than the caret.
    pub(super) fn at(&self, error: JsonError) -> JsonError {
        let path = self.path_text();
        if path.is_empty() { error } else { error.fact("at", path) }
    }

    pub(super) fn push_path(&mut self, segment: &str) {
        self.path.push(segment.to_owned());
    }

    pub(super) fn pop_path(&mut self) {
        self.path.pop();
    }

    fn path_text(&self) -> String {
        let mut text = String::new();
        for segment in &self.path {
            if !segment.starts_with('[') && !text.is_empty() {
                text.push('.');
            }
            text.push_str(segment);
        }
        text
    }
}

impl Slot {
    fn number(&self) -> u32 {
        match self {
            Self::Field(field) => field.number(),
            Self::Extension(extension) => extension.number(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Field(field) => field.kind(),
            Self::Extension(extension) => extension.kind(),
        }
    }

    fn is_list(&self) -> bool {
        match self {
            Self::Field(field) => field.is_list(),
            Self::Extension(extension) => extension.is_list(),
        }
    }

    fn oneof(&self) -> Option<OneofDescriptor> {
        match self {
            Self::Field(field) => field.containing_oneof(),
            Self::Extension(_) => None,
        }
    }

    /// Null means "not there" to all but the types whose value it is.
    fn takes_null(&self) -> bool {
        !self.is_list() && well_known::takes_null(&self.kind())
    }
}

fn find_slot(descriptor: &MessageDescriptor, name: &str) -> Option<Slot> {
    if name.starts_with('[') {
        return descriptor.get_extension_by_json_name(name).map(Slot::Extension);
    }
    descriptor.get_field_by_json_name(name).or_else(|| descriptor.get_field_by_name(name)).map(Slot::Field)
}

fn unknown_field(member: &Member, descriptor: &MessageDescriptor) -> JsonError {
    let fields: Vec<String> = descriptor.fields().map(|field| field.json_name().to_owned()).collect();
    let label = suggest::nearest(&member.name, fields.iter().map(String::as_str))
        .map_or_else(String::new, |near| format!("did you mean {near:?}?"));
    let message = format!("{} has no field `{}`", descriptor.full_name(), member.name);
    let fields = if fields.is_empty() { "none, the message is empty".to_owned() } else { list(&fields) };
    JsonError::new(member.name_span.clone(), message, label)
        .fact("fields", fields)
        .fact("help", "--allow-unknown-fields skips fields that the schema does not know")
}

fn second_choice(member: &Member, oneof: &OneofDescriptor, other: &str) -> JsonError {
    let message = format!(
        "`{}` and `{other}` exclude each other: only one of `{}` can be set",
        member.name,
        oneof.name()
    );
    let choices: Vec<String> = oneof.fields().map(|field| field.json_name().to_owned()).collect();
    JsonError::new(member.name_span.clone(), message, "the second choice").fact("choices", list(&choices))
}

/// Objects and arrays are pointed at by their first character: a caret under all of it says less.
fn head_of(node: &Node) -> Range<usize> {
    match node.value {
        Value::Object(_) | Value::Array(_) => node.span.start..node.span.start + 1,
        _ => node.span.clone(),
    }
}

fn integer_range(kind: &Kind) -> Option<(i128, i128)> {
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Some((i32::MIN.into(), i32::MAX.into())),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Some((i64::MIN.into(), i64::MAX.into())),
        Kind::Uint32 | Kind::Fixed32 => Some((0, u32::MAX.into())),
        Kind::Uint64 | Kind::Fixed64 => Some((0, u64::MAX.into())),
        _ => None,
    }
}

/// `number` is within the range of `kind`.
fn integer_field(kind: &Kind, number: i128) -> Field {
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Field::I32(number as i32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Field::I64(number as i64),
        Kind::Uint32 | Kind::Fixed32 => Field::U32(number as u32),
        _ => Field::U64(number as u64),
    }
}

/// A field's type as a user would name it, with an article.
fn kind_text(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "a boolean".to_owned(),
        Kind::String => "a string".to_owned(),
        Kind::Bytes => "bytes as a base64 string".to_owned(),
        Kind::Float => "a number (float)".to_owned(),
        Kind::Double => "a number (double)".to_owned(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "an integer (32 bits, signed)".to_owned(),
        Kind::Uint32 | Kind::Fixed32 => "an integer (32 bits, unsigned)".to_owned(),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => "an integer (64 bits, signed)".to_owned(),
        Kind::Uint64 | Kind::Fixed64 => "an integer (64 bits, unsigned)".to_owned(),
        Kind::Message(message) => format!("an object ({})", message.full_name()),
        Kind::Enum(descriptor) => format!("a value of {}", descriptor.full_name()),
    }
}

/// Names for a person: all of a few, the start of many.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 16;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        let _ = write!(text, ", and {} more", names.len() - SHOWN);
    }
    text
}
