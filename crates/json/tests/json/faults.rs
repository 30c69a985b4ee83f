//! Hostile input: depth, repetition, cuts.

use std::sync::Arc;

use peregrine_core::{DecodeLimits, MessageFormat, MethodDescriptor, Transcode};
use peregrine_json::Json;

use crate::support::{EVERYTHING, SET, json, print, read, transcode};

#[test]
fn depth_is_bounded_by_the_limit() {
    let nested = |depth: usize| "{\"nested\":".repeat(depth - 1) + "{}" + &"}".repeat(depth - 1);
    assert!(read(EVERYTHING, &nested(100)).is_ok());
    assert!(read(EVERYTHING, &nested(101)).unwrap_err().contains("nested too deeply"));
    for open in ["{\"nested\":", "{\"everythings\":[", "{\"value\":[", "{\"aStruct\":{\"a\":{\"b\":"] {
        assert!(read(EVERYTHING, &open.repeat(50_000)).is_err());
    }
    assert!(
        read(EVERYTHING, &("{\"value\":".to_owned() + &"[".repeat(500_000))).unwrap_err().contains("deeply")
    );
    let any = "{\"@type\":\"t/google.protobuf.Any\",\"value\":";
    let anys = "{\"any\":".to_owned() + &any.repeat(101) + "{}" + &"}".repeat(102);
    assert!(read(EVERYTHING, &anys).unwrap_err().contains("nested too deeply"));
    // Lists and maps do not count, so that whatever is printed can be read.
    let lists = "{\"everythings\":[".repeat(99) + "{}" + &"]}".repeat(99);
    assert!(print(EVERYTHING, &read(EVERYTHING, &lists).unwrap()).is_ok_and(|printed| printed == lists));
    let mut limits = DecodeLimits::default();
    limits.recursion = 2;
    let transcode = transcode(EVERYTHING);
    assert!(transcode.read(nested(2).as_bytes(), &limits).is_ok());
    assert!(transcode.read(nested(3).as_bytes(), &limits).is_err());
    // What is ignored may be as deep as it likes.
    let lenient = json().ignore_unknown_fields(true).message(EVERYTHING).unwrap();
    let deep = "{\"x\":".to_owned() + &"[".repeat(100_000) + &"]".repeat(100_000) + "}";
    assert!(lenient.read(deep.as_bytes(), &DecodeLimits::default()).is_ok());
}

#[test]
fn types_that_come_last_are_looked_for_within_bounds() {
    // Each level has its type behind everything inside of it.
    let nested = |depth: usize, filling: usize| {
        let mut text =
            format!("{{\"value\":\"{}\",\"@type\":\"t/google.protobuf.StringValue\"}}", "x".repeat(filling));
        for _ in 1..depth {
            text = format!("{{\"value\":{text},\"@type\":\"t/google.protobuf.Any\"}}");
        }
        format!("{{\"any\":{text}}}")
    };
    assert!(read(EVERYTHING, &nested(5, 10_000)).is_ok());
    assert!(read(EVERYTHING, &nested(90, 100_000)).unwrap_err().contains("too much stands before"));
}

#[test]
fn no_cut_and_no_changed_byte_is_a_panic() {
    let text = concat!(
        r#"{"aDouble":1.5e3,"aString":"a\u00e4\n","someBytes":"AQI","colors":["RED",7],"byBool":{"true":"x"},"#,
        r#""everythings":[{"timestamp":"2030-01-02T03:04:05.6Z"}],"duration":"-1.5s","fieldMask":"a,bC","#,
        r#""aStruct":{"a":[1,null,{"b":false}]},"any":{"@type":"t/google.protobuf.Duration","value":"1s"}}"#
    );
    let transcode = transcode(EVERYTHING);
    let bytes = transcode.read(text.as_bytes(), &DecodeLimits::default()).unwrap();
    for cut in 0..text.len() {
        assert!(transcode.read(&text.as_bytes()[..cut], &DecodeLimits::default()).is_err(), "{cut}");
    }
    for at in 0..text.len() {
        for byte in [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b'0', b'-', b'e', b' ', 0, 0x80, 0xff] {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = byte;
            let _either = transcode.read(&changed, &DecodeLimits::default());
        }
    }
    for cut in 0..bytes.len() {
        let _either = transcode.write(&bytes[..cut]);
    }
    for at in 0..bytes.len() {
        for byte in 0..=u8::MAX {
            let mut changed = bytes.clone();
            changed[at] = byte;
            let _either = transcode.write(&changed);
        }
    }
}

