//! Descriptor sets of files with `edition = "2023"`, as protoc and buf make them: the way around the built-in compiler,
//! which knows no editions.

mod common;

use buffa::Message as _;
use buffa_codegen::generated::descriptor::feature_set::{
    EnumType, FieldPresence, MessageEncoding, RepeatedFieldEncoding, Utf8Validation,
};
use buffa_codegen::generated::descriptor::field_descriptor_proto::{Label, Type};
use buffa_codegen::generated::descriptor::{
    DescriptorProto, Edition, EnumDescriptorProto, EnumOptions, EnumValueDescriptorProto, FeatureSet,
    FieldDescriptorProto, FieldOptions, FileDescriptorProto, FileDescriptorSet, FileOptions,
    MethodDescriptorProto, ServiceDescriptorProto,
};
use common::{assert_has, assert_lacks};
use peregrine_build::{Codec, Error, configure};

fn field(name: &str, number: i32, label: Label, ty: Type, features: FeatureSet) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(label),
        r#type: Some(ty),
        options: FieldOptions { features: features.into(), ..Default::default() }.into(),
        ..Default::default()
    }
}

fn typed(name: &str, number: i32, ty: Type, type_name: &str, features: FeatureSet) -> FieldDescriptorProto {
    let field = field(name, number, Label::LABEL_OPTIONAL, ty, features);
    FieldDescriptorProto { type_name: Some(type_name.into()), ..field }
}

fn enumeration(name: &str, values: &[(&str, i32)], features: FeatureSet) -> EnumDescriptorProto {
    let value = |&(name, number): &(&str, i32)| EnumValueDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        ..Default::default()
    };
    EnumDescriptorProto {
        name: Some(name.into()),
        value: values.iter().map(value).collect(),
        options: EnumOptions { features: features.into(), ..Default::default() }.into(),
        ..Default::default()
    }
}

/// `edition = "2023"; package e;`, one message with a field for each feature, and a service.
fn set(file_features: FeatureSet) -> Vec<u8> {
    let none = FeatureSet::default;
    let presence = |presence| FeatureSet { field_presence: Some(presence), ..none() };
    let repeated = |encoding| FeatureSet { repeated_field_encoding: Some(encoding), ..none() };
    let encoding = |encoding| FeatureSet { message_encoding: Some(encoding), ..none() };
    let optional = Label::LABEL_OPTIONAL;
    let fields = vec![
        field("explicit", 1, optional, Type::TYPE_INT32, none()),
        field("implicit", 2, optional, Type::TYPE_INT32, presence(FieldPresence::IMPLICIT)),
        field("required", 3, optional, Type::TYPE_INT32, presence(FieldPresence::LEGACY_REQUIRED)),
        field("packed", 4, Label::LABEL_REPEATED, Type::TYPE_INT32, none()),
        field(
            "expanded",
            5,
            Label::LABEL_REPEATED,
            Type::TYPE_INT32,
            repeated(RepeatedFieldEncoding::EXPANDED),
        ),
        typed("prefixed", 6, Type::TYPE_MESSAGE, ".e.M", none()),
        typed("delimited", 7, Type::TYPE_MESSAGE, ".e.M", encoding(MessageEncoding::DELIMITED)),
        typed("open", 8, Type::TYPE_ENUM, ".e.Open", none()),
        typed("closed", 9, Type::TYPE_ENUM, ".e.Closed", none()),
        field(
            "unchecked",
            10,
            optional,
            Type::TYPE_STRING,
            FeatureSet { utf8_validation: Some(Utf8Validation::NONE), ..none() },
        ),
    ];
    let rpc = MethodDescriptorProto {
        name: Some("Do".into()),
        input_type: Some(".e.M".into()),
        output_type: Some(".e.M".into()),
        ..Default::default()
    };
    let file = FileDescriptorProto {
        name: Some("e.proto".into()),
        package: Some("e".into()),
        syntax: Some("editions".into()),
        edition: Some(Edition::EDITION_2023),
        options: FileOptions { features: file_features.into(), ..Default::default() }.into(),
        message_type: vec![DescriptorProto { name: Some("M".into()), field: fields, ..Default::default() }],
        enum_type: vec![
            enumeration("Open", &[("OPEN_ZERO", 0)], none()),
            enumeration(
                "Closed",
                &[("CLOSED_ONE", 1)],
                FeatureSet { enum_type: Some(EnumType::CLOSED), ..none() },
            ),
        ],
        service: vec![ServiceDescriptorProto {
            name: Some("S".into()),
            method: vec![rpc],
            ..Default::default()
        }],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file], ..Default::default() }.encode_to_vec()
}

fn generated(codec: Codec, set: &[u8]) -> Result<String, Error> {
    Ok(configure().codec(codec).generate(set)?.remove(0).content)
}

#[test]
fn every_feature_of_an_edition_is_kept_by_buffa() {
    let text = generated(Codec::Buffa, &set(FeatureSet::default())).unwrap();
    assert_has(&text, "pub explicit: ::core::option::Option<i32>,");
    assert_has(&text, "pub implicit: i32,");
    assert_has(&text, "pub required: i32,");
    assert_has(&text, "pub open: ::core::option::Option<::peregrine::rt::buffa::EnumValue<Open>>,");
    assert_has(&text, "pub closed: ::core::option::Option<Closed>,");
    // A delimited message is a group on the wire, between tags with the field's number.
    assert_has(&text, "StartGroup");
    assert_has(&text, "pub trait S: ");
    assert_has(&text, "path: \"/e.S/Do\"");
}

#[test]
fn features_of_a_file_are_the_defaults_of_its_fields() {
    let implicit = FeatureSet { field_presence: Some(FieldPresence::IMPLICIT), ..Default::default() };
    let text = generated(Codec::Buffa, &set(implicit)).unwrap();
    assert_has(&text, "pub explicit: i32,");
    let length_prefixed =
        FeatureSet { message_encoding: Some(MessageEncoding::LENGTH_PREFIXED), ..Default::default() };
    let text = generated(Codec::Buffa, &set(length_prefixed)).unwrap();
    assert_lacks(&text, "pub explicit: i32,");
}

#[test]
fn prost_says_that_it_knows_no_editions_and_which_codec_does() {
    let error = generated(Codec::Prost, &set(FeatureSet::default())).unwrap_err();
    assert!(error.message().contains("e.proto uses an edition"), "{error}");
    assert!(error.next_step().is_some_and(|next| next.contains("buffa")), "{error:?}");
}
