//! A message as JSON (ProtoJSON), with what could not be shown told apart.
//!
//! Fields that the schema does not know and messages inside of `Any` whose type it lacks do not make the output
//! fail: the caller gets them listed and says so on stderr.

use base64::{Engine, engine::general_purpose::STANDARD};
use prost_reflect::{
    DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MapKey, ReflectMessage, UnknownField,
    Value as Field,
};

use super::{
    well_known::{self, Form},
    write::{Layout, Writer},
};

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodeOptions {
    pub(crate) layout: Layout,
    /// Show fields without presence even when they have their default value.
    pub(crate) emit_defaults: bool,
}

/// The JSON of a message, and what it does not show.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) text: String,
    /// Fields on the wire that the schema does not know: path of the message, field number, bytes.
    pub(crate) unknown: Vec<Unknown>,
    /// Types inside of `Any` that the schema lacks; their bytes are shown as base64.
    pub(crate) missing_types: Vec<String>,
}

/// A field that only the wire knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Unknown {
    /// Path of the message it is in; empty for the message itself.
    pub(crate) path: String,
    pub(crate) number: u32,
    /// Size on the wire, with its tag.
    pub(crate) bytes: usize,
}

/// Writes `message` as JSON.
pub(crate) fn encode(message: &DynamicMessage, options: EncodeOptions) -> Encoded {
    let mut encoder = Encoder {
        writer: Writer::new(options.layout),
        emit_defaults: options.emit_defaults,
        path: Vec::new(),
        any_depth: 0,
        unknown: Vec::new(),
        missing_types: Vec::new(),
    };
    encoder.message(message);
    Encoded { text: encoder.writer.finish(), unknown: encoder.unknown, missing_types: encoder.missing_types }
}

struct Encoder {
    writer: Writer,
    emit_defaults: bool,
    path: Vec<String>,
    /// How many `Any` we are inside of.
    any_depth: usize,
    unknown: Vec<Unknown>,
    missing_types: Vec<String>,
}

/// Messages packed into each other that are unpacked. A protobuf decoder's own limit starts anew inside of each
/// `Any`, so without this one a small reply could nest deeper than the stack reaches.
const MAX_ANY_DEPTH: usize = 16;

impl Encoder {
    fn message(&mut self, message: &DynamicMessage) {
        match well_known::form(message.descriptor().full_name()) {
            Form::Any => self.any(message),
            Form::Wrapper => match message.descriptor().get_field_by_name("value") {
                Some(field) => self.value(&message.get_field(&field), &field.kind()),
                None => self.fields(message),
            },
            Form::Text { .. } | Form::Json { .. } => match serde_json::to_value(message) {
                Ok(value) => self.writer.tree(&value),
                // A time in the year 99999 or a Value without a kind has no JSON of its own.
                Err(_) => self.fields(message),
            },
            Form::Fields => self.fields(message),
        }
    }

    fn fields(&mut self, message: &DynamicMessage) {
        self.writer.open('{');
        self.members(message);
        self.writer.close('}');
    }

    fn members(&mut self, message: &DynamicMessage) {
        for field in message.descriptor().fields() {
            let shown = message.has_field(&field) || (self.emit_defaults && !field.supports_presence());
            if shown {
                self.writer.key(field.json_name());
                self.path.push(field.json_name().to_owned());
                self.field(&message.get_field(&field), &field);
                self.path.pop();
            }
        }
        for (extension, value) in message.extensions() {
            self.writer.key(extension.json_name());
            self.value(value, &extension.kind());
        }
        let unknown: Vec<_> = message.unknown_fields().map(|field| self.describe_unknown(field)).collect();
        self.unknown.extend(unknown);
    }

    fn field(&mut self, value: &Field, field: &FieldDescriptor) {
        let (Field::Map(map), Kind::Message(entry)) = (value, field.kind()) else {
            return self.value(value, &field.kind());
        };
        let kind = entry.map_entry_value_field().kind();
        // The order of the wire is lost in the map; a sorted one is at least the same each time.
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by_key(|(key, _)| *key);
        self.writer.open('{');
        for (key, value) in entries {
            let key = key_text(key);
            self.writer.key(&key);
            self.path.push(format!("[{key:?}]"));
            self.value(value, &kind);
            self.path.pop();
        }
        self.writer.close('}');
    }