#[test]
fn descriptors_that_are_cut_or_changed_are_refused_or_harmless() {
    for cut in (1..SET.len()).step_by(7) {
        let _either = Json::new().types(&SET[..cut]);
    }
    assert!(Json::new().types(b"no descriptors").is_err());
    for at in (0..SET.len()).step_by(5) {
        let mut changed = SET.clone();
        changed[at] ^= 0x15;
        let Ok(json) = Json::new().types(&changed) else { continue };
        let Some(transcode) = json.message(EVERYTHING) else { continue };
        let _either =
            transcode.read(br#"{"byInt32":{"1":1},"any":{},"int32Value":1}"#, &DecodeLimits::default());
        let _either = transcode.write(&[0x9a, 3, 4, 8, 1, 16, 1, 0xf2, 5, 2, 8, 1]);
    }
}

#[test]
fn a_set_without_its_imports_says_what_is_missing() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    let mut compiler = protox::Compiler::new([&folder]).unwrap();
    compiler.open_file(folder.join("everything.proto")).unwrap();
    let error = Json::new().types(&compiler.encode_file_descriptor_set()).unwrap_err();
    assert!(format!("{error:?}").contains("uses the type google.protobuf"), "{error:?}");
}

#[test]
fn methods_are_found_in_their_own_descriptors_and_their_types_serve_any() {
    let method = |name, set| MethodDescriptor {
        path: "/test.everything.Service/Call",
        service: "test.everything.Service",
        name,
        client_streaming: false,
        server_streaming: false,
        file_descriptor_set: set,
    };
    let json = Json::new();
    assert!(json.message(EVERYTHING).is_none());
    let found = json.method(&method("Call", &SET)).unwrap();
    let elsewhere = SET.clone();
    let again = json.method(&method("Call", &elsewhere)).unwrap();
    let request = br#"{"any":{"@type":"t/test.older.Older"}}"#;
    for format in [&found, &again] {
        assert!(format.request.read(request, &DecodeLimits::default()).is_ok());
        assert_eq!(format.response.write(&[8, 1]).unwrap(), br#"{"alias":"ONE"}"#);
    }
    for (name, set, words) in [
        ("Call", &[][..], "has no descriptors"),
        ("Other", &SET, "do not have it"),
        ("Call", b"\xff", "no google.protobuf.FileDescriptorSet"),
    ] {
        let status = json.method(&method(name, set)).unwrap_err();
        assert!(status.message().contains(words), "{status}");
    }
}

#[test]
fn an_any_may_hold_a_type_of_another_set() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    let mut compiler = protox::Compiler::new([&folder]).unwrap();
    compiler.include_imports(true).open_file(folder.join("older.proto")).unwrap();
    let older = compiler.encode_file_descriptor_set();
    let mut compiler = protox::Compiler::new([&folder]).unwrap();
    compiler.include_imports(true).open_file(folder.join("everything.proto")).unwrap();
    let json = Json::new().types(&compiler.encode_file_descriptor_set()).unwrap();
    let everything: Arc<dyn Transcode> = json.message(EVERYTHING).unwrap();
    let text = br#"{"any":{"@type":"t/test.older.Older","needed":1}}"#;
    assert!(everything.read(text, &DecodeLimits::default()).is_err());
    // Types that are added later serve those that were asked for earlier.
    let _json = json.types(&older).unwrap();
    let bytes = everything.read(text, &DecodeLimits::default()).unwrap();
    assert_eq!(everything.write(&bytes).unwrap(), text);
    assert!(print(EVERYTHING, &bytes).is_ok());
}
