//! JSON to fill in: every field of a message once, with a value of its type.
//!
//! Used by `describe --template` and by the error for a request that lacks its JSON.

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use super::{
    well_known::{self, Form},
    write::{Layout, Writer},
};

/// The template of a message, laid out.
pub(crate) fn template(descriptor: &MessageDescriptor, layout: Layout) -> String {
    let mut template = Template { writer: Writer::new(layout), ancestors: Vec::new() };
    template.message(descriptor);
    template.writer.finish()
}

struct Template {
    writer: Writer,
    /// Full names of the messages we are inside of, so that a recursive one is shown once.
    ancestors: Vec<String>,
}

impl Template {
    fn message(&mut self, descriptor: &MessageDescriptor) {
        match well_known::form(descriptor.full_name()) {
            Form::Any => {
                self.writer.open('{');
                self.writer.key("@type");
                self.writer.string("type.googleapis.com/package.Message");
                self.writer.close('}');
            }
            Form::Wrapper => match descriptor.get_field_by_name("value") {
                Some(field) => self.value(&field.kind()),
                None => self.writer.bare("null"),
            },
            Form::Text { sample, .. } => self.writer.string(sample),
            Form::Json { what: "an object" } => self.brackets('{', '}'),
            Form::Json { what: "an array" } => self.brackets('[', ']'),
            Form::Json { .. } => self.writer.bare("null"),
            Form::Fields => self.fields(descriptor),
        }
    }

    fn fields(&mut self, descriptor: &MessageDescriptor) {
        self.writer.open('{');
        if !self.ancestors.iter().any(|name| name == descriptor.full_name()) {
            self.ancestors.push(descriptor.full_name().to_owned());
            for field in descriptor.fields().filter(first_of_its_oneof) {
                self.writer.key(field.json_name());
                self.field(&field);
            }
            self.ancestors.pop();
        }
        self.writer.close('}');
    }

    fn field(&mut self, field: &FieldDescriptor) {
        match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                self.writer.open('{');
                self.writer.key(sample_key(&entry.map_entry_key_field().kind()));
                self.value(&entry.map_entry_value_field().kind());
                self.writer.close('}');
            }
            kind if field.is_list() => {
                self.writer.open('[');
                self.writer.item();
                self.value(&kind);
                self.writer.close(']');
            }
            kind => self.value(&kind),
        }
    }

    fn value(&mut self, kind: &Kind) {
        match kind {
            Kind::Message(descriptor) => self.message(descriptor),
            Kind::Enum(descriptor) => self.enumeration(descriptor),
            Kind::Bool => self.writer.bare("false"),
            Kind::String | Kind::Bytes => self.writer.string(""),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 | Kind::Uint64 | Kind::Fixed64 => {
                self.writer.string("0");
            }
            Kind::Double | Kind::Float => self.writer.bare("0.0"),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Uint32 | Kind::Fixed32 => {
                self.writer.bare("0");
            }
        }
    }

    fn enumeration(&mut self, descriptor: &EnumDescriptor) {
        if descriptor.full_name() == well_known::NULL_VALUE {
            self.writer.bare("null");
        } else {
            self.writer.string(descriptor.default_value().name());
        }
    }

    fn brackets(&mut self, open: char, close: char) {
        self.writer.open(open);
        self.writer.close(close);
    }
}

/// Of a oneof only one member can be sent, so only one is shown.
fn first_of_its_oneof(field: &FieldDescriptor) -> bool {
    field.containing_oneof().is_none_or(|oneof| oneof.fields().next().is_some_and(|first| first == *field))
}

fn sample_key(kind: &Kind) -> &'static str {
    match kind {
        Kind::String => "key",
        Kind::Bool => "true",
        _ => "0",
    }
}
