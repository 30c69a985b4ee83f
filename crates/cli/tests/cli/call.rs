//! Calls of every shape, and what is said about them.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use crate::{
    process::{Run, command, file, finish, peregrine, peregrine_with_input, spawn},
    server::TestServer,
};

fn call(server: &TestServer, method: &str, flags: &[&str]) -> Run {
    let method = format!("test.v1.Everything/{method}");
    peregrine(&[&["call", server.address.as_str(), &method], flags].concat())
}

#[test]
fn a_unary_call_answers_with_one_line_of_json() {
    let server = TestServer::start();
    let run =
        call(&server, "Echo", &["-d", "{\"name\": \"Ada\", \"big\": 5, \"color\": \"COLOR_RED\"}"]).expect(0);
    assert_eq!(run.out, "{\"name\":\"Ada\",\"big\":\"5\",\"color\":\"COLOR_RED\"}\n");
    assert_eq!(run.err, "");
    // Without -d the message is empty, and every spelling of the method is the same method.
    assert_eq!(call(&server, "Echo", &[]).expect(0).out, "{}\n");
    let dotted =
        ["call", &format!("http://{}", server.address), "test.v1.Everything.Echo", "--emit-defaults"];
    assert!(peregrine(&dotted).expect(0).out.starts_with("{\"name\":\"\",\"flag\":false,"));
}

#[test]
fn streams_are_lines() {
    let server = TestServer::start();
    let run = call(&server, "Count", &["-d", "{\"value\": 3}"]).expect(0);
    assert_eq!(run.out, "{\"value\":1}\n{\"value\":2}\n{\"value\":3}\n");
    let run = call(&server, "Sum", &["-d", "{\"value\": 1}{\"value\": 2}\n{\"value\": 3}"]).expect(0);
    assert_eq!(run.out, "{\"value\":6}\n");
    let run = call(&server, "Chat", &["-d", "{\"name\": \"a\"}", "-d", "{\"name\": \"b\"}"]).expect(0);
    assert_eq!(run.out, "{\"name\":\"a\"}\n{\"name\":\"b\"}\n");
    assert_eq!(call(&server, "Sum", &[]).expect(0).out, "{}\n");
}

