//! Definitions as proto text.
//!
//! Type names are written in full, so that each can be copied into the next `describe`. Comments are printed
//! when the schema has them: always from .proto files, seldom through reflection.

use std::fmt::Write;

use prost_reflect::{
    Cardinality, DynamicMessage, EnumDescriptor, ExtensionDescriptor, FieldDescriptor, FileDescriptor, Kind,
    MessageDescriptor, MethodDescriptor, OneofDescriptor, ServiceDescriptor, Syntax, Value,
    text_format::FormatOptions,
};

use super::find::Symbol;
use crate::style::Style;

/// The text of a definition, behind a comment that says what it is and where it is from.
pub(crate) fn print(symbol: &Symbol, style: Style) -> String {
    let (kind, name, file) = headline(symbol);
    let mut printer = Printer { text: String::new(), style, indent: 0 };
    let comment = format!("// {kind} {name}, in {}", file.name());
    let _ = writeln!(printer.text, "{}", style.dim(comment));
    match symbol {
        Symbol::Service(service) => printer.service(service),
        Symbol::Method(method) => printer.method(method),
        Symbol::Message(message) => printer.message(message),
        Symbol::Enum(descriptor) => printer.enumeration(descriptor),
        Symbol::Field(field) => printer.field(field),
        Symbol::Oneof(oneof) => printer.oneof(oneof),
        Symbol::Extension(extension) => printer.extension(extension),
        Symbol::EnumValue(value) => printer.enumeration(value.parent_enum()),
    }
    printer.text
}

/// The kind of a definition, its full name and its file.
pub(crate) fn headline(symbol: &Symbol) -> (&'static str, String, FileDescriptor) {
    match symbol {
        Symbol::Service(s) => ("service", s.full_name().to_owned(), s.parent_file()),
        Symbol::Method(m) => ("method", m.full_name().to_owned(), m.parent_file()),
        Symbol::Message(m) => ("message", m.full_name().to_owned(), m.parent_file()),
        Symbol::Enum(e) => ("enum", e.full_name().to_owned(), e.parent_file()),
        Symbol::Field(f) => ("field", f.full_name().to_owned(), f.parent_file()),
        Symbol::EnumValue(v) => ("enum value", v.full_name().to_owned(), v.parent_file()),
        Symbol::Oneof(o) => ("oneof", o.full_name().to_owned(), o.parent_file()),
        Symbol::Extension(e) => ("extension", e.full_name().to_owned(), e.parent_file()),
    }
}

struct Printer {
    text: String,
    style: Style,
    indent: usize,
}

impl Printer {
    fn service(&mut self, service: &ServiceDescriptor) {
        self.comments(&service.parent_file(), service.path());
        self.open("service", service.name());
        self.option_lines(&service.options());
        for (index, method) in service.methods().enumerate() {
            if index > 0 && has_comment(&service.parent_file(), method.path()) {
                self.text.push('\n');
            }
            self.method(&method);
        }
        self.close();
    }

    fn method(&mut self, method: &MethodDescriptor) {
        self.comments(&method.parent_file(), method.path());
        let stream = |yes: bool| if yes { format!("{} ", self.style.name("stream")) } else { String::new() };
        let signature = format!(
            "{} {}({}{}) {} ({}{})",
            self.style.name("rpc"),
            self.style.bold(method.name()),
            stream(method.is_client_streaming()),
            method.input().full_name(),
            self.style.name("returns"),
            stream(method.is_server_streaming()),
            method.output().full_name(),
        );
        let options = options(&method.options());
        if options.is_empty() {
            self.line(&format!("{signature};"));
            return;
        }
        self.line(&format!("{signature} {{"));
        self.indent += 1;
        self.option_lines(&method.options());
        self.close();
    }

    fn message(&mut self, message: &MessageDescriptor) {
        self.comments(&message.parent_file(), message.path());
        self.open("message", message.name());
        self.message_body(message);
        self.close();
    }

