//! Part `interop`: the official interoperability cases between our programs and those of other stacks.
//!
//! Every pair that has us on one side runs every case: our client against each server, each client against
//! our server; once in plaintext, and once over TLS with those that are set up for it. With `--full` the peers run among themselves too, which tells a fault of ours from a fault of
//! the harness.

mod peer;

use std::process::{Command, ExitStatus};
use std::time::Duration;

use self::peer::{Launch, Peer};
use super::Run;
use crate::process::{self, Server};
use crate::report::tail;

/// The cases that need neither credentials, compression nor load reports.
const CASES: [&str; 16] = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "status_code_and_message",
    "special_status_message",
    "custom_metadata",
    "unimplemented_method",
    "unimplemented_service",
    "rpc_soak",
    "channel_soak",
];

#[expect(clippy::unnecessary_wraps, reason = "the shape that all parts share")]
pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let ways = [Way::Plaintext, Way::Tls];
    for (server, way) in Peer::ALL.into_iter().flat_map(|server| ways.map(|way| (server, way))) {
        let columns: Vec<Column> = Peer::ALL
            .into_iter()
            .map(|client| Column::new(run, client, server, way))
            .filter(|column| !column.cases.is_empty())
            .collect();
        let stops = server == Peer::Peregrine && way == Way::Plaintext && run.wants(STOP_ID);
        if columns.is_empty() && !stops {
            continue;
        }
        let launch = match server.server(run) {
            Ok(launch) => launch,
            Err(error) => {
                let count =
                    columns.iter().map(|column| column.cases.len()).sum::<usize>() + usize::from(stops);
                cannot_start(run, server, count, &format!("{}/*-to-{server}", way.folder()), &error);
                continue;
            }
        };
        if let Err(error) = against(run, server, &launch, &columns, way, stops) {
            run.results.fail(&format!("{}/*-to-{server}", way.folder()), &format!("{error:#}"));
        }
    }
    Ok(())
}

/// How the two sides talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plaintext,
    Tls,
}

impl Way {
    /// What the ids of its cases begin with.
    fn folder(self) -> &'static str {
        match self {
            Self::Plaintext => "interop",
            Self::Tls => "interop/tls",
        }
    }

    /// The official flags of a server.
    fn of_server(self, run: &Run<'_>) -> anyhow::Result<Vec<String>> {
        if self == Self::Plaintext {
            return Ok(vec![NO_TLS.to_owned()]);
        }
        let folder = run.certificates()?;
        Ok(vec![
            "--use_tls=true".to_owned(),
            format!("--tls_cert_file={}", folder.join("server1.pem").display()),
            format!("--tls_key_file={}", folder.join("server1.key").display()),
        ])
    }

    /// The official flags of a client.
    fn of_client(self, run: &Run<'_>) -> anyhow::Result<Vec<String>> {
        if self == Self::Plaintext {
            return Ok(vec![NO_TLS.to_owned()]);
        }
        Ok(vec![
            "--use_tls=true".to_owned(),
            "--use_test_ca=true".to_owned(),
            format!("--ca_file={}", run.certificates()?.join("ca.pem").display()),
            "--server_host_override=foo.test.google.fr".to_owned(),
        ])
    }
}

/// The wanted cases of one client against one server.
struct Column {
    client: Peer,
    name: String,
    cases: Vec<&'static str>,
}

impl Column {
    fn new(run: &Run<'_>, client: Peer, server: Peer, way: Way) -> Self {
        let name = format!("{}/{client}-to-{server}", way.folder());
        // Our programs on tonic know plaintext only.
        let can_tls = way == Way::Plaintext || (client != Peer::Tonic && server != Peer::Tonic);
        let ours = client == Peer::Peregrine || server == Peer::Peregrine;
        let wanted = |case: &&str| {
            can_tls && (ours || run.full) && can(client, server, case) && run.wants(&format!("{name}/{case}"))
        };
        let cases = CASES.into_iter().filter(wanted).collect();
        Self { client, name, cases }
    }
}

/// What two peers are known to be unable to do together.
fn can(client: Peer, server: Peer, case: &str) -> bool {
    // tonic keeps deadlines on either side until the response headers only, and its server sends them at once.
    !(client == Peer::Tonic && server == Peer::Tonic && case == "timeout_on_sleeping_server")
}

