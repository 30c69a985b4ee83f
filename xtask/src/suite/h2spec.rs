//! Part `h2spec`: the public HTTP/2 suite in its strict form, both halves.
//!
//! Its server half judges `h2-server`, whose replies have the body that a few cases cut by windows, and
//! `interop-server`, the gRPC server itself, both over plaintext and over TLS. Its client half runs `h2-client` once a
//! case. The suite takes any close for the right answer to an error, so which code is sent with which frame is asserted
//! by our own tests of the same cases (`tests/http2/tests`).

mod report;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::report::{Case, judge, parse_printed, parse_xml};
use super::Run;
use crate::process::{self, Outcome, Server};
use crate::report::tail;
use crate::tools::go::{self, H2spec};

/// Cases of version 2.2.1 with `--strict`: a count that differs means that something was left out unseen.
const SERVER_CASES: usize = 146;
const CLIENT_CASES: usize = 57;

/// What the server half is run on.
const SERVERS: [(&str, Program, Security); 4] = [
    ("h2spec/server", Program::Bare, Security::Plaintext),
    ("h2spec/server-tls", Program::Bare, Security::Tls),
    ("h2spec/interop-server", Program::Grpc, Security::Plaintext),
    ("h2spec/interop-server-tls", Program::Grpc, Security::Tls),
];
/// What the client half is run on; each takes a minute, since the client stays.
const CLIENT: &str = "h2spec/client";
const CLIENT_TLS: &str = "h2spec/client-tls";

/// What only a plain HTTP reply with a body can pass: these want DATA back, or have it held up by a window of 0, and a
/// gRPC server answers a request that is no gRPC with a head alone.
const REPLY_BODY: [&str; 7] = [
    "generic/2/2",
    "generic/2/3",
    "http2/5.1.2/1",
    "http2/6.5.3/1",
    "http2/6.9.1/1",
    "http2/6.9.2/1",
    "http2/6.9.2/2",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Bare,
    Grpc,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Security {
    Plaintext,
    Tls,
}

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let servers: Vec<_> = SERVERS.into_iter().filter(|(id, ..)| run.wants(id)).collect();
    let clients: Vec<_> = [(CLIENT, Security::Plaintext), (CLIENT_TLS, Security::Tls)]
        .into_iter()
        .filter(|&(id, security)| run.wants(id) && (run.full || security == Security::Plaintext))
        .collect();
    if servers.is_empty() && clients.is_empty() {
        return Ok(());
    }
    let suite = match go::h2spec(run.workspace) {
        Ok(suite) => suite,
        Err(error) => {
            let count = servers.len() * SERVER_CASES + clients.len() * CLIENT_CASES;
            run.results.unavailable(count, "h2spec", &format!("{error:#}"));
            return Ok(());
        }
    };
    run.build_ours()?;
    let certificates = run.certificates()?;
    for (id, program, security) in servers {
        judge_server(run, &suite, id, &server(run, program, security, &certificates), security, program)?;
    }
    for (id, security) in clients {
        judge_client(run, &suite, id, security, &certificates)?;
    }
    Ok(())
}

/// The command line of a server under test, but for its port.
fn server(
    run: &Run<'_>,
    program: Program,
    security: Security,
    certificates: &Path,
) -> impl Fn(u16) -> Command + use<> {
    let name = match program {
        Program::Bare => "h2-server",
        Program::Grpc => "interop-server",
    };
    let path = run.workspace.release_program(name);
    let certificates = certificates.to_owned();
    move |port| {
        let mut command = Command::new(&path);
        match (program, security) {
            (Program::Bare, Security::Plaintext) => command.arg(port.to_string()),
            (Program::Bare, Security::Tls) => command
                .args([&port.to_string(), "--cert"])
                .arg(certificates.join("server1.pem"))
                .arg("--key")
                .arg(certificates.join("server1.key")),
            (Program::Grpc, _) => command
                .arg(format!("--port={port}"))
                .arg(format!("--use_tls={}", security == Security::Tls))
                .env("GRPC_TEST_CERTS", &certificates),
        };
        command
    }
}

