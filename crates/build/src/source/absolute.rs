//! Writes the names of types and extensions in a parsed file out in full, with a dot in front.
//!
//! The pool would look up relative names as well, but not as protoc does: `config.M` in package `p.ext.x` means
//! `p.config.M` to protoc unless the file imports something of a package `p.ext.config`; the pool takes offence as soon
//! as any file of that package was compiled before. Envoy's protos are full of such names. What is not found stays as it
//! is, for the pool to complain of.

use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, ServiceDescriptorProto,
    UninterpretedOption,
};

use super::symbols::{Kind, Symbols, Visible, joined};

/// Writes out every name in `file`, whose own names `symbols` must know.
pub(super) fn make(file: &mut FileDescriptorProto, symbols: &Symbols, visible: &Visible) {
    let writer = Writer { symbols, visible };
    let package = file.package().to_owned();
    writer.options(file.options.as_mut().map(|options| &mut options.uninterpreted_option), &package);
    file.message_type.iter_mut().for_each(|message| writer.message(message, &package));
    file.enum_type.iter_mut().for_each(|item| writer.enumeration(item, &package));
    file.extension.iter_mut().for_each(|field| writer.field(field, &package));
    file.service.iter_mut().for_each(|service| writer.service(service, &package));
}

struct Writer<'a> {
    symbols: &'a Symbols,
    visible: &'a Visible,
}

impl Writer<'_> {
    /// `scope` is the one that the message is declared in.
    fn message(&self, message: &mut DescriptorProto, scope: &str) {
        self.options(message.options.as_mut().map(|options| &mut options.uninterpreted_option), scope);
        let inside = joined(scope, message.name());
        message.field.iter_mut().chain(&mut message.extension).for_each(|field| self.field(field, &inside));
        message.nested_type.iter_mut().for_each(|nested| self.message(nested, &inside));
        message.enum_type.iter_mut().for_each(|item| self.enumeration(item, &inside));
        for oneof in &mut message.oneof_decl {
            self.options(oneof.options.as_mut().map(|options| &mut options.uninterpreted_option), &inside);
        }
        for range in &mut message.extension_range {
            self.options(range.options.as_mut().map(|options| &mut options.uninterpreted_option), &inside);
        }
    }

    fn field(&self, field: &mut FieldDescriptorProto, scope: &str) {
        self.options(field.options.as_mut().map(|options| &mut options.uninterpreted_option), scope);
        self.name(&mut field.type_name, scope, Kind::Type);
        self.name(&mut field.extendee, scope, Kind::Type);
    }

    fn enumeration(&self, item: &mut EnumDescriptorProto, scope: &str) {
        self.options(item.options.as_mut().map(|options| &mut options.uninterpreted_option), scope);
        let inside = joined(scope, item.name());
        for value in &mut item.value {
            self.options(value.options.as_mut().map(|options| &mut options.uninterpreted_option), &inside);
        }
    }

    fn service(&self, service: &mut ServiceDescriptorProto, scope: &str) {
        self.options(service.options.as_mut().map(|options| &mut options.uninterpreted_option), scope);
        let inside = joined(scope, service.name());
        for method in &mut service.method {
            self.options(method.options.as_mut().map(|options| &mut options.uninterpreted_option), &inside);
            self.name(&mut method.input_type, &inside, Kind::Type);
            self.name(&mut method.output_type, &inside, Kind::Type);
        }
    }

    fn name(&self, name: &mut Option<String>, scope: &str, kind: Kind) {
        if let Some(name) = name {
            self.written_out(name, scope, kind);
        }
    }

    /// Names of custom options, `(pkg.extension)`.
    fn options(&self, options: Option<&mut Vec<UninterpretedOption>>, scope: &str) {
        let parts = options.into_iter().flatten().flat_map(|option| &mut option.name);
        for part in parts.filter(|part| part.is_extension) {
            self.written_out(&mut part.name_part, scope, Kind::Extension);
        }
    }

    fn written_out(&self, name: &mut String, scope: &str, kind: Kind) {
        if name.starts_with('.') {
            return;
        }
        if let Some(full_name) = self.symbols.find(name, scope, kind, self.visible) {
            *name = format!(".{full_name}");
        }
    }
}
