//! From descriptors to a [`Schema`]: names become places, features become facts.

use std::collections::HashMap;
use std::fmt;

use super::descriptor::{self, File};
use super::features::Features;
use super::{Enum, EnumId, Field, Kind, Message, MessageId, Schema, Shape, Special};
use crate::wire::Malformed;

/// Why bytes are no descriptor set that a schema can be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    Malformed,
    /// `user` names a type that the set does not have.
    MissingType {
        user: String,
        name: String,
    },
    /// A field has a number, a type or a oneof that cannot be.
    BadField {
        name: String,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("the bytes are no google.protobuf.FileDescriptorSet"),
            Self::MissingType { user, name } => {
                write!(f, "{user} uses the type {name}, which the descriptor set does not have")
            }
            Self::BadField { name } => write!(f, "the field {name} of the descriptor set makes no sense"),
        }
    }
}

impl std::error::Error for LinkError {}

impl From<Malformed> for LinkError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl Schema {
    /// From an encoded `google.protobuf.FileDescriptorSet` that has all imports.
    pub(crate) fn parse(set: &[u8]) -> Result<Self, LinkError> {
        let files = descriptor::files(set)?;
        let mut linker = Linker::default();
        for file in &files {
            linker.declare_file(file)?;
        }
        for file in &files {
            linker.link_file(file)?;
        }
        linker.finish()
    }
}

/// A type by its full name.
#[derive(Clone, Copy, Debug)]
enum TypeId {
    Message(MessageId),
    Enum(EnumId),
}

#[derive(Debug, Default)]
struct Linker {
    schema: Schema,
    types: HashMap<Box<str>, TypeId>,
    /// Entries of maps, which are fields that repeat such a message.
    map_entries: Vec<bool>,
    /// Extensions by what they extend.
    extensions: Vec<(MessageId, Field)>,
}

impl Linker {
    /// First round: every name gets its place.
    fn declare_file(&mut self, file: &File<'_>) -> Result<(), LinkError> {
        let features = Features::of(file)?;
        for message in &file.messages {
            self.declare_message(message, file.package, features)?;
        }
        file.enums.iter().try_for_each(|declared| self.declare_enum(declared, file.package, features))
    }

    fn declare_message(
        &mut self,
        message: &descriptor::Message<'_>,
        scope: &str,
        features: Features,
    ) -> Result<(), LinkError> {
        let full_name = joined(scope, message.name);
        let features = features.with(message.features)?;
        let id = MessageId(self.schema.messages.len() as u32);
        self.types.insert(full_name.as_str().into(), TypeId::Message(id));
        self.schema.by_name.insert(full_name.as_str().into(), id);
        self.map_entries.push(message.is_map_entry);
        self.schema.messages.push(Message {
            special: special(&full_name),
            full_name: full_name.as_str().into(),
            fields: Vec::new(),
            names: HashMap::new(),
        });
        for nested in &message.messages {
            self.declare_message(nested, &full_name, features)?;
        }
        message.enums.iter().try_for_each(|nested| self.declare_enum(nested, &full_name, features))
    }

    fn declare_enum(
        &mut self,
        declared: &descriptor::Enum<'_>,
        scope: &str,
        features: Features,
    ) -> Result<(), LinkError> {
        let full_name = joined(scope, declared.name);
        let features = features.with(declared.features)?;
        let mut names: Vec<(i32, Box<str>)> =
            declared.values.iter().map(|&(name, number)| (number, name.into())).collect();
        // Stable: of several names for a number the first one stays.
        names.sort_by_key(|(number, _)| *number);
        names.dedup_by_key(|(number, _)| *number);
        self.types.insert(full_name.as_str().into(), TypeId::Enum(EnumId(self.schema.enums.len() as u32)));
        self.schema.enums.push(Enum {
            is_null: full_name == "google.protobuf.NullValue",
            full_name: full_name.into(),
            numbers: declared.values.iter().map(|&(name, number)| (name.into(), number)).collect(),
            names,
            is_closed: features.closed_enums,
            default: declared.values.first().map_or(0, |&(_, number)| number),
        });
        Ok(())
    }

