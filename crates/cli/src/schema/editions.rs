//! Files with `edition = ".."` as files of the older syntaxes.
//!
//! The pool knows proto2 and proto3 only, and servers do send editions through reflection. What editions say
//! about the wire and about JSON can be said in proto2 as well: packing by an option, required by a label,
//! delimited messages as groups. Only implicit presence cannot; such fields count as having presence, which shows
//! in nothing but `--emit-defaults`.

use prost::Message;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    field_descriptor_proto::{Label, Type},
};

/// The same file in proto2 if it has an edition; any other file as it is.
///
/// A rewritten file loses the options of the user's own extensions, which only `describe` would show.
pub(super) fn lower(bytes: Vec<u8>) -> Result<Vec<u8>, prost::DecodeError> {
    let mut file = FileDescriptorProto::decode(bytes.as_slice())?;
    if file.syntax() != "editions" {
        return Ok(bytes);
    }
    let features = FileFeatures::decode(bytes.as_slice())?;
    let at_file = Resolved::DEFAULT.with(features.options.and_then(|options| options.features));
    file.syntax = Some("proto2".to_owned());
    for (message, features) in file.message_type.iter_mut().zip(&features.messages) {
        lower_message(message, features, at_file);
    }
    for (field, features) in file.extension.iter_mut().zip(&features.extensions) {
        lower_field(field, at_file.with(features.own()));
    }
    Ok(file.encode_to_vec())
}

fn lower_message(message: &mut DescriptorProto, features: &MessageFeatures, outer: Resolved) {
    let here = outer.with(features.options.and_then(|options| options.features));
    for (field, field_features) in message.field.iter_mut().zip(&features.fields) {
        let oneof = field.oneof_index.and_then(|index| features.oneofs.get(usize::try_from(index).ok()?));
        let around = here.with(oneof.and_then(|oneof| oneof.options?.features));
        lower_field(field, around.with(field_features.own()));
    }
    for (field, field_features) in message.extension.iter_mut().zip(&features.extensions) {
        lower_field(field, here.with(field_features.own()));
    }
    for (nested, nested_features) in message.nested_type.iter_mut().zip(&features.nested) {
        lower_message(nested, nested_features, here);
    }
}

fn lower_field(field: &mut FieldDescriptorProto, features: Resolved) {
    if field.label() == Label::Repeated {
        let packable = !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message | Type::Group);
        if packable {
            field.options.get_or_insert_default().packed = Some(features.packed);
        }
    } else if features.required {
        field.set_label(Label::Required);
    }
    if field.r#type() == Type::Message && features.delimited {
        field.set_type(Type::Group);
    }
}

/// The features that matter here, as they hold at one place.
#[derive(Clone, Copy)]
struct Resolved {
    required: bool,
    packed: bool,
    delimited: bool,
}

impl Resolved {
    /// Of edition 2023 and those after it up to now.
    const DEFAULT: Self = Self { required: false, packed: true, delimited: false };

    /// With what a definition says about itself.
    fn with(self, own: Option<Features>) -> Self {
        let Some(own) = own else { return self };
        Self {
            required: own.field_presence.map_or(self.required, |presence| presence == LEGACY_REQUIRED),
            packed: own.repeated_field_encoding.map_or(self.packed, |encoding| encoding == PACKED),
            delimited: own.message_encoding.map_or(self.delimited, |encoding| encoding == DELIMITED),
        }
    }
}

/// Values of the enums inside of `google.protobuf.FeatureSet`.
const LEGACY_REQUIRED: i32 = 3;
const PACKED: i32 = 1;
const DELIMITED: i32 = 2;

// The features within a file descriptor, in the shape of its definitions: the types of prost leave them out.

#[derive(Clone, PartialEq, Message)]
struct FileFeatures {
    #[prost(message, repeated, tag = "4")]
    messages: Vec<MessageFeatures>,
    #[prost(message, repeated, tag = "7")]
    extensions: Vec<FieldFeatures>,
    #[prost(message, optional, tag = "8")]
    options: Option<FileOptions>,
}

