//! Part `grpcurl`: the tool that people reach for first, against the demo (by reflection) and the interop server
//! (by proto file).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::Run;
use crate::process::{self, Server};
use crate::report::tail;
use crate::tools::go;

/// One invocation and what it must print.
struct Case {
    name: &'static str,
    /// JSON of the request messages.
    data: &'static str,
    /// The symbol or the verb that follows the address.
    ask: &'static [&'static str],
    /// Texts that must come in this order.
    answer: &'static [&'static str],
    exit: i32,
}

const HEALTH: &str = "grpc.health.v1.Health";
const NOT_SERVED: &str = "grpc.testing.TestService/UnimplementedCall";

/// Against the demo, which has reflection and health.
const BY_REFLECTION: [Case; 7] = [
    Case {
        name: "list",
        data: "",
        ask: &["list"],
        answer: &[HEALTH, "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"],
        exit: 0,
    },
    Case {
        name: "describe",
        data: "",
        ask: &["describe", HEALTH],
        answer: &["rpc Check", "rpc Watch"],
        exit: 0,
    },
    Case {
        name: "demo-unary",
        data: r#"{"name": "Ada"}"#,
        ask: &["demo.v1.Demo/Greet"],
        answer: &["Ada"],
        exit: 0,
    },
    Case {
        name: "demo-server-streaming",
        data: r#"{"from": 2}"#,
        ask: &["demo.v1.Demo/Countdown"],
        answer: &["\"number\": 2", "\"number\": 1"],
        exit: 0,
    },
    Case {
        name: "demo-client-streaming",
        data: r#"{"station": "a", "celsius": 1} {"station": "b", "celsius": 3}"#,
        ask: &["demo.v1.Demo/Summarize"],
        answer: &["\"count\": 2", "\"mean\": 2"],
        exit: 0,
    },
    Case {
        name: "demo-bidirectional",
        data: r#"{"text": "one"} {"text": "two"}"#,
        ask: &["demo.v1.Demo/Chat"],
        answer: &["\"text\"", "\"text\""],
        exit: 0,
    },
    Case { name: "health", data: "{}", ask: &["grpc.health.v1.Health/Check"], answer: &["SERVING"], exit: 0 },
];

/// Against the interop server. Payloads are zeros: 3 bytes of them are "AAAA" in JSON.
const BY_PROTO: [Case; 5] = [
    Case {
        name: "unary",
        data: r#"{"response_size": 3}"#,
        ask: &["grpc.testing.TestService/UnaryCall"],
        answer: &["\"AAAA\""],
        exit: 0,
    },
    Case {
        name: "server-streaming",
        data: r#"{"response_parameters": [{"size": 3}, {"size": 6}]}"#,
        ask: &["grpc.testing.TestService/StreamingOutputCall"],
        answer: &["\"AAAA\"", "\"AAAAAAAA\""],
        exit: 0,
    },
    Case {
        name: "client-streaming",
        data: r#"{"payload": {"body": "AAAA"}} {"payload": {"body": "AAAAAAAA"}}"#,
        ask: &["grpc.testing.TestService/StreamingInputCall"],
        answer: &["\"aggregatedPayloadSize\": 9"],
        exit: 0,
    },
    Case {
        name: "bidirectional",
        data: r#"{"response_parameters": [{"size": 3}]} {"response_parameters": [{"size": 6}]}"#,
        ask: &["grpc.testing.TestService/FullDuplexCall"],
        answer: &["\"AAAA\"", "\"AAAAAAAA\""],
        exit: 0,
    },
    // The tool's exit code is 64 and the status code.
    Case { name: "unimplemented", data: "{}", ask: &[NOT_SERVED], answer: &["Unimplemented"], exit: 76 },
];

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let by_reflection: Vec<&Case> = BY_REFLECTION.iter().filter(|case| run.wants(&case.id())).collect();
    let by_proto: Vec<&Case> = BY_PROTO.iter().filter(|case| run.wants(&case.id())).collect();
    let count = by_reflection.len() + by_proto.len();
    if count == 0 {
        return Ok(());
    }
    let grpcurl = match go::grpcurl(run.workspace) {
        Ok(grpcurl) => grpcurl,
        Err(error) => {
            run.results.unavailable(count, "grpcurl", &format!("{error:#}"));
            return Ok(());
        }
    };
    run.build_ours()?;

    if !by_reflection.is_empty() {
        let demo = run.workspace.release_program("peregrine");
        let server = Server::start(&run.log("grpcurl-demo"), |port| {
            let mut command = Command::new(&demo);
            command.args(["demo", "--port", &port.to_string()]);
            command
        })?;
        for case in by_reflection {
            judge(run, case, Command::new(&grpcurl).arg("-plaintext"), &server)?;
        }
    }
    if !by_proto.is_empty() {
        let interop = run.workspace.release_program("interop-server");
        let server = Server::start(&run.log("grpcurl-interop"), |port| {
            let mut command = Command::new(&interop);
            command.args([format!("--port={port}"), "--use_tls=false".to_owned()]);
            command
        })?;
        let protos = run.root().join("tests/interop/proto");
        for case in by_proto {
            judge(run, case, with_proto(Command::new(&grpcurl).arg("-plaintext"), &protos), &server)?;
        }
    }
    Ok(())
}

fn with_proto<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    command.arg("-import-path").arg(folder).args(["-proto", "testing.proto"])
}

fn judge(run: &mut Run<'_>, case: &Case, command: &mut Command, server: &Server) -> anyhow::Result<()> {
    if !case.data.is_empty() {
        command.args(["-d", case.data]);
    }
    command.arg(format!("127.0.0.1:{}", server.port())).args(case.ask);
    let outcome = process::run(command, LIMIT, |_| {})?;
    if outcome.exit_code() == Some(case.exit) && in_order(&outcome.output, case.answer) {
        run.results.pass(&case.id(), outcome.elapsed);
    } else {
        let said = tail(&outcome.output, 20);
        let wanted = format!("wanted exit code {} and {:?}", case.exit, case.answer);
        run.results.fail(
            &case.id(),
            &format!("{}; {wanted}\n{said}\nserver: {}", outcome.verdict(), server.last_words()),
        );
    }
    Ok(())
}

impl Case {
    fn id(&self) -> String {
        format!("grpcurl/{}", self.name)
    }
}

/// Whether `text` has all `parts`, one after the other.
fn in_order(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// An invocation takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_must_come_in_order() {
        assert!(in_order("one two three", &["one", "three"]));
        assert!(!in_order("one two three", &["three", "one"]));
        assert!(in_order("anything", &[]));
    }
}
