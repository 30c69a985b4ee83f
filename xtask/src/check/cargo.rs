//! The checks that cargo's own tools make: rustfmt, clippy, rustdoc.

use std::process::Command;
use std::time::Duration;

use super::{Finding, Project};
use crate::process;
use crate::report::tail;

pub(super) fn format(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut findings = judge(&mut project.workspace.cargo(&["fmt", "--all", "--check"]))?;
    findings.extend(judge(&mut project.workspace.cargo(&[
        "fmt",
        "--all",
        "--check",
        "--manifest-path=peers/Cargo.toml",
    ]))?);
    Ok(findings)
}

pub(super) fn clippy(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    judge(&mut project.workspace.cargo(&[
        "clippy",
        "--quiet",
        "--keep-going",
        "--workspace",
        "--all-features",
        "--all-targets",
        "--",
        "--deny=warnings",
    ]))
}

pub(super) fn doc(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    judge(
        project
            .workspace
            .cargo(&[
                "doc",
                "--quiet",
                "--keep-going",
                "--workspace",
                "--all-features",
                "--no-deps",
                "--document-private-items",
            ])
            .env("RUSTDOCFLAGS", "--deny=warnings"),
    )
}

/// The command's own words are the finding.
fn judge(command: &mut Command) -> anyhow::Result<Vec<Finding>> {
    let outcome = process::run(command, LIMIT, |_| {})?;
    if outcome.success() {
        return Ok(Vec::new());
    }
    Ok(vec![Finding::failure(format!("{}\n{}", tail(&outcome.output, SHOWN), outcome.verdict()))])
}

/// A cold build of everything on a small shared machine.
const LIMIT: Duration = Duration::from_mins(30);
/// Lines of a tool's output worth repeating; the tool itself shows the rest.
const SHOWN: usize = 200;
