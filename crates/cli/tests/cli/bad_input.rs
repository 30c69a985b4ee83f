//! What a user can get wrong before anything is sent: each gets its own sentence and exit code 2.

use std::fs;

use crate::process::{command, file, finish, peregrine, peregrine_with_input};

/// An address that no test connects to: these runs end before they would.
const NOWHERE: &str = "localhost:1";

fn call(method: &str, data: &str) -> crate::process::Run {
    peregrine(&["call", NOWHERE, method, "--proto", &file("proto/everything.proto"), "-d", data])
}

#[test]
fn json_that_does_not_fit_is_shown_with_a_caret() {
    let run =
        call("test.v1.Everything/Echo", "{\n  \"name\": \"x\",\n  \"colour\": \"COLOR_RED\"\n}").expect(2);
    assert_eq!(run.out, "");
    let expected = "\
error: test.v1.Scalars has no field `colour`
 --> -d:3:3
  |
3 |   \"colour\": \"COLOR_RED\"
  |   ^^^^^^^^ did you mean \"color\"?
  |
  fields: name, flag, small, big, usmall, ubig, single, wide, blob, color, nickName
    help: --allow-unknown-fields skips fields that the schema does not know
";
    assert_eq!(run.err, expected);
}

#[test]
fn an_enum_value_gets_its_choices() {
    call("test.v1.Everything/Echo", "{\"color\": \"RED\"}")
        .expect(2)
        .says(&["`RED` is no value of test.v1.Color", "choices: COLOR_UNSPECIFIED, COLOR_RED, COLOR_GREEN"]);
}

#[test]
fn text_that_is_no_json_is_shown_with_a_caret() {
    call("test.v1.Everything/Echo", "{\"name\": \"x\",}").expect(2).says(&["-d:1:14", "one too many"]);
    call("test.v1.Everything/Echo", "{'name': 'x'}").expect(2).says(&["double quotes"]);
}

#[test]
fn the_message_of_a_stream_is_counted_and_its_line_named() {
    call("test.v1.Everything/Sum", "{\"value\": 1}\n{\"value\": true}")
        .expect(2)
        .says(&["message 2: `value` takes an integer", "-d:2:11"]);
}

#[test]
fn the_same_is_data_with_output_json() {
    let proto = file("proto/everything.proto");
    let run = peregrine(&[
        "call",
        NOWHERE,
        "test.v1.Everything/Echo",
        "--proto",
        &proto,
        "-d",
        "{\"nme\": 1}",
        "--output",
        "json",
    ])
    .expect(2);
    let error = run.error_json();
    assert_eq!((error["kind"].as_str(), error["exit_code"].as_u64()), (Some("input"), Some(2)));
    assert_eq!((error["source"]["line"].as_u64(), error["source"]["column"].as_u64()), (Some(1), Some(2)));
    assert_eq!(error["source"]["label"], "did you mean \"name\"?");
}

#[test]
fn a_method_without_a_client_stream_takes_one_message() {
    call("test.v1.Everything/Echo", "{} {}").expect(2).says(&["takes one message, 2 were given"]);
    call("test.v1.Everything/Echo", " ").expect(2).says(&["no JSON message", "{}"]);
}

#[test]
fn an_unknown_method_gets_the_nearest() {
    call("test.v1.Everything/Ecko", "{}")
        .expect(2)
        .says(&["test.v1.Everything has no method `Ecko`", "did you mean test.v1.Everything/Echo?"]);
    call("Everything/Echo", "{}").expect(2).says(&["did you mean test.v1.Everything/Echo?"]);
    call("Echo", "{}").expect(2).says(&["`Echo` is no method name", "package.Service/Method"]);
    call("test.v1.Everything", "{}").expect(2).says(&[
        "`test.v1.Everything` is a service",
        "methods: ",
        "Echo",
    ]);
}

