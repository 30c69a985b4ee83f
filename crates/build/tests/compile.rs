//! The ways in and out: build scripts, descriptor sets, plug-ins.

mod common;

use std::collections::BTreeSet;
use std::fs;

use common::{assert_has, generated, generated_with, protos};
use peregrine_build::{Codec, configure};
use prost::Message as _;
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};
use prost_types::{FileDescriptorProto, FileDescriptorSet};

const GREETER: &str = "syntax = \"proto3\";\npackage g;\n// Doc.\nmessage M { string s = 1; }\nservice S { rpc Do(M) returns (M); }\n";

#[test]
fn two_calls_for_one_file_are_refused() {
    let folder = protos(&[("a.proto", GREETER)]);
    let config = || configure().include(folder.path()).out_dir(folder.path().join("out")).emit_rerun(false);
    let path = folder.path().join("a.proto");
    config().compile(&*path).unwrap();
    let report = format!("{:?}", config().compile(&*path).unwrap_err());
    assert!(report.contains("both write peregrine.rs"), "{report}");
    config().name("admin").compile(&*path).unwrap();
    assert!(folder.path().join("out/admin.rs").is_file());
}

#[test]
fn an_unchanged_output_is_not_written_again() {
    let folder = protos(&[("a.proto", GREETER)]);
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let text = generated_with(configure(), &[("a.proto", GREETER)]).unwrap();
    fs::write(out.join("peregrine.rs"), text).unwrap();
    let mut permissions = fs::metadata(out.join("peregrine.rs")).unwrap().permissions();
    let before = fs::metadata(out.join("peregrine.rs")).unwrap().modified().unwrap();
    permissions.set_readonly(true);
    fs::set_permissions(out.join("peregrine.rs"), permissions).unwrap();
    configure()
        .include(folder.path())
        .out_dir(&out)
        .emit_rerun(false)
        .compile(folder.path().join("a.proto"))
        .unwrap();
    assert_eq!(fs::metadata(out.join("peregrine.rs")).unwrap().modified().unwrap(), before);
}

// bug-reports 93
#[test]
fn the_embedded_descriptors_hold_all_imports_and_no_source() {
    let folder = protos(&[
        (
            "a.proto",
            "syntax = \"proto3\"; import \"b.proto\"; import \"google/protobuf/any.proto\"; /* x */ message A { B b = 1; }",
        ),
        ("b.proto", "syntax = \"proto3\"; message B {}"),
    ]);
    let out = folder.path().join("out.binpb");
    configure()
        .include(folder.path())
        .out_dir(folder.path().join("out"))
        .descriptor_set_out(&out)
        .emit_rerun(false)
        .compile(folder.path().join("a.proto"))
        .unwrap();
    let set = FileDescriptorSet::decode(&*fs::read(out).unwrap()).unwrap();
    let names: Vec<&str> = set.file.iter().map(FileDescriptorProto::name).collect();
    assert_eq!(names, ["b.proto", "google/protobuf/any.proto", "a.proto"]);
    assert!(set.file.iter().all(|file| file.source_code_info.is_none()));
}

#[test]
fn a_descriptor_set_gives_the_same_text_as_the_proto() {
    let folder = protos(&[("a.proto", GREETER)]);
    let set = protox::compile([folder.path().join("a.proto")], [folder.path()]).unwrap().encode_to_vec();
    let files = configure().generate(&set).unwrap();
    assert_eq!(files[0].name, "peregrine.rs");
    assert_eq!(files[0].content, generated_with(configure(), &[("a.proto", GREETER)]).unwrap());
}

#[test]
fn a_descriptor_set_with_an_edition_is_generated() {
    let mut file = FileDescriptorProto { name: Some("a.proto".into()), ..FileDescriptorProto::default() };
    let field = prost_types::FieldDescriptorProto {
        name: Some("x".into()),
        number: Some(1),
        label: Some(1),
        r#type: Some(5),
        ..Default::default()
    };
    let message =
        prost_types::DescriptorProto { name: Some("m".into()), field: vec![field], ..Default::default() };
    file.message_type.push(message);
    file.syntax = Some("editions".into());
    // `edition = EDITION_2023`, a field newer than the type at hand.
    let mut bytes = file.encode_to_vec();
    bytes.extend_from_slice(&[0x70, 0xe8, 0x07]);
    let mut set = vec![0x0a, bytes.len() as u8];
    set.extend_from_slice(&bytes);
    // Presence is explicit in edition 2023, unlike in proto3. The small letter makes the generator rename.
    let text = &configure().generate(&set).unwrap()[0].content;
    assert_has(text, "pub struct M {");
    assert_has(text, "pub x: ::core::option::Option<i32>");
    let report = format!("{:?}", configure().codec(Codec::Prost).generate(&set).unwrap_err());
    assert!(report.contains("prost"), "{report}");
}