    /// Second round: fields, whose types all have a place by now.
    fn link_file(&mut self, file: &File<'_>) -> Result<(), LinkError> {
        let features = Features::of(file)?;
        for message in &file.messages {
            self.link_message(message, file.package, features)?;
        }
        self.link_extensions(&file.extensions, file.package, features)?;
        for service in &file.services {
            let service_name = joined(file.package, service.name);
            for method in &service.methods {
                let path = format!("{service_name}/{}", method.name);
                let types = (self.message(&path, method.input)?, self.message(&path, method.output)?);
                self.schema.methods.insert(path.into(), types);
            }
        }
        Ok(())
    }

    fn link_message(
        &mut self,
        message: &descriptor::Message<'_>,
        scope: &str,
        features: Features,
    ) -> Result<(), LinkError> {
        let full_name = joined(scope, message.name);
        let features = features.with(message.features)?;
        let mut fields = Vec::with_capacity(message.fields.len());
        for field in &message.fields {
            let around = match field.oneof.map(|oneof| message.oneofs.get(oneof as usize)) {
                None => features,
                Some(Some(of_oneof)) => features.with(of_oneof)?,
                Some(None) => {
                    return Err(LinkError::BadField { name: joined(&full_name, field.name) });
                }
            };
            fields.push(self.field(field, &full_name, around, message.is_map_entry)?);
        }
        let id = self.message(&full_name, &full_name)?;
        self.schema.messages[id.0 as usize].fields = fields;
        for nested in &message.messages {
            self.link_message(nested, &full_name, features)?;
        }
        self.link_extensions(&message.extensions, &full_name, features)
    }