    fn message_body(&mut self, message: &MessageDescriptor) {
        self.option_lines(&message.options());
        let mut printed_oneofs: Vec<String> = Vec::new();
        // The order of the file, which the descriptor's own list by number does not keep.
        let declared = &message.descriptor_proto().field;
        for field in declared.iter().filter_map(|field| message.get_field(field.number().try_into().ok()?)) {
            match field.containing_oneof().filter(|oneof| !oneof.is_synthetic()) {
                None => self.field(&field),
                Some(oneof) => {
                    if !printed_oneofs.iter().any(|name| name == oneof.name()) {
                        printed_oneofs.push(oneof.name().to_owned());
                        self.oneof(&oneof);
                    }
                }
            }
        }
        self.reserved(message);
        for nested in message.child_enums() {
            self.text.push('\n');
            self.enumeration(&nested);
        }
        let groups: Vec<String> = message.fields().filter_map(|field| group_name(&field)).collect();
        let own_text = |nested: &MessageDescriptor| {
            !nested.is_map_entry() && !groups.iter().any(|name| name == nested.full_name())
        };
        for nested in message.child_messages().filter(own_text) {
            self.text.push('\n');
            self.message(&nested);
        }
    }

    fn reserved(&mut self, message: &MessageDescriptor) {
        let range = |range: std::ops::Range<u32>| {
            let last = range.end.saturating_sub(1);
            match last {
                _ if range.start == last => last.to_string(),
                536_870_911 => format!("{} to max", range.start),
                _ => format!("{} to {last}", range.start),
            }
        };
        let ranges: Vec<_> = message.reserved_ranges().map(range).collect();
        if !ranges.is_empty() {
            self.line(&format!("{} {};", self.style.name("reserved"), ranges.join(", ")));
        }
        let names: Vec<_> = message.reserved_names().map(|name| format!("{name:?}")).collect();
        if !names.is_empty() {
            self.line(&format!("{} {};", self.style.name("reserved"), names.join(", ")));
        }
        let ranges: Vec<_> = message.extension_ranges().map(range).collect();
        if !ranges.is_empty() {
            self.line(&format!("{} {};", self.style.name("extensions"), ranges.join(", ")));
        }
    }

    fn oneof(&mut self, oneof: &OneofDescriptor) {
        self.comments(&oneof.parent_file(), oneof.path());
        self.open("oneof", oneof.name());
        self.option_lines(&oneof.options());
        for field in oneof.fields() {
            self.field(&field);
        }
        self.close();
    }

    fn field(&mut self, field: &FieldDescriptor) {
        self.comments(&field.parent_file(), field.path());
        let label = field_label(field);
        let label = if label.is_empty() { String::new() } else { format!("{} ", self.style.name(label)) };
        let settings = in_brackets(&field_settings(field));
        let (number, kind) = (field.number(), field.kind());
        if let Kind::Message(group) = &kind
            && field.is_group()
        {
            let (keyword, name) = (self.style.name("group"), self.style.bold(group.name()));
            self.line(&format!("{label}{keyword} {name} = {number}{settings} {{"));
            self.indent += 1;
            self.message_body(group);
            return self.close();
        }
        let kind = match &kind {
            Kind::Message(entry) if field.is_map() => format!(
                "map<{}, {}>",
                kind_name(&entry.map_entry_key_field().kind()),
                kind_name(&entry.map_entry_value_field().kind())
            ),
            kind => kind_name(kind),
        };
        self.line(&format!("{label}{kind} {} = {number}{settings};", self.style.bold(field.name())));
    }

    fn extension(&mut self, extension: &ExtensionDescriptor) {
        self.open("extend", extension.containing_message().full_name());
        let label = match extension.cardinality() {
            Cardinality::Repeated => "repeated ",
            Cardinality::Required => "required ",
            Cardinality::Optional => "optional ",
        };
        let settings = in_brackets(&options(&extension.options()));
        let kind = kind_name(&extension.kind());
        self.line(&format!("{label}{kind} {} = {}{settings};", extension.name(), extension.number()));
        self.close();
    }

    fn enumeration(&mut self, descriptor: &EnumDescriptor) {
        let file = descriptor.parent_file();
        self.comments(&file, descriptor.path());
        self.open("enum", descriptor.name());
        self.option_lines(&descriptor.options());
        let declared = &descriptor.enum_descriptor_proto().value;
        for value in declared.iter().filter_map(|value| descriptor.get_value_by_name(value.name())) {
            self.comments(&file, value.path());
            let settings = in_brackets(&options(&value.options()));
            self.line(&format!("{} = {}{settings};", self.style.bold(value.name()), value.number()));
        }
        self.close();
    }

