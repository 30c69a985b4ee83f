//! cargo-deny on licences, bans and sources. Advisories need a clone of a database and are left to
//! `cargo deny check advisories`, by hand.

use std::time::Duration;

use super::{Finding, Project};
use crate::process;
use crate::report::tail;
use crate::tools::cargo::DENY;

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let program = DENY.program(project.workspace)?;
    let mut command = std::process::Command::new(program);
    command
        .args(["--color=never", "check", "bans", "licenses", "sources"])
        .current_dir(project.workspace.root());
    let outcome = process::run(&mut command, Duration::from_mins(5), |_| {})?;
    if outcome.success() {
        return Ok(Vec::new());
    }
    Ok(vec![Finding::failure(format!("{}\n{}", tail(&outcome.output, 100), outcome.verdict()))])
}
