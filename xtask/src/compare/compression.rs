//! `cargo xtask compare compression`: what gzip saves and costs, beside tonic.

use std::process::Command;

use super::step;
use crate::report::say;
use crate::workspace::Workspace;

/// Builds and runs the comparison of compression; prints a table as docs/performance.md has it.
pub(super) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
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
