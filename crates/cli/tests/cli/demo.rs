//! The demo: what a newcomer sees first.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::Command,
};

use crate::process::{command, peregrine, spawn};

#[test]
fn once_shows_a_call_of_each_shape_and_ends() {
    let run = peregrine(&["demo", "--once", "--port", "0"]).expect(0);
    for part in [
        "demo.v1.Demo at 127.0.0.1:",
        "Greet       unary",
        "  sent     {\"name\":\"Ada\"",
        "  received {\"message\":\"Hello, Ada!\"}",
        "Countdown   server streaming",
        "  received {\"number\":0}",
        "Summarize   client streaming",
        "\"mean\":9.5",
        "Chat        bidirectional",
        "You said: Goodbye!",
        " call localhost:50051 demo.v1.Demo/Greet -d '{\"name\": \"Ada\"}'",
        "grpcurl -plaintext",
    ] {
        assert!(run.out.contains(part), "{part}:\n{}", run.out);
    }
    assert_eq!(run.err, "");
    let run = peregrine(&["demo", "--once", "--port", "0", "--output", "json"]).expect(0);
    let shapes: Vec<String> = run
        .out
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["shape"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(shapes, ["unary", "server streaming", "client streaming", "bidirectional"]);
}

#[test]
fn the_demo_stays_answers_its_own_lines_and_ends_gracefully() {
    let mut child = spawn(&mut command(&["demo", "--port", "0"]));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let port = first.split("127.0.0.1:").nth(1).unwrap().split(',').next().unwrap().to_owned();
    // The page is complete, so the server stays from here on.
    let page: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("Ctrl-C")).collect();
    let address = format!("localhost:{port}");

    let services = peregrine(&["call", &address]).expect(0).out;
    for service in ["demo.v1.Demo", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] {
        assert!(services.lines().any(|line| line == service), "{services}");
    }
    let greet =
        ["call", &address, "demo.v1.Demo/Greet", "-d", "{\"name\": \"Ada\", \"tone\": \"TONE_FORMAL\"}"];
    assert_eq!(peregrine(&greet).expect(0).out, "{\"message\":\"Good day, Ada!\"}\n");
    let countdown = [
        "call",
        &address,
        "demo.v1.Demo/Countdown",
        "-d",
        "{\"from\": 1, \"pauseMs\": 1}",
        "--emit-defaults",
    ];
    assert_eq!(peregrine(&countdown).expect(0).out, "{\"number\":1}\n{\"number\":0}\n");
    peregrine(&["call", &address, "demo.v1.Demo/Greet"])
        .expect(67)
        .says(&["INVALID_ARGUMENT", "must not be empty"]);
    assert_eq!(peregrine(&["health", &address, "demo.v1.Demo"]).expect(0).out, "SERVING\n");
    assert!(peregrine(&["describe", &address, "demo.v1.Demo"]).expect(0).out.contains("service Demo {"));
    // Over TLS, as its own line says.
    let secure = page.iter().find(|line| line.contains("call https://")).expect("a line with TLS");
    let words: Vec<&str> = secure.split_whitespace().collect();
    let (url, authority) = (words[2], words.last().unwrap().to_string());
    let greet = ["call", url, "demo.v1.Demo/Greet", "-d", "{\"name\": \"Ada\"}", "--cacert", &authority];
    assert_eq!(peregrine(&greet).expect(0).out, "{\"message\":\"Hello, Ada!\"}\n");
    let by_address = url.replace("localhost", "127.0.0.1");
    assert!(peregrine(&["list", &by_address, "--cacert", &authority]).expect(0).out.contains("demo.v1.Demo"));
    // Its port is taken, which is said, and gone round with --once.
    peregrine(&["demo", "--port", &port]).expect(1).says(&["cannot listen", "--port"]);
    peregrine(&["demo", "--port", &port, "--once"]).expect(0);

    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!Path::new(&authority).exists(), "the authority's file goes with the demo");
}
