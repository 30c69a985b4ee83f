//! `cargo xtask compare`: measurements beside another stack, that anybody can repeat.

use std::process::Command;
use std::time::Duration;

use anyhow::bail;

use crate::process;
use crate::report::{say, tail};
use crate::workspace::Workspace;

/// Builds and runs the comparison of compression; prints a table as docs/performance.md has it.
pub(crate) fn compression(workspace: &Workspace) -> anyhow::Result<bool> {
    say("building our server and client, then tonic's server");
    step(&mut workspace.cargo(&["build", "--quiet", "--release", "--package=peregrine-bench-compression"]))?;
    let peers = workspace.target().join("peers");
    // By itself: another package of the peers' would change the features that tonic is built with.
    let mut build =
        workspace.cargo(&["build", "--quiet", "--release", "--locked", "--manifest-path=peers/Cargo.toml"]);
    step(build.arg("--package=tonic-compression").arg("--target-dir").arg(&peers))?;
    let mut measure = Command::new("taskset");
    measure.args(["-c", "1"]).arg(workspace.release_program("bench-compression")).arg("measure");
    say(&step(measure.arg(peers.join("release/tonic-compression")))?);
    Ok(true)
}

/// Runs a program to its end and returns what it printed.
fn step(command: &mut Command) -> anyhow::Result<String> {
    let outcome = process::run(command, LIMIT, |_| {})?;
    if !outcome.success() {
        bail!(
            "{} failed ({}):\n{}",
            command.get_program().display(),
            outcome.verdict(),
            tail(&outcome.output, 40)
        );
    }
    Ok(outcome.output)
}

const LIMIT: Duration = Duration::from_mins(20);
