//! Part `interop`: the official interoperability cases between our programs and those of other stacks.
//!
//! Every pair that has us on one side runs every case that both have: our client against each server, each client
//! against our server; once in plaintext, and once over TLS with those that are set up for it. With `--full` the peers
//! run among themselves too, which tells a fault of ours from a fault of the harness. [`matrix`] is the same with more
//! peers, by request (`cargo xtask interop`).

mod cases;
pub(crate) mod matrix;
mod peer;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use self::peer::{Launch, Peer};
use super::Run;
use crate::process::{self, Server};
use crate::report::tail;
use crate::tools::java;

#[expect(clippy::unnecessary_wraps, reason = "the shape that all parts share")]
pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    for (server, way) in Peer::USUAL.into_iter().flat_map(|server| Way::ALL.map(|way| (server, way))) {
        let ours = |client: Peer| client == Peer::Peregrine || server == Peer::Peregrine;
        let columns: Vec<Column> = Peer::USUAL
            .into_iter()
            .filter(|&client| run.full || ours(client))
            .map(|client| Column::new(run, client, server, way))
            .filter(|column| !column.cases.is_empty())
            .collect();
        let stops = server == Peer::Peregrine && way == Way::Plaintext && run.wants(STOP_ID);
        if columns.is_empty() && !stops {
            continue;
        }
        run_columns(run, server, &columns, way, stops);
    }
    Ok(())
}

/// Starts `server` and runs every column against it; what fails is in the results.
fn run_columns(run: &mut Run<'_>, server: Peer, columns: &[Column], way: Way, stops: bool) -> Vec<Cell> {
    let mut cells = Vec::new();
    let id = format!("{}/*-to-{server}", way.folder());
    match server.server(run) {
        Ok(launch) => {
            if let Err(error) = against(run, server, &launch, columns, way, stops, &mut cells) {
                run.results.fail(&id, &format!("{error:#}"));
            }
        }
        Err(error) => {
            let count = columns.iter().map(|column| column.cases.len()).sum::<usize>() + usize::from(stops);
            cannot_start(run, server, count, &id, &error);
        }
    }
    cells
}

/// What came out of one case between two programs.
#[derive(Debug)]
struct Cell {
    client: Peer,
    server: Peer,
    way: Way,
    case: &'static str,
    passed: bool,
}

/// How the two sides talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plaintext,
    Tls,
}

impl Way {
    const ALL: [Self; 2] = [Self::Plaintext, Self::Tls];

    /// What the ids of its cases begin with.
    fn folder(self) -> &'static str {
        match self {
            Self::Plaintext => "interop",
            Self::Tls => "interop/tls",
        }
    }

    /// The official flags of a server, for one client or any.
    fn of_server(self, run: &Run<'_>, server: Peer, folder: Folder) -> anyhow::Result<Vec<String>> {
        if self == Self::Plaintext {
            return Ok(vec![NO_TLS.to_owned()]);
        }
        let mut flags = vec!["--use_tls=true".to_owned()];
        if !server.is_java() {
            let folder = folder.path(run)?;
            flags.push(format!("--tls_cert_file={}", folder.join("server1.pem").display()));
            flags.push(format!("--tls_key_file={}", folder.join("server1.key").display()));
        }
        Ok(flags)
    }

    /// The official flags of a client.
    fn of_client(self, run: &Run<'_>, client: Peer, folder: Folder) -> anyhow::Result<Vec<String>> {
        if self == Self::Plaintext {
            return Ok(vec![NO_TLS.to_owned()]);
        }
        let mut flags = vec![
            "--use_tls=true".to_owned(),
            "--use_test_ca=true".to_owned(),
            "--server_host_override=foo.test.google.fr".to_owned(),
        ];
        if !client.is_java() {
            flags.push(format!("--ca_file={}", folder.path(run)?.join("ca.pem").display()));
        }
        Ok(flags)
    }
}

/// Where the certificates of one server and its clients come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Folder {
    /// Made in this run.
    Own,
    /// Those of grpc-java, whose programs know no others.
    Java,
}