    fn link_extensions(
        &mut self,
        extensions: &[descriptor::Field<'_>],
        scope: &str,
        features: Features,
    ) -> Result<(), LinkError> {
        for extension in extensions {
            let full_name = joined(scope, extension.name);
            let extended = self.message(&full_name, extension.extendee)?;
            let mut field = self.field(extension, scope, features, false)?;
            // A oneof is of the message that declares the field.
            field.oneof = None;
            field.name = format!("[{full_name}]").into();
            field.json_name = field.name.clone();
            self.extensions.push((extended, field));
        }
        Ok(())
    }

    fn field(
        &self,
        field: &descriptor::Field<'_>,
        scope: &str,
        features: Features,
        is_in_map_entry: bool,
    ) -> Result<Field, LinkError> {
        let bad = || LinkError::BadField { name: joined(scope, field.name) };
        let features = features.with(field.features)?;
        let number = u32::try_from(field.number).ok().filter(|&number| 0 < number && number < 1 << 29);
        let number = number.ok_or_else(bad)?;
        // Entries of maps are never delimited, whatever the file says.
        let delimited = features.delimited && !is_in_map_entry;
        let mut kind = self.kind(field, scope, delimited)?.ok_or_else(bad)?;
        let shape = if field.label == REPEATED {
            match kind.message() {
                Some(id) if self.map_entries[id.0 as usize] => {
                    kind = Kind::Message(id);
                    Shape::Map
                }
                _ => {
                    Shape::Repeated { packed: kind.is_packable() && field.packed.unwrap_or(features.packed) }
                }
            }
        } else {
            let implicit = features.implicit_presence
                && field.oneof.is_none()
                && !field.is_proto3_optional
                && field.extendee.is_empty()
                && field.label != REQUIRED
                && kind.message().is_none();
            Shape::Singular { implicit }
        };
        Ok(Field {
            number,
            name: field.name.into(),
            json_name: field.json_name.map_or_else(|| json_name(field.name), str::to_owned).into(),
            kind,
            shape,
            oneof: field.oneof.filter(|_| !field.is_proto3_optional).map(|oneof| oneof as usize),
        })
    }

    fn kind(
        &self,
        field: &descriptor::Field<'_>,
        scope: &str,
        delimited: bool,
    ) -> Result<Option<Kind>, LinkError> {
        let message = |id| if delimited { Kind::Group(id) } else { Kind::Message(id) };
        let user = || joined(scope, field.name);
        Ok(Some(match field.kind {
            1 => Kind::Double,
            2 => Kind::Float,
            3 => Kind::Int64,
            4 => Kind::Uint64,
            5 => Kind::Int32,
            6 => Kind::Fixed64,
            7 => Kind::Fixed32,
            8 => Kind::Bool,
            9 => Kind::String,
            10 => Kind::Group(self.message(&user(), field.type_name)?),
            11 => message(self.message(&user(), field.type_name)?),
            12 => Kind::Bytes,
            13 => Kind::Uint32,
            // A type without a kind is told by its name.
            0 | 14 => match self.named(&user(), field.type_name)? {
                TypeId::Enum(id) => Kind::Enum(id),
                TypeId::Message(id) if field.kind == 0 => message(id),
                TypeId::Message(_) => return Ok(None),
            },
            15 => Kind::Sfixed32,
            16 => Kind::Sfixed64,
            17 => Kind::Sint32,
            18 => Kind::Sint64,
            _ => return Ok(None),
        }))
    }

    fn message(&self, user: &str, name: &str) -> Result<MessageId, LinkError> {
        match self.named(user, name)? {
            TypeId::Message(id) => Ok(id),
            TypeId::Enum(_) => Err(missing(user, name)),
        }
    }

    /// A type by its full name, as compilers write it, with a dot in front.
    fn named(&self, user: &str, name: &str) -> Result<TypeId, LinkError> {
        let found = self.types.get(name.strip_prefix('.').unwrap_or(name));
        found.copied().ok_or_else(|| missing(user, name))
    }

    fn finish(mut self) -> Result<Schema, LinkError> {
        for (extended, field) in self.extensions {
            self.schema.messages[extended.0 as usize].fields.push(field);
        }
        for message in &mut self.schema.messages {
            message.fields.sort_by_key(|field| field.number);
            if let Some(twins) = message.fields.windows(2).find(|pair| pair[0].number == pair[1].number) {
                return Err(LinkError::BadField { name: joined(&message.full_name, &twins[1].name) });
            }
            let fields = message.fields.iter().enumerate();
            message.names = fields.clone().map(|(place, field)| (field.name.clone(), place)).collect();
            // Where they collide, the JSON name is the one that is printed, and so the one that is read.
            message.names.extend(fields.map(|(place, field)| (field.json_name.clone(), place)));
        }
        Ok(self.schema)
    }
}

fn missing(user: &str, name: &str) -> LinkError {
    LinkError::MissingType { user: user.to_owned(), name: name.trim_start_matches('.').to_owned() }
}

fn joined(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

/// `lowerCamelCase` as compilers make it of a field's name: underscores go, what follows one is a capital.
fn json_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut capital = false;
    for letter in name.chars() {
        if letter == '_' {
            capital = true;
        } else {
            out.push(if capital { letter.to_ascii_uppercase() } else { letter });
            capital = false;
        }
    }
    out
}

fn special(full_name: &str) -> Option<Special> {
    Some(match full_name.strip_prefix("google.protobuf.")? {
        "Any" => Special::Any,
        "Timestamp" => Special::Timestamp,
        "Duration" => Special::Duration,
        "FieldMask" => Special::FieldMask,
        "Struct" => Special::Struct,
        "Value" => Special::Value,
        "ListValue" => Special::ListValue,
        "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value" | "UInt32Value"
        | "BoolValue" | "StringValue" | "BytesValue" => Special::Wrapper,
        _ => return None,
    })
}

/// `google.protobuf.FieldDescriptorProto.Label`.
const REQUIRED: u64 = 2;
const REPEATED: u64 = 3;