fn judge_server(
    run: &mut Run<'_>,
    suite: &H2spec,
    id: &str,
    start: &impl Fn(u16) -> Command,
    security: Security,
    program: Program,
) -> anyhow::Result<()> {
    let name = id.replace('/', "-");
    let mut server = Server::start(&run.log(&name), start)?;
    let report = run.logs.join(format!("{name}.xml"));
    if report.exists() {
        std::fs::remove_file(&report)?;
    }
    let mut command = Command::new(&suite.client);
    command.args(["--strict", "-h", "127.0.0.1", "-p", &server.port().to_string()]).arg("-j").arg(&report);
    if security == Security::Tls {
        // Whose certificate it is does not matter here.
        command.args(["--tls", "--insecure"]);
    }
    // Its exit code says less than its report.
    let outcome = process::run(&mut command, LIMIT, |_| {})?;
    let Ok(text) = std::fs::read_to_string(&report) else {
        bail!("no report ({}): {}", outcome.verdict(), tail(&outcome.output, 6));
    };
    let excepted: &[&str] = if program == Program::Grpc { &REPLY_BODY } else { &[] };
    record(run, id, &parse_xml(&text), SERVER_CASES, excepted, &outcome);
    if !server.is_running() {
        run.results.fail(id, &format!("the server ended during the suite: {}", server.last_words()));
    }
    Ok(())
}

fn judge_client(
    run: &mut Run<'_>,
    suite: &H2spec,
    id: &str,
    security: Security,
    certificates: &Path,
) -> anyhow::Result<()> {
    let program = run.workspace.release_program("h2-client");
    let authority = certificates.join("ca.pem");
    if [&program, &authority].into_iter().any(|path| path.to_str().is_none_or(|text| text.contains(' '))) {
        bail!("h2spec splits the client's command at spaces, and {} has one", program.display());
    }
    let client = match security {
        Security::Plaintext => program.display().to_string(),
        Security::Tls => format!("{} --cacert {}", program.display(), authority.display()),
    };
    let mut command = Command::new(&suite.server);
    let ports = free_range(CLIENT_CASES as u16)?.to_string();
    // One second without a reaction is a failed case; the client stays longer than that.
    command.args(["--strict", "-o", "1", "-f", &ports, "-e", &client]);
    if security == Security::Tls {
        command.arg("--tls").arg("-c").arg(certificates.join("server1.pem"));
        command.arg("-k").arg(certificates.join("server1.key"));
    }
    // This half writes no report, and ends with 0 whatever came out.
    let outcome = process::run(&mut command, LIMIT, |_| {})?;
    record(run, id, &parse_printed(&outcome.output), CLIENT_CASES, &[], &outcome);
    Ok(())
}

fn record(run: &mut Run<'_>, id: &str, cases: &[Case], total: usize, excepted: &[&str], outcome: &Outcome) {
    let verdict = judge(cases, total, excepted);
    if verdict.faults.is_empty() {
        return run.results.pass_many(verdict.passed, id, outcome.elapsed);
    }
    run.results.add_passed(verdict.passed);
    for fault in &verdict.faults {
        run.results.fail(&format!("{id}/{}", fault.case), &fault.what);
    }
}

/// The first of `count` ports in a row that nobody listens on: the client half has one for each of its cases. Below
/// the ports that systems hand out by themselves.
fn free_range(count: u16) -> anyhow::Result<u16> {
    let offset = std::process::id() as u16 % 128;
    (0..128)
        .map(|turn| 16_000 + (offset + turn) % 128 * 100)
        .find(|&first| (first..first + count).all(is_free))
        .context("no free range of ports on loopback")
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The client half takes a minute; a server half in which much fails waits two seconds a case.
const LIMIT: Duration = Duration::from_mins(6);