impl Folder {
    fn of(server: Peer, columns: &[Column]) -> Self {
        let any = server.is_java() || columns.iter().any(|column| column.client.is_java());
        if any { Self::Java } else { Self::Own }
    }

    fn path(self, run: &Run<'_>) -> anyhow::Result<PathBuf> {
        match self {
            Self::Own => run.certificates(),
            Self::Java => Ok(java::interop(run.workspace)?.certificates),
        }
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
        let possible = way == Way::Plaintext || (client.knows_tls() && server.knows_tls());
        let wanted = |case: &&str| possible && run.wants(&format!("{name}/{case}"));
        let cases = cases::between(client, server).filter(wanted).collect();
        Self { client, name, cases }
    }
}

/// A foreign program that is not to be had is one thing, code in this tree that does not build another.
fn cannot_start(run: &mut Run<'_>, peer: Peer, count: usize, id: &str, error: &anyhow::Error) {
    let reason = format!("{error:#}");
    if peer.is_foreign() {
        run.results.unavailable(count, id, &reason);
    } else {
        run.results.fail_many(count, id, &reason);
    }
}

/// Starts `server` and lets every column's client run against it.
fn against(
    run: &mut Run<'_>,
    server: Peer,
    launch: &Launch,
    columns: &[Column],
    way: Way,
    stops: bool,
    cells: &mut Vec<Cell>,
) -> anyhow::Result<()> {
    let log = run.log(&format!("{}-server-{server}", way.folder().replace('/', "-")));
    let folder = Folder::of(server, columns);
    let of_server = way.of_server(run, server, folder)?;
    let start = |case: &str| {
        Server::start(&log, |port| {
            let mut flags = vec![format!("--port={port}")];
            if server == Peer::Raw {
                flags.push(format!("--test_case={case}"));
            }
            launch.command(&[&flags[..], &of_server[..]].concat())
        })
    };
    let mut running: Option<Server> = None;
    for column in columns {
        let client = match column.client.client(run) {
            Ok(client) => client,
            Err(error) => {
                cannot_start(run, column.client, column.cases.len(), &column.name, &error);
                continue;
            }
        };
        let of_client = way.of_client(run, column.client, folder)?;
        for &case in &column.cases {
            let id = format!("{}/{case}", column.name);
            let mut target = match running.take() {
                Some(server) => server,
                None => start(case)?,
            };
            let mut command = client.command(&[flags(run, target.port(), case), of_client.clone()].concat());
            let mut outcome = judge(&mut command, &mut target)?;
            if outcome.is_err() && cases::races(column.client, case) {
                outcome = judge(&mut command, &mut target)?;
            }
            if server == Peer::Raw {
                outcome = with_verdict(outcome, target, &log);
            } else if target.is_running() {
                running = Some(target);
            }
            let passed = outcome.is_ok();
            cells.push(Cell { client: column.client, server, way, case, passed });
            match outcome {
                Ok(elapsed) => run.results.pass(&id, elapsed),
                Err(reason) => run.results.fail(&id, &reason),
            }
        }
    }
    if stops {
        let server = running.map_or_else(|| start(""), Ok)?;
        match server.stop() {
            Some(status) if status.success() => run.results.pass(STOP_ID, Duration::ZERO),
            status => run.results.fail(STOP_ID, &stop_verdict(status)),
        }
    }
    Ok(())
}

/// The raw server has one case, and what it says at its end counts as much as what the client said.
fn with_verdict(outcome: Result<Duration, String>, server: Server, log: &Path) -> Result<Duration, String> {
    let status = server.stop();
    if status.is_some_and(|status| status.success()) {
        return outcome;
    }
    let said = tail(&std::fs::read_to_string(log).unwrap_or_default(), 6);
    Err(format!("{}\nserver: {said}", outcome.err().unwrap_or_default()))
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
    if cases::LOAD_REPORTS.contains(&case) {
        let config = r#"{"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}"#;
        flags.push(format!("--service_config_json={config}"));
    }
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