    fn open(&mut self, keyword: &str, name: &str) {
        self.line(&format!("{} {} {{", self.style.name(keyword), self.style.bold(name)));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn option_lines(&mut self, message: &DynamicMessage) {
        for option in options(message) {
            self.line(&format!("{} {option};", self.style.name("option")));
        }
    }

    /// The comment in front of the definition at `path` of its file.
    fn comments(&mut self, file: &FileDescriptor, path: &[i32]) {
        let Some(comment) = comment(file, path) else { return };
        for line in comment.trim_end().lines() {
            let line = format!("//{}", line.trim_end());
            self.line(&self.style.dim(line).to_string());
        }
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:indent$}{line}", "", indent = self.indent * 2);
    }
}

fn comment(file: &FileDescriptor, path: &[i32]) -> Option<String> {
    let info = file.file_descriptor_proto().source_code_info.as_ref()?;
    let location = info.location.iter().find(|location| location.path == path)?;
    location.leading_comments.clone().filter(|comment| !comment.trim().is_empty())
}

fn has_comment(file: &FileDescriptor, path: &[i32]) -> bool {
    comment(file, path).is_some()
}

/// The type that a group field declares along with itself.
fn group_name(field: &FieldDescriptor) -> Option<String> {
    let kind = field.kind();
    kind.as_message().filter(|_| field.is_group()).map(|group| group.full_name().to_owned())
}

/// What stands in brackets behind a field.
fn field_settings(field: &FieldDescriptor) -> Vec<String> {
    let mut settings = options(&field.options());
    if let Some(default) = &field.field_descriptor_proto().default_value {
        let quoted = matches!(field.kind(), Kind::String | Kind::Bytes);
        let default = if quoted { format!("{default:?}") } else { default.clone() };
        settings.insert(0, format!("default = {default}"));
    }
    if field.json_name() != json_name_of(field.name()) {
        settings.push(format!("json_name = {:?}", field.json_name()));
    }
    settings
}

fn field_label(field: &FieldDescriptor) -> &'static str {
    let proto2 = field.parent_file().syntax() == Syntax::Proto2;
    let in_oneof = field.containing_oneof().is_some_and(|oneof| !oneof.is_synthetic());
    match field.cardinality() {
        _ if field.is_map() => "",
        Cardinality::Repeated => "repeated",
        Cardinality::Required => "required",
        Cardinality::Optional if in_oneof => "",
        Cardinality::Optional if proto2 || field.field_descriptor_proto().proto3_optional() => "optional",
        Cardinality::Optional => "",
    }
}

/// The name of a field's type as it stands in a .proto file.
pub(crate) fn kind_name(kind: &Kind) -> String {
    let scalar = match kind {
        Kind::Double => "double",
        Kind::Float => "float",
        Kind::Int32 => "int32",
        Kind::Int64 => "int64",
        Kind::Uint32 => "uint32",
        Kind::Uint64 => "uint64",
        Kind::Sint32 => "sint32",
        Kind::Sint64 => "sint64",
        Kind::Fixed32 => "fixed32",
        Kind::Fixed64 => "fixed64",
        Kind::Sfixed32 => "sfixed32",
        Kind::Sfixed64 => "sfixed64",
        Kind::Bool => "bool",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::Message(message) => return message.full_name().to_owned(),
        Kind::Enum(descriptor) => return descriptor.full_name().to_owned(),
    };
    scalar.to_owned()
}

/// Options that are set, as `name = value`; those of the user's own extensions too.
fn options(message: &DynamicMessage) -> Vec<String> {
    let mut options = Vec::new();
    for (field, value) in message.fields() {
        // Options that have not been interpreted are left from a parse that failed.
        if field.name() != "uninterpreted_option" {
            options.push(format!("{} = {}", field.name(), option_value(value, &field.kind())));
        }
    }
    for (extension, value) in message.extensions() {
        options.push(format!("({}) = {}", extension.full_name(), option_value(value, &extension.kind())));
    }
    options
}

fn option_value(value: &Value, kind: &Kind) -> String {
    match (value, kind) {
        (Value::EnumNumber(number), Kind::Enum(descriptor)) => {
            descriptor.get_value(*number).map_or_else(|| number.to_string(), |value| value.name().to_owned())
        }
        (Value::Message(message), _) => {
            format!(
                "{{ {} }}",
                message.to_text_format_with_options(&FormatOptions::new().skip_unknown_fields(true))
            )
        }
        (Value::List(items), kind) => {
            let items: Vec<_> = items.iter().map(|item| option_value(item, kind)).collect();
            format!("[{}]", items.join(", "))
        }
        (value, _) => value.to_string(),
    }
}

