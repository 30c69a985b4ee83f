//! `cargo xtask test`: the whole test run.
//!
//! A run has parts (one module each); every test in them has an id such as `interop/tonic-to-peregrine/ping_pong`,
//! which filters match. Everything listens on loopback, on ports found free, for a bounded time. The last
//! line says how many passed and failed, alone, so that machines can read it too.

mod big_protos;
mod conformance;
mod cost;
mod demo;
mod grpcurl;
mod h2spec;
pub(crate) mod interop;
mod load;
mod newcomer;
mod programs;
mod results;
mod rust;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::results::Results;
use crate::report::say;
use crate::workspace::Workspace;

/// One run: what was asked for, where logs go, and what came out so far.
pub(crate) struct Run<'w> {
    workspace: &'w Workspace,
    filters: Vec<String>,
    /// Long forms asked for.
    full: bool,
    logs: PathBuf,
    results: Results,
    programs: programs::Programs,
}

/// A part of the run: its name, and the function that runs those of its tests which are wanted.
type Part = (&'static str, fn(&mut Run<'_>) -> anyhow::Result<()>);

const PARTS: [Part; 10] = [
    ("rust", rust::run),
    ("big_protos", big_protos::run),
    ("demo", demo::run),
    ("newcomer", newcomer::run),
    ("grpcurl", grpcurl::run),
    ("h2spec", h2spec::run),
    ("conformance", conformance::run),
    ("interop", interop::run),
    ("load", load::run),
    ("cost", cost::run),
];

/// Runs the tests whose id contains one of `filters`, or all; says whether all of them passed.
pub(crate) fn run(workspace: &Workspace, filters: &[String], full: bool) -> anyhow::Result<bool> {
    let mut run = Run::new(workspace, filters, full)?;
    for (name, part) in PARTS {
        run.results.begin(name);
        if let Err(error) = part(&mut run) {
            run.results.fail(name, &format!("{error:#}"));
        }
        run.results.end();
    }
    if run.results.is_empty() {
        say(&format!("no test's id contains {}", filters.join(" or ")));
    }
    run.results.print_summary();
    Ok(run.results.all_passed())
}

/// Runs the public suite of gRPC cases alone, on the named sides or on both; says whether all cases passed.
pub(crate) fn run_conformance(workspace: &Workspace, sides: &[String], full: bool) -> anyhow::Result<bool> {
    let filters = match sides {
        [] => vec!["conformance/".to_owned()],
        sides => sides.iter().map(|side| format!("conformance/{side}")).collect(),
    };
    run(workspace, &filters, full)
}

impl<'w> Run<'w> {
    fn new(workspace: &'w Workspace, filters: &[String], full: bool) -> anyhow::Result<Self> {
        let logs = workspace.target().join("test-logs");
        std::fs::create_dir_all(&logs).with_context(|| format!("could not create {}", logs.display()))?;
        // On a person's machine a missing Go or Python leaves tests out; where machines decide, it is a failure.
        let strict = std::env::var_os("CI").is_some_and(|value| value == "true");
        Ok(Self {
            workspace,
            filters: filters.to_vec(),
            full,
            logs,
            results: Results::new(strict),
            programs: programs::Programs::default(),
        })
    }

    /// Whether a test was asked for.
    fn wants(&self, id: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| id.contains(filter.as_str()))
    }

    /// Where the output of the program called `name` goes.
    fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    fn root(&self) -> &Path {
        self.workspace.root()
    }
}
