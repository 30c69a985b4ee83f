//! `list`, `describe` and `completions`, which need no server when the schema comes from files.

use std::{io::Read, process::Stdio};

use crate::process::{command, file, peregrine, spawn};

#[test]
fn services_and_methods_are_listed_one_a_line() {
    let proto = file("proto/everything.proto");
    assert_eq!(peregrine(&["list", "--proto", &proto]).expect(0).out, "test.v1.Everything\n");
    assert_eq!(
        peregrine(&["list", "test.v1.Everything", "--proto", &proto]).expect(0).out,
        "test.v1.Everything/Echo\ntest.v1.Everything/Count\ntest.v1.Everything/Sum\ntest.v1.Everything/Chat\ntest.v1.Everything/Old\n"
    );
    let run = peregrine(&["list", "test.v1.Everything", "--proto", &proto, "--output", "json"]).expect(0);
    let value: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(value["methods"][1]["server_streaming"], true);
    assert_eq!(value["methods"][1]["path"], "test.v1.Everything/Count");
}

#[test]
fn a_definition_is_described_with_its_comments() {
    let proto = file("proto/everything.proto");
    let run = peregrine(&["describe", "test.v1.Everything/Echo", "--proto", &proto]).expect(0);
    for part in
        ["// Sends the request back.", "rpc Echo(test.v1.Scalars)", "message Scalars {", "  // Who it is."]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    peregrine(&["describe", "test.v1.Nothing", "--proto", &proto]).expect(2).says(&["no definition named"]);
}

#[test]
fn a_template_can_be_sent_as_it_is() {
    let proto = file("proto/everything.proto");
    let template = peregrine(&["describe", "test.v1.Scalars", "--template", "--proto", &proto]).expect(0).out;
    // Nothing listens there: the request was read well, and only connecting failed.
    peregrine(&["call", "localhost:1", "test.v1.Everything/Echo", "--proto", &proto, "-d", &template])
        .expect(3);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let proto = file("proto/everything.proto");
    let mut command = command(&["describe", "--proto", &proto]);
    let mut child = spawn(command.stdout(Stdio::piped()));
    // Closed before the command has written anything.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "nushell", "elvish"] {
        let run = peregrine(&["completions", shell]).expect(0);
        assert!(run.out.contains("max-message-size"), "{shell}");
    }
}
