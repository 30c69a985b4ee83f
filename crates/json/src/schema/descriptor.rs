//! Descriptors as they are encoded, of which only what JSON needs is read.

use crate::wire::{Fields, Malformed, RawValue};

/// `google.protobuf.FileDescriptorProto`.
#[derive(Debug, Default)]
pub(super) struct File<'a> {
    pub(super) package: &'a str,
    pub(super) syntax: &'a str,
    pub(super) edition: u64,
    pub(super) features: &'a [u8],
    pub(super) messages: Vec<Message<'a>>,
    pub(super) enums: Vec<Enum<'a>>,
    pub(super) extensions: Vec<Field<'a>>,
    pub(super) services: Vec<Service<'a>>,
}

/// `google.protobuf.DescriptorProto`.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) name: &'a str,
    pub(super) fields: Vec<Field<'a>>,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) enums: Vec<Enum<'a>>,
    pub(super) extensions: Vec<Field<'a>>,
    /// The features of each oneof.
    pub(super) oneofs: Vec<&'a [u8]>,
    pub(super) is_map_entry: bool,
    pub(super) features: &'a [u8],
}

/// `google.protobuf.FieldDescriptorProto`.
#[derive(Debug, Default)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) extendee: &'a str,
    pub(super) number: u64,
    pub(super) label: u64,
    pub(super) kind: u64,
    pub(super) type_name: &'a str,
    pub(super) oneof: Option<u64>,
    pub(super) json_name: Option<&'a str>,
    pub(super) is_proto3_optional: bool,
    pub(super) packed: Option<bool>,
    pub(super) features: &'a [u8],
}

/// `google.protobuf.EnumDescriptorProto`.
#[derive(Debug, Default)]
pub(super) struct Enum<'a> {
    pub(super) name: &'a str,
    pub(super) values: Vec<(&'a str, i32)>,
    pub(super) features: &'a [u8],
}

/// `google.protobuf.ServiceDescriptorProto`.
#[derive(Debug, Default)]
pub(super) struct Service<'a> {
    pub(super) name: &'a str,
    pub(super) methods: Vec<Method<'a>>,
}

/// `google.protobuf.MethodDescriptorProto`.
#[derive(Debug, Default)]
pub(super) struct Method<'a> {
    pub(super) name: &'a str,
    pub(super) input: &'a str,
    pub(super) output: &'a str,
}

/// The files of an encoded `google.protobuf.FileDescriptorSet`.
pub(super) fn files(set: &[u8]) -> Result<Vec<File<'_>>, Malformed> {
    let mut files = Vec::new();
    each(set, |number, value| {
        if number == 1 {
            files.push(file(value.bytes()?)?);
        }
        Ok(())
    })?;
    Ok(files)
}

fn file(bytes: &[u8]) -> Result<File<'_>, Malformed> {
    let mut file = File::default();
    each(bytes, |number, value| {
        match number {
            2 => file.package = value.text()?,
            4 => file.messages.push(message(value.bytes()?, NESTED_AT_MOST)?),
            5 => file.enums.push(enumeration(value.bytes()?)?),
            6 => file.services.push(service(value.bytes()?)?),
            7 => file.extensions.push(field(value.bytes()?)?),
            8 => file.features = option(value.bytes()?, 50)?,
            12 => file.syntax = value.text()?,
            14 => file.edition = value.number()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(file)
}

fn message(bytes: &[u8], nested: u32) -> Result<Message<'_>, Malformed> {
    let nested = nested.checked_sub(1).ok_or(Malformed)?;
    let mut out = Message::default();
    each(bytes, |number, value| {
        match number {
            1 => out.name = value.text()?,
            2 => out.fields.push(field(value.bytes()?)?),
            3 => out.messages.push(message(value.bytes()?, nested)?),
            4 => out.enums.push(enumeration(value.bytes()?)?),
            6 => out.extensions.push(field(value.bytes()?)?),
            7 => {
                let options = value.bytes()?;
                out.features = option(options, 12)?;
                each(options, |number, value| {
                    if number == 7 {
                        out.is_map_entry = value.number()? != 0;
                    }
                    Ok(())
                })?;
            }
            8 => {
                let mut features: &[u8] = &[];
                each(value.bytes()?, |number, value| {
                    if number == 2 {
                        features = option(value.bytes()?, 1)?;
                    }
                    Ok(())
                })?;
                out.oneofs.push(features);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

fn field(bytes: &[u8]) -> Result<Field<'_>, Malformed> {
    let mut field = Field::default();
    each(bytes, |number, value| {
        match number {
            1 => field.name = value.text()?,
            2 => field.extendee = value.text()?,
            3 => field.number = value.number()?,
            4 => field.label = value.number()?,
            5 => field.kind = value.number()?,
            6 => field.type_name = value.text()?,
            8 => {
                let options = value.bytes()?;
                field.features = option(options, 21)?;
                each(options, |number, value| {
                    if number == 2 {
                        field.packed = Some(value.number()? != 0);
                    }
                    Ok(())
                })?;
            }
            9 => field.oneof = Some(value.number()?),
            10 => field.json_name = Some(value.text()?),
            17 => field.is_proto3_optional = value.number()? != 0,
            _ => {}
        }
        Ok(())
    })?;
    Ok(field)
}

fn enumeration(bytes: &[u8]) -> Result<Enum<'_>, Malformed> {
    let mut out = Enum::default();
    each(bytes, |number, value| {
        match number {
            1 => out.name = value.text()?,
            2 => {
                let mut entry = ("", 0);
                each(value.bytes()?, |number, value| {
                    match number {
                        1 => entry.0 = value.text()?,
                        2 => entry.1 = value.number()? as i32,
                        _ => {}
                    }
                    Ok(())
                })?;
                out.values.push(entry);
            }
            3 => out.features = option(value.bytes()?, 7)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(out)
}

fn service(bytes: &[u8]) -> Result<Service<'_>, Malformed> {
    let mut service = Service::default();
    each(bytes, |number, value| {
        match number {
            1 => service.name = value.text()?,
            2 => {
                let mut method = Method::default();
                each(value.bytes()?, |number, value| {
                    match number {
                        1 => method.name = value.text()?,
                        2 => method.input = value.text()?,
                        3 => method.output = value.text()?,
                        _ => {}
                    }
                    Ok(())
                })?;
                service.methods.push(method);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(service)
}

/// The last value of field `wanted` of an options message; empty if there is none.
fn option(options: &[u8], wanted: u32) -> Result<&[u8], Malformed> {
    let mut found: &[u8] = &[];
    each(options, |number, value| {
        if number == wanted {
            found = value.bytes()?;
        }
        Ok(())
    })?;
    Ok(found)
}

pub(super) fn each<'a>(
    message: &'a [u8],
    mut take: impl FnMut(u32, RawValue<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    for field in Fields::of(message) {
        let field = field?;
        take(field.number, field.value)?;
    }
    Ok(())
}

impl<'a> RawValue<'a> {
    pub(super) fn number(self) -> Result<u64, Malformed> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(Malformed),
        }
    }

    fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Delimited(bytes) => Ok(bytes),
            _ => Err(Malformed),
        }
    }

    fn text(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }
}

/// Messages declared inside of one another.
const NESTED_AT_MOST: u32 = 64;