#[derive(Clone, PartialEq, Message)]
struct MessageFeatures {
    #[prost(message, repeated, tag = "2")]
    fields: Vec<FieldFeatures>,
    #[prost(message, repeated, tag = "3")]
    nested: Vec<MessageFeatures>,
    #[prost(message, repeated, tag = "6")]
    extensions: Vec<FieldFeatures>,
    #[prost(message, optional, tag = "7")]
    options: Option<MessageOptions>,
    #[prost(message, repeated, tag = "8")]
    oneofs: Vec<OneofFeatures>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldFeatures {
    #[prost(message, optional, tag = "8")]
    options: Option<FieldOptions>,
}

impl FieldFeatures {
    fn own(&self) -> Option<Features> {
        self.options?.features
    }
}

#[derive(Clone, PartialEq, Message)]
struct OneofFeatures {
    #[prost(message, optional, tag = "2")]
    options: Option<OneofOptions>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct FileOptions {
    #[prost(message, optional, tag = "50")]
    features: Option<Features>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct MessageOptions {
    #[prost(message, optional, tag = "12")]
    features: Option<Features>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct FieldOptions {
    #[prost(message, optional, tag = "21")]
    features: Option<Features>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct OneofOptions {
    #[prost(message, optional, tag = "1")]
    features: Option<Features>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Features {
    #[prost(int32, optional, tag = "1")]
    field_presence: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    repeated_field_encoding: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    message_encoding: Option<i32>,
}

#[cfg(test)]
mod tests {
    use prost_types::FieldOptions as ProstOptions;

    use super::*;

    fn field(name: &str, number: i32, label: Label, r#type: Type) -> FieldDescriptorProto {
        FieldDescriptorProto {
            name: Some(name.into()),
            number: Some(number),
            label: Some(label.into()),
            r#type: Some(r#type.into()),
            type_name: (r#type == Type::Message).then(|| ".M".to_owned()),
            ..Default::default()
        }
    }

    /// A file in an edition whose only message has the given fields, each with its own features; `file_features`
    /// are those of the file. Encoded definitions and encoded features are merged field by field, as protobuf does.
    fn edition_file(fields: &[(FieldDescriptorProto, Features)], file_features: Features) -> Vec<u8> {
        let mut message = DescriptorProto { name: Some("M".into()), ..Default::default() }.encode_to_vec();
        for (field, features) in fields {
            let mut bytes = field.encode_to_vec();
            let own = FieldFeatures { options: Some(FieldOptions { features: Some(*features) }) };
            bytes.extend(own.encode_to_vec());
            prost::encoding::bytes::encode(2, &bytes, &mut message);
        }
        let file = FileDescriptorProto {
            name: Some("e.proto".into()),
            syntax: Some("editions".into()),
            ..Default::default()
        };
        let mut bytes = file.encode_to_vec();
        prost::encoding::bytes::encode(4, &message, &mut bytes);
        let options = FileFeatures {
            options: Some(FileOptions { features: Some(file_features) }),
            ..FileFeatures::default()
        };
        bytes.extend(options.encode_to_vec());
        bytes
    }

    fn lowered(
        fields: &[(FieldDescriptorProto, Features)],
        file_features: Features,
    ) -> Vec<FieldDescriptorProto> {
        let bytes = lower(edition_file(fields, file_features)).unwrap();
        let file = FileDescriptorProto::decode(bytes.as_slice()).unwrap();
        assert_eq!(file.syntax(), "proto2");
        // The pool must take it.
        let mut pool = prost_reflect::DescriptorPool::new();
        pool.add_file_descriptor_proto(file.clone()).unwrap();
        file.message_type[0].field.clone()
    }

    fn packed(field: &FieldDescriptorProto) -> Option<bool> {
        field.options.as_ref().and_then(|options: &ProstOptions| options.packed)
    }

    #[test]
    fn defaults_of_the_edition_hold_and_fields_overrule_the_file() {
        let expanded = Features { repeated_field_encoding: Some(2), ..Features::default() };
        let fields = [
            (field("a", 1, Label::Repeated, Type::Int32), Features::default()),
            (field("b", 2, Label::Repeated, Type::Int32), expanded),
            (field("c", 3, Label::Repeated, Type::String), Features::default()),
        ];
        let out = lowered(&fields, Features::default());
        assert_eq!([packed(&out[0]), packed(&out[1]), packed(&out[2])], [Some(true), Some(false), None]);
        let out = lowered(&fields[..1], expanded);
        assert_eq!(packed(&out[0]), Some(false));
    }

    #[test]
    fn required_and_delimited_become_label_and_group() {
        let fields = [
            (
                field("a", 1, Label::Optional, Type::String),
                Features { field_presence: Some(3), ..Features::default() },
            ),
            (
                field("m", 2, Label::Optional, Type::Message),
                Features { message_encoding: Some(2), ..Features::default() },
            ),
        ];
        let out = lowered(&fields, Features::default());
        assert_eq!((out[0].label(), out[1].r#type()), (Label::Required, Type::Group));
    }

    #[test]
    fn other_files_are_left_alone() {
        let file =
            FileDescriptorProto { syntax: Some("proto3".into()), ..Default::default() }.encode_to_vec();
        assert_eq!(lower(file.clone()).unwrap(), file);
    }
}
