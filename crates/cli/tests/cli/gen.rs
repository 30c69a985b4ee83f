//! `gen`: code from protos, the check for CI, and the plug-in.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use prost::Message;
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};

use crate::process::{command, file, peregrine};

const PROTO: &str = "syntax = \"proto3\";\npackage a.v1;\nmessage Ask { string text = 1; }\nservice Asker { rpc Go(Ask) returns (Ask); }\n";

#[test]
fn generated_files_are_written_checked_and_found_stale() {
    let folder = tempfile::tempdir().unwrap();
    let proto = folder.path().join("ask.proto");
    fs::write(&proto, PROTO).unwrap();
    let out = folder.path().join("src/generated");
    let (proto_text, out_text) = (proto.to_str().unwrap(), out.to_str().unwrap());
    let generate = ["gen", proto_text, "--out", out_text];
    let check = ["gen", proto_text, "--out", out_text, "--check"];

    assert!(peregrine(&check).expect(1).out.starts_with("missing "));
    peregrine(&generate).expect(0).says(&["wrote ", "peregrine.rs"]);
    let code = fs::read_to_string(out.join("peregrine.rs")).unwrap();
    assert!(code.contains("pub trait Asker"), "{code}");
    assert_eq!(peregrine(&check).expect(0).out, "");
    peregrine(&generate).expect(0).says(&["unchanged "]);

    fs::write(&proto, PROTO.replace("Go(", "Come(")).unwrap();
    let run = peregrine(&check).expect(1);
    assert!(run.out.starts_with("stale "), "{}", run.out);
    run.says(&["without --check"]);
}

#[test]
fn both_codecs_are_generated_for() {
    let folder = tempfile::tempdir().unwrap();
    let proto = folder.path().join("ask.proto");
    fs::write(&proto, PROTO).unwrap();
    for (codec, marker) in [("buffa", "BuffaCodec"), ("prost", "ProstCodec")] {
        let out = folder.path().join(codec);
        peregrine(&["gen", proto.to_str().unwrap(), "--out", out.to_str().unwrap(), "--codec", codec])
            .expect(0);
        let code = fs::read_to_string(out.join("peregrine.rs")).unwrap();
        assert!(code.contains(marker), "{codec}");
    }
}

#[test]
fn every_option_of_the_build_script_is_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    let (proto, out) = (folder.path().join("ask.proto"), folder.path().join("out"));
    fs::write(&proto, PROTO).unwrap();
    let generated = |flags: &[&str]| {
        let command = ["gen", proto.to_str().unwrap(), "--out", out.to_str().unwrap()];
        peregrine(&[&command, flags].concat()).expect(0);
        fs::read_to_string(out.join("peregrine.rs")).unwrap()
    };
    let without = ["pub struct AskView<", "View<self::Ask>", "is not implemented", "#[mine]", "#[yours]"];
    let plain = generated(&[]);
    for text in without {
        assert!(!plain.contains(text), "{text}");
    }
    assert!(generated(&["--views"]).contains("pub struct AskView<"));
    assert!(generated(&["--view-requests", "a.v1.Asker"]).contains("View<self::Ask>"));
    assert!(generated(&["--default-unimplemented"]).contains("is not implemented"));
    assert!(generated(&["--type-attribute", ".=#[mine]"]).contains("#[mine]"));
    assert!(generated(&["--field-attribute", "a.v1.Ask.text=#[yours]"]).contains("#[yours]"));
    assert!(plain.contains("AskerServer") && !generated(&["--no-server"]).contains("AskerServer"));
    assert!(plain.contains("AskerClient") && !generated(&["--no-client"]).contains("AskerClient"));
    assert!(
        plain.contains("UnknownFields") && !generated(&["--no-unknown-fields"]).contains("UnknownFields")
    );
    let elsewhere = generated(&["--extern-path", "a.v1.Ask=::ours::Ask"]);
    assert!(elsewhere.contains("::peregrine::rt::Request<::ours::Ask>"), "{elsewhere}");
    peregrine(&["gen", "a.proto", "--extern-path", "a.v1"]).expect(2).says(&["write it as PATH=VALUE"]);
}

#[test]
fn a_descriptor_set_goes_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let (set, out) = (folder.path().join("set.bin"), folder.path().join("out"));
    let (set, out) = (set.to_str().unwrap(), out.to_str().unwrap());
    peregrine(&["gen", &file("proto/everything.proto"), "--out", out, "--descriptor-set", set]).expect(0);
    assert_eq!(peregrine(&["list", "--protoset", set]).expect(0).out, "test.v1.Everything\n");
    peregrine(&["gen", "--from-descriptor-set", set, "--out", out]).expect(0).says(&["unchanged "]);
}

#[test]
fn a_proto_with_an_error_is_shown_with_a_caret() {
    let folder = tempfile::tempdir().unwrap();
    let proto = folder.path().join("ask.proto");
    fs::write(&proto, PROTO.replace("string text", "strng text")).unwrap();
    let run =
        peregrine(&["gen", proto.to_str().unwrap(), "--out", folder.path().to_str().unwrap()]).expect(2);
    run.says(&["ask.proto:3:15", "^^^^^"]);
    // What is wrong for Rust only, which is found in the descriptors.
    fs::write(&proto, PROTO.replace("rpc Go(Ask)", "rpc go(Ask) returns (Ask); rpc Go(Ask)")).unwrap();
    let run =
        peregrine(&["gen", proto.to_str().unwrap(), "--out", folder.path().to_str().unwrap()]).expect(2);
    run.says(&["both become the Rust method go", "ask.proto:4:", "rpc go(Ask) returns (Ask); rpc Go(Ask)"]);
    peregrine(&["gen"]).expect(2);
}

#[test]
fn protoc_is_answered_in_its_own_protocol() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ask.proto"), PROTO).unwrap();
    let compiled = protox::compile(["ask.proto"], [folder.path()]).unwrap();
    let request = CodeGeneratorRequest {
        file_to_generate: vec!["ask.proto".into()],
        parameter: Some("codec=prost".into()),
        proto_file: compiled.file,
        compiler_version: None,
    };
    let out = plugin(command(&["gen", "--plugin"]), &request.encode_to_vec());
    let response = CodeGeneratorResponse::decode(out.as_slice()).unwrap();
    assert_eq!(response.error.unwrap_or_default(), "");
    assert!(response.file[0].content().contains("ProstCodec"));
    // The same under the name that protoc and buf look for.
    let named = folder.path().join("protoc-gen-peregrine");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_peregrine"), &named).unwrap();
    assert_eq!(plugin(Command::new(named), &request.encode_to_vec()), out);
    peregrine(&["gen", "--plugin", "a.proto"]).expect(2);
}

/// Runs the plug-in; its output is bytes.
fn plugin(mut command: Command, request: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(request).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}