#[test]
fn a_proto_with_an_error_is_shown_with_a_caret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.proto");
    fs::write(&path, "syntax = \"proto3\";\nmessage A {\n  strng name = 1;\n}\n").unwrap();
    let run = peregrine(&["list", "--proto", path.to_str().unwrap()]).expect(2);
    let run = run.says(&["broken.proto:3:3", "3 |   strng name = 1;", "  |   ^^^^^", "strng"]);
    assert_eq!(run.out, "");
    fs::write(&path, "syntax = \"proto3\";\nimport \"nowhere.proto\";\n").unwrap();
    peregrine(&["list", "--proto", path.to_str().unwrap()]).expect(2).says(&["nowhere.proto"]);
    let missing = folder.path().join("missing.proto");
    peregrine(&["list", "--proto", missing.to_str().unwrap()]).expect(2).says(&["missing.proto"]);
}

#[test]
fn a_file_that_is_no_descriptor_set_says_how_to_make_one() {
    peregrine(&["list", "--protoset", &file("proto/everything.proto")])
        .expect(2)
        .says(&["is no descriptor set", "protoc --include_imports"]);
}

#[test]
fn tls_without_anybody_to_trust_says_which_flag_is_missing() {
    let list = |arguments: &[&str]| {
        let mut command = command(&[&["list"], arguments].concat());
        command.env("SSL_CERT_FILE", "/nonexistent/authorities.pem").env_remove("SSL_CERT_DIR");
        finish(command).expect(2)
    };
    for flags in [&["--tls"][..], &["--server-name", "x"]] {
        list(&[&["localhost:1"], flags].concat()).says(&["trusts no certificate authority", "--cacert FILE"]);
    }
    list(&["https://localhost:1"]).says(&["--cacert FILE"]);
    list(&["example.com:443"]).says(&["the address is not on this machine", "http://example.com:443"]);
    list(&["localhost:1", "--cacert", "/no/ca.pem"]).says(&["/no/ca.pem", "path"]);
    list(&["http://localhost:1", "--cacert", "ca.pem"]).says(&["--cacert needs TLS"]);
}

#[test]
fn flags_and_addresses_that_make_no_sense_are_usage_errors() {
    peregrine(&["call", "localhost"]).expect(2).says(&["`localhost` is not an address", "localhost:50051"]);
    peregrine(&["call", NOWHERE, "a.B/C", "-H", "no colon"]).expect(2).says(&["has no name"]);
    peregrine(&["call", NOWHERE, "a.B/C", "-H", "x: ${PEREGRINE_TEST_UNSET}"])
        .expect(2)
        .says(&["PEREGRINE_TEST_UNSET", "not set"]);
    peregrine(&["call", NOWHERE, "a.B/C", "-d", "@", "-d", "@"]).expect(2).says(&["stdin", "once"]);
    peregrine(&["call", NOWHERE, "a.B/C", "--timeout", "soon"]).expect(2).says(&["--timeout"]);
    peregrine(&["fly"]).expect(2).says(&["fly"]);
    let run = peregrine(&["fly", "--output", "json"]).expect(2);
    assert_eq!(run.error_json()["kind"], "usage");
}

#[test]
fn input_that_is_not_text_is_refused() {
    let proto = file("proto/everything.proto");
    let arguments = ["call", NOWHERE, "test.v1.Everything/Echo", "--proto", &proto, "-d", "@"];
    peregrine_with_input(&arguments, b"{\"name\": \"\xff\"}").expect(2).says(&["not UTF-8"]);
    let missing = ["call", NOWHERE, "test.v1.Everything/Echo", "--proto", &proto, "-d", "@/nonexistent.json"];
    peregrine(&missing).expect(2).says(&["/nonexistent.json"]);
}

#[test]
fn help_has_the_table_and_colours_are_for_terminals() {
    let run = peregrine(&["--help"]).expect(0);
    assert!(run.out.contains("64  plus the status code of a failed call"));
    let proto = file("proto/everything.proto");
    let escape = '\u{1b}';
    assert!(!peregrine(&["describe", "--proto", &proto]).expect(0).out.contains(escape));
    assert!(!peregrine(&["call", "localhost"]).expect(2).err.contains(escape));
    assert!(!peregrine(&["fly"]).expect(2).err.contains(escape));
}