    fn value(&mut self, value: &Field, kind: &Kind) {
        match value {
            Field::Bool(value) => self.writer.bare(if *value { "true" } else { "false" }),
            Field::I32(value) => self.writer.bare(&value.to_string()),
            Field::U32(value) => self.writer.bare(&value.to_string()),
            // JSON numbers of other languages hold 53 bits: ProtoJSON quotes 64.
            Field::I64(value) => self.writer.string(&value.to_string()),
            Field::U64(value) => self.writer.string(&value.to_string()),
            Field::F32(value) => self.float(f64::from(*value), serde_json::to_string(value)),
            Field::F64(value) => self.float(*value, serde_json::to_string(value)),
            Field::String(value) => self.writer.string(value),
            Field::Bytes(value) => self.writer.string(&STANDARD.encode(value)),
            Field::EnumNumber(number) => self.enumeration(*number, kind),
            Field::Message(message) => self.message(message),
            Field::List(items) => {
                self.writer.open('[');
                for (index, item) in items.iter().enumerate() {
                    self.writer.item();
                    self.path.push(format!("[{index}]"));
                    self.value(item, kind);
                    self.path.pop();
                }
                self.writer.close(']');
            }
            // Only fields are maps, and they went through `field`.
            Field::Map(_) => self.writer.bare("null"),
        }
    }

    fn float(&mut self, value: f64, text: Result<String, serde_json::Error>) {
        match text {
            Ok(text) if value.is_finite() => self.writer.number(&text),
            _ if value.is_nan() => self.writer.string("NaN"),
            _ if value < 0.0 => self.writer.string("-Infinity"),
            _ => self.writer.string("Infinity"),
        }
    }

    fn enumeration(&mut self, number: i32, kind: &Kind) {
        let descriptor: Option<&EnumDescriptor> = kind.as_enum();
        if descriptor.is_some_and(|descriptor| descriptor.full_name() == well_known::NULL_VALUE) {
            return self.writer.bare("null");
        }
        match descriptor.and_then(|descriptor| descriptor.get_value(number)) {
            Some(value) => self.writer.string(value.name()),
            None => self.writer.bare(&number.to_string()),
        }
    }

    fn any(&mut self, message: &DynamicMessage) {
        let text = |name| message.get_field_by_name(name);
        let url = text("type_url").and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
        let bytes = text("value").and_then(|value| value.as_bytes().cloned()).unwrap_or_default();
        self.writer.open('{');
        if !url.is_empty() || !bytes.is_empty() {
            self.writer.key("@type");
            self.writer.string(&url);
            self.any_value(message, &url, &bytes);
        }
        self.writer.close('}');
    }

    fn any_value(&mut self, outer: &DynamicMessage, url: &str, bytes: &bytes::Bytes) {
        let name = url.rsplit('/').next().unwrap_or(url);
        let Some(descriptor) = outer.descriptor().parent_pool().get_message_by_name(name) else {
            self.missing_types.push(name.to_owned());
            self.writer.key("value");
            return self.writer.string(&STANDARD.encode(bytes));
        };
        let decoded = DynamicMessage::decode(descriptor, bytes.clone()).ok();
        let Some(inner) = decoded.filter(|_| self.any_depth < MAX_ANY_DEPTH) else {
            self.writer.key("value");
            return self.writer.string(&STANDARD.encode(bytes));
        };
        self.any_depth += 1;
        if well_known::form(name) == Form::Fields {
            self.members(&inner);
        } else {
            self.writer.key("value");
            self.message(&inner);
        }
        self.any_depth -= 1;
    }

    fn describe_unknown(&self, field: &UnknownField) -> Unknown {
        let mut path = String::new();
        for segment in &self.path {
            if !segment.starts_with('[') && !path.is_empty() {
                path.push('.');
            }
            path.push_str(segment);
        }
        Unknown { path, number: field.number(), bytes: field.encoded_len() }
    }
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(value) => value.to_string(),
        MapKey::I32(value) => value.to_string(),
        MapKey::I64(value) => value.to_string(),
        MapKey::U32(value) => value.to_string(),
        MapKey::U64(value) => value.to_string(),
        MapKey::String(value) => value.clone(),
    }
}