fn in_brackets(settings: &[String]) -> String {
    if settings.is_empty() { String::new() } else { format!(" [{}]", settings.join(", ")) }
}

/// The JSON name that a field has when it does not say otherwise.
fn json_name_of(name: &str) -> String {
    let mut json = String::new();
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            json.push(c.to_ascii_uppercase());
        } else {
            json.push(c);
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        schema::find,
        testing::{schema, schema_of},
    };

    fn printed(name: &str) -> String {
        printed_of("everything.proto", name)
    }

    fn printed_of(file: &str, name: &str) -> String {
        print(&find::symbol(&schema_of(file), name).unwrap(), Style::PLAIN)
    }

    #[test]
    fn a_service_is_printed_with_its_comments_and_options() {
        let text = printed("test.v1.Everything");
        assert_eq!(
            text,
            "// service test.v1.Everything, in everything.proto
// Answers with what it was sent.
service Everything {
  // Sends the request back.
  rpc Echo(test.v1.Scalars) returns (test.v1.Scalars);

  // Counts up.
  rpc Count(test.v1.Number) returns (stream test.v1.Number);

  // Adds up.
  rpc Sum(stream test.v1.Number) returns (test.v1.Number);

  // Sends each message back.
  rpc Chat(stream test.v1.Scalars) returns (stream test.v1.Scalars);
  rpc Old(google.protobuf.Empty) returns (google.protobuf.Empty) {
    option deprecated = true;
  }
}
"
        );
    }

    #[test]
    fn a_message_keeps_labels_maps_oneofs_and_reserved_parts() {
        assert_eq!(
            printed("test.v1.Shapes"),
            "// message test.v1.Shapes, in everything.proto
message Shapes {
  repeated int32 numbers = 1;
  repeated test.v1.Scalars items = 2;
  map<string, test.v1.Number> by_name = 3;
  map<int32, string> by_id = 4;
  oneof choice {
    string text = 5;
    test.v1.Number number = 6;
  }
  test.v1.Shapes inner = 7;
  repeated string old_names = 8 [deprecated = true];
  test.v1.Shapes.Size size = 9;
  reserved 20 to 29, 31;
  reserved \"gone\";

  enum Size {
    SMALL = 0;
    LARGE = 1;
  }
}
"
        );
        assert!(printed("test.v1.Scalars").contains("  optional string nick_name = 11;\n"));
    }

    #[test]
    fn older_syntax_and_options_of_the_users_own_are_kept() {
        let text = printed_of("old.proto", "test.v2.Old");
        assert_eq!(
            text,
            "// message test.v2.Old, in old.proto
message Old {
  option (test.v2.owner) = { team:\"ops\" };
  required string a = 1;
  optional group Part = 4 {
    optional int32 size = 1;
  }
  optional test.v2.Old.Kind kind = 2 [default = SECOND];
  repeated int32 numbers = 3 [packed = true, deprecated = true];
  extensions 100 to 199;

  enum Kind {
    SECOND = 2;
    FIRST = 1;
  }
}
"
        );
        let text = printed_of("old.proto", "test.v2.more");
        assert!(text.ends_with("extend test.v2.Old {\n  optional string more = 100;\n}\n"), "{text}");
    }

    #[test]
    fn single_members_are_printed_alone() {
        assert!(printed("test.v1.Scalars.name").ends_with("// Who it is.\nstring name = 1;\n"));
        assert!(
            printed("test.v1.Everything.Count")
                .ends_with("rpc Count(test.v1.Number) returns (stream test.v1.Number);\n")
        );
        assert!(printed("test.v1.Color.COLOR_RED").contains("  COLOR_RED = 1;\n"));
    }

    #[test]
    fn what_is_printed_compiles_again() {
        let schema = schema();
        let text: String = ["Scalars", "Shapes", "Number", "Color"]
            .iter()
            .map(|name| printed(&format!("test.v1.{name}")))
            .collect();
        let source = format!("syntax = \"proto3\";\npackage test.v1;\n{text}");
        let file = protox::file::File::from_source("again.proto", &source).unwrap();
        assert_eq!(file.file_descriptor_proto().message_type.len(), 3);
        assert!(schema.message("test.v1.Shapes").is_some());
    }
}
