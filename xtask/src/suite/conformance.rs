//! Part `conformance`: connectconformance, the public suite of gRPC cases, for our server and our client.
//!
//! The suite's runner starts `conformance-server` or `conformance-client` (`tests/conformance`), tells it by standard
//! input what to do, and judges what the other side of the wire saw. Nothing is on a list of known failures. The small
//! gate is part of every run; the full one, by `--full` or `cargo xtask conformance --full`, has every codec and every
//! compression.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Run;
use crate::process::{self, Outcome};
use crate::report::tail;
use crate::tools::go;

/// One side of the wire, and what the suite asks of it.
struct Half {
    id: &'static str,
    /// What the runner calls it.
    mode: &'static str,
    program: &'static str,
    small: Gate,
    full: Gate,
}

/// Which cases are run, all of them over plaintext, TLS and TLS with certificates of callers.
struct Gate {
    codecs: &'static str,
    compressions: &'static str,
    /// Cases of version 1.0.5: a count that differs means that something was left out unseen.
    cases: usize,
}

const HALVES: [Half; 2] = [
    Half {
        id: "conformance/server",
        mode: "server",
        program: "conformance-server",
        small: Gate { codecs: PROTO, compressions: GZIP, cases: 566 },
        full: Gate { codecs: ALL_CODECS, compressions: ALL_COMPRESSIONS, cases: 1_862 },
    },
    Half {
        id: "conformance/client",
        mode: "client",
        program: "conformance-client",
        small: Gate { codecs: PROTO, compressions: GZIP, cases: 634 },
        full: Gate { codecs: ALL_CODECS, compressions: ALL_COMPRESSIONS, cases: 2_282 },
    },
];

const PROTO: &str = "CODEC_PROTO";
const ALL_CODECS: &str = "CODEC_PROTO, CODEC_JSON";
const GZIP: &str = "COMPRESSION_IDENTITY, COMPRESSION_GZIP";
const ALL_COMPRESSIONS: &str =
    "COMPRESSION_IDENTITY, COMPRESSION_GZIP, COMPRESSION_DEFLATE, COMPRESSION_SNAPPY, COMPRESSION_ZSTD";

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let full = run.full;
    let wanted: Vec<&Half> = HALVES.iter().filter(|half| run.wants(half.id)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let runner = match go::connectconformance(run.workspace) {
        Ok(runner) => runner,
        Err(error) => {
            let cases = wanted.iter().map(|half| half.gate(full).cases).sum();
            run.results.unavailable(cases, "conformance", &format!("{error:#}"));
            return Ok(());
        }
    };
    run.build_ours()?;
    for half in wanted {
        judge(run, &runner, half)?;
    }
    Ok(())
}

impl Half {
    fn gate(&self, full: bool) -> &Gate {
        if full { &self.full } else { &self.small }
    }
}

impl Gate {
    /// The runner's configuration.
    fn configuration(&self) -> String {
        format!(
            "features:\n  versions: [HTTP_VERSION_2]\n  protocols: [PROTOCOL_GRPC]\n  codecs: [{}]\n  compressions: [{}]\n  \
             supports_tls_client_certs: true\n",
            self.codecs, self.compressions
        )
    }
}

fn judge(run: &mut Run<'_>, runner: &Path, half: &Half) -> anyhow::Result<()> {
    let gate = half.gate(run.full);
    let name = half.id.replace('/', "-");
    let configuration = run.logs.join(format!("{name}.yaml"));
    std::fs::write(&configuration, gate.configuration())
        .with_context(|| format!("could not write {}", configuration.display()))?;
    let mut command = Command::new(runner);
    command.args(["--mode", half.mode, "--conf"]).arg(&configuration);
    command.arg("--").arg(run.workspace.release_program(half.program));
    let outcome = process::run(&mut command, LIMIT, |_| {})?;
    std::fs::write(run.log(&name), &outcome.output)?;
    match verdict(&outcome.output, gate.cases) {
        Ok(()) if outcome.success() => run.results.pass_many(gate.cases, half.id, outcome.elapsed),
        Ok(()) => run.results.fail(half.id, &ended(&outcome)),
        Err(fault) => {
            run.results.add_passed(fault.passed);
            run.results.fail_many(fault.failed.max(1), half.id, &fault.report);
        }
    }
    Ok(())
}

/// What is wrong with a run.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    passed: usize,
    failed: usize,
    report: String,
}

/// Whether exactly `expected` cases passed and none failed, by what the runner printed.
fn verdict(output: &str, expected: usize) -> Result<(), Fault> {
    let Some((passed, failed)) = output.lines().rev().find_map(counts) else {
        let report = format!("the runner stopped without a result: {}", tail(output, 6));
        return Err(Fault { passed: 0, failed: expected, report });
    };
    if failed > 0 {
        return Err(Fault { passed, failed, report: failures(output) });
    }
    if passed != expected {
        let report = format!("{passed} cases were run, {expected} were expected");
        return Err(Fault { passed, failed: 0, report });
    }
    Ok(())
}

/// `N passed, M failed`, which the runner ends with.
fn counts(line: &str) -> Option<(usize, usize)> {
    let (passed, failed) = line.trim().split_once(" passed, ")?;
    Some((passed.parse().ok()?, failed.strip_suffix(" failed")?.parse().ok()?))
}

/// The first failures with their reasons; the log has them all.
fn failures(output: &str) -> String {
    const SHOWN: usize = 20;
    let mut report = String::new();
    let mut found = 0;
    for line in output.lines() {
        if line.starts_with("FAILED: ") {
            found += 1;
        }
        if found > 0 && found <= SHOWN && counts(line).is_none() && !line.trim().is_empty() {
            let _ = writeln!(report, "{line}");
        }
    }
    if found > SHOWN {
        let _ = writeln!(report, "and {} more", found - SHOWN);
    }
    report
}

fn ended(outcome: &Outcome) -> String {
    format!("all cases passed, but the runner failed ({}): {}", outcome.verdict(), tail(&outcome.output, 6))
}

/// The full gate of a server takes two to three minutes of the runner's own work.
const LIMIT: Duration = Duration::from_mins(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_passes_only_with_all_its_cases() {
        assert_eq!(verdict("Total cases: 2\n2 passed, 0 failed\n", 2), Ok(()));
        let fault = verdict("2 passed, 0 failed\n", 3).unwrap_err();
        assert!(fault.report.contains("2 cases were run, 3 were expected"), "{fault:?}");
    }

    #[test]
    fn failures_are_named_with_their_reasons() {
        let output = "FAILED: Basic/unary:\n\twrong code\n\n1 passed, 1 failed\n";
        let fault = verdict(output, 2).unwrap_err();
        assert_eq!((fault.passed, fault.failed), (1, 1));
        assert_eq!(fault.report, "FAILED: Basic/unary:\n\twrong code\n");
    }

    #[test]
    fn a_runner_that_stops_has_failed_everything() {
        let fault = verdict("no such program\n", 7).unwrap_err();
        assert_eq!((fault.passed, fault.failed), (0, 7));
        assert!(fault.report.contains("no such program"));
    }
}