#[test]
fn requests_come_from_stdin_and_from_files() {
    let server = TestServer::start();
    let echo = ["call", &server.address, "test.v1.Everything/Echo"];
    for at in ["@", "@-"] {
        let run = peregrine_with_input(&[&echo[..], &["-d", at]].concat(), b"{\"name\": \"x\"}\n").expect(0);
        assert_eq!(run.out, "{\"name\":\"x\"}\n");
    }
    let sum = ["call", &server.address, "test.v1.Everything/Sum", "-d", "@"];
    assert_eq!(
        peregrine_with_input(&sum, b"{\"value\": 1}\n{\"value\": 2}").expect(0).out,
        "{\"value\":3}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("request.json");
    std::fs::write(&path, "{\"name\": \"from a file\"}").unwrap();
    let path = path.to_str().unwrap();
    for flags in [&[path][..], &["-d", &format!("@{path}")]] {
        assert_eq!(call(&server, "Echo", flags).expect(0).out, "{\"name\":\"from a file\"}\n");
    }
}

#[test]
fn a_conversation_is_answered_message_by_message() {
    let server = TestServer::start();
    let mut command = command(&["call", &server.address, "test.v1.Everything/Chat", "-d", "@"]);
    let mut child = spawn(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    for name in ["one", "two"] {
        writeln!(stdin, "{{\"name\": \"{name}\"}}").unwrap();
        // The reply is here before the next request is written.
        assert_eq!(replies.next().unwrap().unwrap(), format!("{{\"name\":\"{name}\"}}"));
    }
    drop(stdin);
    assert!(replies.next().is_none());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn json_that_does_not_fit_ends_a_conversation() {
    let server = TestServer::start();
    let chat = ["call", &server.address, "test.v1.Everything/Chat", "-d", "@"];
    peregrine_with_input(&chat, b"{\"name\": \"a\"}\n{\"nmae\": \"b\"}\n")
        .expect(2)
        .says(&["message 2: test.v1.Scalars has no field `nmae`", "stdin:2:2"]);
}

#[test]
fn headers_travel_both_ways_and_are_shown() {
    let server = TestServer::start();
    let mut command = command(&[
        "call",
        &server.address,
        "test.v1.Everything/Echo",
        "-H",
        "X-Plain: one",
        "-H",
        "x-secret: ${PEREGRINE_TEST_VALUE}",
        "-H",
        "x-data-bin: AQI",
        "-v",
    ]);
    command.env("PEREGRINE_TEST_VALUE", "two");
    let run = finish(command).expect(0);
    assert_eq!(run.out, "{}\n");
    run.says(&[
        "* connected to http://127.0.0.1:",
        "> /test.v1.Everything/Echo\n> x-plain: one\n> x-secret: two\n> x-data-bin: AQI=\n",
        "< headers\n< x-plain: one\n< x-secret: two\n< x-data-bin: AQI=\n",
        "< trailers\n< x-trailer: the end\n",
        "* status OK (0)",
        "* time: connect ",
        "first byte ",
        "total ",
    ]);
}

#[test]
fn credentials_are_not_shown_by_one_v() {
    let server = TestServer::start();
    let run = call(&server, "Echo", &["-H", "authorization: Bearer abc", "-v"]).expect(0);
    assert!(!run.err.contains("Bearer abc"), "{}", run.err);
    call(&server, "Echo", &["-H", "authorization: Bearer abc", "-vv"]).expect(0).says(&["Bearer abc"]);
}

#[test]
fn a_failed_call_ends_with_64_and_its_code() {
    let server = TestServer::start();
    let run = call(&server, "Echo", &["-d", "{\"name\": \"fail\"}"]).expect(69);
    assert_eq!(run.out, "");
    let run = run.says(&["NOT_FOUND", "no such thing", "ErrorInfo {\"reason\":\"GONE\"}"]);
    assert!(run.err.starts_with("error: test.v1.Everything/Echo: NOT_FOUND: no such thing\n"), "{}", run.err);
    let run = call(&server, "Echo", &["-d", "{\"name\": \"fail\"}", "-o", "json"]).expect(69);
    let error = run.error_json();
    assert_eq!((error["kind"].as_str(), error["exit_code"].as_u64()), (Some("call"), Some(69)));
    assert_eq!(error["grpc"]["name"], "NOT_FOUND");
    assert_eq!(error["grpc"]["details"][0]["value"]["reason"], "GONE");
    assert_eq!(error["grpc"]["trailers"]["x-why"], "it has left");
}

#[test]
fn a_stream_that_fails_keeps_what_came_before() {
    let server = TestServer::start();
    let run = call(&server, "Count", &["-d", "{\"value\": -2}"]).expect(74);
    assert_eq!(run.out, "{\"value\":1}\n{\"value\":2}\n");
    run.says(&["ABORTED", "counted enough", "received: 2 messages\n"]);
}

#[test]
fn a_deadline_is_kept() {
    let server = TestServer::start();
    for flag in ["--timeout", "--deadline", "--max-time"] {
        call(&server, "Echo", &["-d", "{\"name\": \"never\"}", flag, "100ms"]).expect(68).says(&[
            "DEADLINE_EXCEEDED",
            "spent: connecting",
            "--timeout",
        ]);
    }
}

#[test]
fn a_reply_over_the_limit_names_both_sizes() {
    let server = TestServer::start();
    let run = call(&server, "Echo", &["-d", "{\"name\": \"big\"}"]).expect(72);
    run.says(&["RESOURCE_EXHAUSTED", "4194304", "52428", "--max-message-size"]);
    let run = call(&server, "Echo", &["-d", "{\"name\": \"big\"}", "--max-message-size", "6MiB"]).expect(0);
    assert!(run.out.len() > 5 << 20);
    // A request that happens to be as long as replies may be (7 bytes) is not at fault.
    let run = call(&server, "Echo", &["-d", "{\"name\": \"extra\"}", "--max-message-size", "7"]).expect(72);
    run.says(&["limit of 7 bytes", "--max-message-size"]);
    // The other way round the limit is the server's.
    let echo = ["call", &server.address, "test.v1.Everything/Echo", "-d", "@"];
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(5 << 20));
    peregrine_with_input(&echo, large.as_bytes()).expect(72).says(&["4194304", "the limit is the server's"]);
}

#[test]
fn what_the_schema_does_not_know_is_noted() {
    let server = TestServer::start();
    let run = call(&server, "Echo", &["-d", "{\"name\": \"extra\"}"]).expect(0);
    assert_eq!(run.out, "{\"name\":\"extra\"}\n");
    run.says(&["note: the reply has a field 99 (4 bytes) that the schema does not know"]);
    let run =
        call(&server, "Echo", &["-d", "{\"name\": \"x\", \"new\": 1}", "--allow-unknown-fields"]).expect(0);
    assert_eq!(run.out, "{\"name\":\"x\"}\n");
    run.says(&["note: the field `new` is not in the schema"]);
}

#[test]
fn a_reply_that_is_no_message_is_an_internal_error() {
    let server = TestServer::start();
    call(&server, "Echo", &["-d", "{\"name\": \"garbage\"}"])
        .expect(77)
        .says(&["the reply is no test.v1.Scalars"]);
}

#[test]
fn an_unknown_method_of_a_server_gets_the_nearest() {
    let server = TestServer::start();
    call(&server, "Eco", &[]).expect(2).says(&["no method `Eco`", "did you mean test.v1.Everything/Echo?"]);
    peregrine(&["call", &server.address, "Everything/Echo"])
        .expect(2)
        .says(&["no service `Everything`", "did you mean test.v1.Everything/Echo?"]);
}

#[test]
fn a_server_without_reflection_says_what_helps() {
    let server = TestServer::bare();
    call(&server, "Echo", &[]).expect(2).says(&["no reflection service", "--proto FILE or --protoset FILE"]);
    let proto = file("proto/everything.proto");
    assert_eq!(call(&server, "Echo", &["--proto", &proto]).expect(0).out, "{}\n");
    // The schema has a method that the server does not.
    call(&server, "Old", &["--proto", &proto]).expect(76).says(&["UNIMPLEMENTED"]);
}

#[test]
fn without_a_method_services_are_listed() {
    let server = TestServer::start();
    let run = peregrine(&["call", &server.address]).expect(0);
    assert!(run.out.lines().any(|line| line == "test.v1.Everything"), "{}", run.out);
    assert_eq!(run.out, peregrine(&["list", &server.address]).expect(0).out);
}

#[test]
fn reflection_tells_the_whole_schema() {
    let server = TestServer::start();
    let run = peregrine(&["describe", &server.address, "test.v1.Scalars.color"]).expect(0);
    assert!(run.out.ends_with("test.v1.Color color = 10;\n"), "{}", run.out);
    let run = peregrine(&["describe", &server.address, "test.v1.WellKnown", "--template"]).expect(0);
    assert!(run.out.contains("\"when\": \"2026-01-31T12:30:00Z\""), "{}", run.out);
    peregrine(&["describe", &server.address, "test.v1.Evrything"])
        .expect(2)
        .says(&["did you mean test.v1.Everything?"]);
}

#[test]
fn a_unix_socket_is_a_server_too() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::on_unix(folder.path());
    let proto = file("proto/everything.proto");
    let run = call(&server, "Echo", &["--proto", &proto, "-d", "{\"flag\": true}"]).expect(0);
    assert_eq!(run.out, "{\"flag\":true}\n");
}

#[test]
fn notes_are_data_with_output_json() {
    let server = TestServer::start();
    let echo = ["-d", "{\"name\": \"extra\", \"new\": 1}", "--allow-unknown-fields", "-o", "json"];
    let run = call(&server, "Echo", &echo).expect(0);
    let notes: Vec<serde_json::Value> =
        run.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(notes.len(), 2, "{}", run.err);
    assert_eq!(notes[0]["note"], "the field `new` is not in the schema and was skipped");
    // From stdin, where fields are skipped while the call runs.
    let sum = ["call", &server.address, "test.v1.Everything/Sum", "--allow-unknown-fields", "-d", "@"];
    let run = peregrine_with_input(&sum, b"{\"value\": 1, \"new\": 2}").expect(0);
    assert_eq!((run.out.as_str(), run.err.lines().count()), ("{\"value\":1}\n", 1));
}

#[test]
fn health_is_asked_and_decides_the_exit_code() {
    let server = TestServer::start();
    assert_eq!(peregrine(&["health", &server.address]).expect(0).out, "SERVING\n");
    let run = peregrine(&["health", &server.address, "-o", "json"]).expect(0);
    assert_eq!(run.out, "{\"service\":\"\",\"status\":\"SERVING\"}\n");
    assert_eq!(peregrine(&["health", &server.address, "test.v1.Down"]).expect(1).out, "NOT_SERVING\n");
    peregrine(&["health", &server.address, "test.v1.Unheard"])
        .expect(69)
        .says(&["knows no `test.v1.Unheard`"]);
    let bare = TestServer::bare();
    peregrine(&["health", &bare.address]).expect(76).says(&["no health service"]);
}

#[test]
fn a_reader_that_has_enough_ends_the_call() {
    let server = TestServer::start();
    let mut command =
        command(&["call", &server.address, "test.v1.Everything/Count", "-d", "{\"value\": 1000000}"]);
    let mut child = spawn(&mut command);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "{\"value\":1}");
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn ctrl_c_ends_a_call_at_once() {
    let server = TestServer::start();
    let mut command = command(&["call", &server.address, "test.v1.Everything/Chat", "-d", "@"]);
    let mut child = spawn(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{{}}").unwrap();
    let mut reply = String::new();
    let mut replies = BufReader::new(child.stdout.take().unwrap());
    replies.read_line(&mut reply).unwrap();
    // The call is running now; its stdin stays open.
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(said, "error: stopped by Ctrl-C\n      sent: 1 message\n  received: 1 message\n");
    drop(stdin);
}