#[test]
fn a_set_without_its_imports_is_refused() {
    let file = FileDescriptorProto {
        name: Some("a.proto".into()),
        dependency: vec!["b.proto".into()],
        ..FileDescriptorProto::default()
    };
    let set = FileDescriptorSet { file: vec![file] }.encode_to_vec();
    let report = format!("{:?}", configure().generate(&set).unwrap_err());
    assert!(report.contains("lacks b.proto, which a.proto imports"), "{report}");
    assert!(report.contains("--include_imports"), "{report}");
}

#[test]
fn broken_descriptor_sets_are_refused() {
    for bytes in [&b""[..], b"\x0a", b"\x0a\x05abc", b"nonsense"] {
        assert!(configure().generate(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn the_plug_in_answers_with_the_file_or_the_report() {
    let folder = protos(&[("a.proto", GREETER)]);
    let set = protox::compile([folder.path().join("a.proto")], [folder.path()]).unwrap();
    let mut request = CodeGeneratorRequest {
        file_to_generate: vec!["a.proto".into()],
        parameter: Some("no_client,name=pb".into()),
        proto_file: set.file,
        ..CodeGeneratorRequest::default()
    };
    let answer = |request: &CodeGeneratorRequest| {
        CodeGeneratorResponse::decode(&*peregrine_build::plugin::run(&request.encode_to_vec()).unwrap())
            .unwrap()
    };
    let response = answer(&request);
    assert_eq!(response.error, None);
    assert_eq!(response.file[0].name(), "pb.rs");
    assert_has(response.file[0].content(), "pub struct SServer<T>");
    assert!(!response.file[0].content().contains("SClient"));

    request.parameter = Some("no_clients".into());
    assert!(answer(&request).error().contains("\"no_clients\" is not understood"));
    assert!(peregrine_build::plugin::run(b"\xff").is_err());
}

#[test]
fn extern_paths_replace_packages() {
    let files = [
        (
            "a.proto",
            "syntax = \"proto3\"; package a; import \"b.proto\"; message A { b.v1.B b = 1; } service S { rpc M(b.v1.B) returns (A); }",
        ),
        ("b.proto", "syntax = \"proto3\"; package b.v1; message B {} service T {}"),
    ];
    for codec in [Codec::Buffa, Codec::Prost] {
        let config = configure().codec(codec).extern_path("b.v1", "::bee::v1");
        let text = generated_with(config, &files).unwrap();
        assert_has(&text, "::peregrine::rt::Request<::bee::v1::B>");
        assert!(!text.contains("pub struct B ") && !text.contains("TServer"), "{text}");
    }
}

#[test]
fn attributes_are_added() {
    for codec in [Codec::Buffa, Codec::Prost] {
        let config = configure()
            .codec(codec)
            .type_attribute("g.M", "#[derive(MyDerive)]")
            .field_attribute("g.M.s", "#[my(field)]");
        let text = generated_with(config, &[("a.proto", GREETER)]).unwrap();
        assert_has(&text, "#[derive(MyDerive)]");
        assert_has(&text, "#[my(field)] pub s:");
    }
}

#[test]
fn views_come_on_request() {
    assert!(!generated("message M { string s = 1; }").contains("MView"));
    let files = [("a.proto", "syntax = \"proto3\"; message M { string s = 1; }")];
    assert_has(&generated_with(configure().views(true), &files).unwrap(), "pub struct MView<'a>");
}

#[test]
fn handlers_take_views_where_asked() {
    let files = [("a.proto", GREETER)];
    let text = generated_with(configure().view_requests("g.S.Do"), &files).unwrap();
    assert_has(&text, "::peregrine::rt::Request<::peregrine::rt::View<self::M>>");
    let all = generated_with(configure().view_requests("."), &files).unwrap();
    // In the trait, and twice where its method is called.
    assert_eq!(all.matches("rt::View<").count(), 3);
    let slip = generated_with(configure().view_requests("g.S.Don"), &files).unwrap_err();
    assert_eq!(slip.to_string(), "view_requests(\"g.S.Don\") means no rpc of these protos");
    let prost = generated_with(configure().codec(Codec::Prost).views(true), &files).unwrap_err();
    assert_eq!(prost.to_string(), "prost has no views");
}

#[test]
fn prost_messages_lead_through_the_facade() {
    let text = generated_with(configure().codec(Codec::Prost), &[("a.proto", GREETER)]).unwrap();
    assert_has(&text, "#[derive(Clone, PartialEq, Eq, Hash, ::peregrine::rt::prost::Message)]");
    assert_has(&text, "#[prost(prost_path = \"::peregrine::rt::prost\")]");
    assert_has(&text, "::peregrine::rt::ProstCodec");
}

/// Roots of the absolute paths in a text: `core` of `<::core::...`.
fn path_roots(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("::").filter(|(at, _)| {
        let before = text[..*at].chars().next_back().unwrap_or(' ');
        !before.is_alphanumeric() && !matches!(before, '_' | '>' | ':')
    });
    let name =
        |(at, _): (usize, &'_ str)| text[at + 2..].split(|c: char| !c.is_alphanumeric() && c != '_').next();
    starts.filter_map(name).filter(|name| !name.is_empty()).collect()
}

// wire-rules G1: whoever depends on the facade alone can compile what was generated.
#[test]
fn generated_code_names_the_facade_and_the_standard_library_only() {
    let proto = "syntax = \"proto3\"; package p; import \"google/protobuf/any.proto\";
        message M { bytes b = 1; map<string, M> m = 2; google.protobuf.Any any = 3; oneof o { E e = 4; M n = 5; } }
        enum E { E_A = 0; }
        service S { rpc A(M) returns (M); rpc B(stream M) returns (stream M); }";
    for codec in [Codec::Buffa, Codec::Prost] {
        let text = generated_with(configure().codec(codec), &[("a.proto", proto)]).unwrap();
        let known = BTreeSet::from(["core", "std", "alloc", "peregrine"]);
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let roots = path_roots(&code);
        assert!(roots.contains("peregrine") && roots.is_subset(&known), "{codec}: {roots:?}");
    }
}

#[test]
fn options_that_make_no_sense_are_errors() {
    for config in [configure().name("a/b"), configure().name(""), configure().runtime_path("1x")] {
        assert!(generated_with(config, &[("a.proto", GREETER)]).is_err());
    }
    assert!("prots".parse::<Codec>().is_err());
}

#[test]
fn a_descriptor_set_keeps_comments_and_reads_like_a_build() {
    let folder = protos(&[("a.proto", GREETER)]);
    let config = || configure().relative_to(folder.path());
    let set = config().descriptor_set("a.proto").unwrap();
    let decoded = FileDescriptorSet::decode(set.as_slice()).unwrap();
    assert!(decoded.file[0].source_code_info.is_some());
    let text = config().generate(&set).unwrap().remove(0).content;
    assert_has(&text, "pub trait S");
    assert_has(&text, "/// Doc.");
}

#[test]
fn source_info_with_gaps_is_enough() {
    let folder = protos(&[("a.proto", GREETER)]);
    let config = || configure().relative_to(folder.path());
    let set = config().descriptor_set("a.proto").unwrap();
    let mut set = FileDescriptorSet::decode(set.as_slice()).unwrap();
    let locations = &mut set.file[0].source_code_info.as_mut().unwrap().location;
    locations.retain(|location| location.leading_comments.is_some());
    assert_eq!(locations.len(), 1);
    for codec in [Codec::Buffa, Codec::Prost] {
        let text = config().codec(codec).generate(&set.encode_to_vec()).unwrap().remove(0).content;
        assert_has(&text, "/// Doc.");
    }
}

#[test]
fn an_error_can_be_taken_apart() {
    let folder = protos(&[("a.proto", "syntax = \"proto3\";\nmessage M { Nix n = 1; }\n")]);
    let error = configure().relative_to(folder.path()).descriptor_set("a.proto").unwrap_err();
    assert!(error.message().contains("Nix"), "{error}");
    let place = error.place().unwrap();
    assert_eq!((place.line, place.column, place.width), (2, 13, 3));
    assert_eq!(place.source_line, "message M { Nix n = 1; }");
    assert!(error.next_step().is_some());
}