/// Cases in which a client races with itself, and which therefore get a second try.
fn races(client: Peer, case: &str) -> bool {
    // grpc-go's client cancels, ends its side in good order all the same, and looks for the answer before it looks
    // at the cancellation. A machine that pauses it in between (1 run in 200) lets the answer win.
    client == Peer::GrpcGo && case == "cancel_after_begin"
}

/// A foreign program that is not to be had is one thing, code in this tree that does not build another.
fn cannot_start(run: &mut Run<'_>, peer: Peer, count: usize, id: &str, error: &anyhow::Error) {
    let reason = format!("{error:#}");
    match peer {
        Peer::GrpcGo | Peer::Grpcio => run.results.unavailable(count, id, &reason),
        Peer::Peregrine | Peer::Tonic => run.results.fail_many(count, id, &reason),
    }
}

/// Starts `server` once and lets every column's client run against it.
fn against(
    run: &mut Run<'_>,
    server: Peer,
    launch: &Launch,
    columns: &[Column],
    way: Way,
    stops: bool,
) -> anyhow::Result<()> {
    let log = run.log(&format!("{}-server-{server}", way.folder().replace('/', "-")));
    let (of_server, of_client) = (way.of_server(run)?, way.of_client(run)?);
    let start = || {
        Server::start(&log, |port| launch.command(&[&[format!("--port={port}")], &of_server[..]].concat()))
    };
    let mut running = start()?;
    for column in columns {
        let client = match column.client.client(run) {
            Ok(client) => client,
            Err(error) => {
                cannot_start(run, column.client, column.cases.len(), &column.name, &error);
                continue;
            }
        };
        for &case in &column.cases {
            let id = format!("{}/{case}", column.name);
            let mut command = client.command(&[flags(run, running.port(), case), of_client.clone()].concat());
            let mut outcome = judge(&mut command, &mut running)?;
            if outcome.is_err() && races(column.client, case) {
                outcome = judge(&mut command, &mut running)?;
            }
            match outcome {
                Ok(elapsed) => run.results.pass(&id, elapsed),
                Err(reason) => run.results.fail(&id, &reason),
            }
            if !running.is_running() {
                running = start()?;
            }
        }
    }
    if stops {
        match running.stop() {
            Some(status) if status.success() => run.results.pass(STOP_ID, Duration::ZERO),
            status => run.results.fail(STOP_ID, &stop_verdict(status)),
        }
    }
    Ok(())
}

fn stop_verdict(status: Option<ExitStatus>) -> String {
    match status {
        Some(status) => format!("asked to end, the server answered with {status}"),
        None => "the server did not end when asked to".to_owned(),
    }
}

/// Runs one case; the inner error is the reason of its failure.
fn judge(command: &mut Command, server: &mut Server) -> anyhow::Result<Result<Duration, String>> {
    let outcome = process::run(command, CASE_LIMIT, |_| {})?;
    if !outcome.success() {
        let said = tail(&outcome.output, 6);
        return Ok(Err(format!("{}\n{said}\nserver: {}", outcome.verdict(), server.last_words())));
    }
    if !server.is_running() {
        return Ok(Err(format!("the case brought the server down: {}", server.last_words())));
    }
    Ok(Ok(outcome.elapsed))
}

/// The official flags of one case.
fn flags(run: &Run<'_>, port: u16, case: &str) -> Vec<String> {
    let mut flags = vec![
        "--server_host=127.0.0.1".to_owned(),
        format!("--server_port={port}"),
        format!("--test_case={case}"),
    ];
    if case.ends_with("_soak") {
        // The specification's limits are for quiet machines; a loaded one may pause a process for seconds.
        let (iterations, seconds) = if run.full { (200, 50) } else { (10, 25) };
        flags.push(format!("--soak_iterations={iterations}"));
        flags.push(format!("--soak_overall_timeout_seconds={seconds}"));
        flags.push("--soak_per_iteration_max_acceptable_latency_ms=5000".to_owned());
    }
    flags
}

const NO_TLS: &str = "--use_tls=false";
const STOP_ID: &str = "interop/peregrine-server-ends-when-asked";

/// A case takes milliseconds, a soak seconds.
const CASE_LIMIT: Duration = Duration::from_mins(1);
