//! Part `demo`: the first command of the README, as written there.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::Run;
use crate::process;
use crate::report::tail;

const COMMAND: &str = "cargo run --release -- demo --once";

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let id = "demo/once";
    if !run.wants(id) {
        return Ok(());
    }
    let readme = std::fs::read_to_string(run.root().join("README.md")).context("could not read README.md")?;
    if !readme.lines().any(|line| line.trim() == COMMAND) {
        bail!("the README does not show `{COMMAND}` on a line of its own");
    }
    run.build_ours()?;
    let mut words = COMMAND.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(run.root());
    let outcome = process::run(&mut command, LIMIT, |_| {})?;
    if outcome.success() {
        run.results.pass(id, outcome.elapsed);
    } else {
        run.results.fail(id, &format!("{}\n{}", outcome.verdict(), tail(&outcome.output, 30)));
    }
    Ok(())
}

/// The program is built before; its calls take milliseconds.
const LIMIT: Duration = Duration::from_mins(1);
