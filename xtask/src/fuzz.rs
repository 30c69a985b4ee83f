//! `cargo xtask fuzz`: runs the targets of `fuzz/` under libFuzzer, with the stable compiler.
//!
//! The compiler's own coverage pass is switched on by flags that every channel takes, for the program alone and
//! not for build scripts. What a run learns stays in the target folder and the next one goes on from there; an
//! input that fails is put into `fuzz/corpus/TARGET`, where every test run replays it from then on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::process;
use crate::report::{indent, say, tail};
use crate::workspace::Workspace;

/// Runs the named targets, or all, `minutes` each; says whether none failed.
pub(crate) fn run(workspace: &Workspace, names: &[String], minutes: u64) -> anyhow::Result<bool> {
    let all = targets(workspace)?;
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        bail!("no fuzz target is called `{unknown}`; there are {}", all.join(", "));
    }
    let fuzzer = build(workspace)?;
    let mut failed = Vec::new();
    for name in all.iter().filter(|name| names.is_empty() || names.contains(name)) {
        if !run_one(workspace, &fuzzer, name, minutes)? {
            failed.push(name.as_str());
        }
    }
    if !failed.is_empty() {
        say(&format!("failed: {}; the inputs are in fuzz/corpus, to be kept", failed.join(", ")));
    }
    Ok(failed.is_empty())
}

/// The names that the program of the targets prints.
fn targets(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut command = workspace.cargo(&["run", "--quiet", "--package=peregrine-fuzz", "--", "--targets"]);
    let output = command.output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("the targets do not build:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Builds the fuzzer, all targets in one program.
fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let folder = workspace.target().join("fuzz");
    let host = host()?;
    let mut command = workspace.cargo(&["build", "--quiet", "--release", "--package=peregrine-fuzz"]);
    // Naming the host keeps the flags away from build scripts, which run without libFuzzer.
    command.arg("--target").arg(&host).arg("--target-dir").arg(&folder);
    command.env("RUSTFLAGS", FLAGS.join(" ")).env("CARGO_PROFILE_RELEASE_LTO", "off");
    // What is only asserted while developing is what a fuzzer looks for.
    command.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    command.env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true");
    say("building the fuzz targets");
    let outcome = process::run(&mut command, BUILD_LIMIT, |_| {})?;
    if !outcome.success() {
        bail!("the fuzz targets do not build ({}):\n{}", outcome.verdict(), tail(&outcome.output, 40));
    }
    Ok(folder.join(host).join("release/peregrine-fuzz"))
}

fn run_one(workspace: &Workspace, fuzzer: &Path, name: &str, minutes: u64) -> anyhow::Result<bool> {
    let learned = workspace.target().join("fuzz/learned").join(name);
    let kept = workspace.root().join("fuzz/corpus").join(name);
    for folder in [&learned, &kept] {
        std::fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    }
    let mut seeds =
        workspace.cargo(&["run", "--quiet", "--package=peregrine-fuzz", "--", "--write-seeds", name]);
    if !seeds.arg(&learned).status().context("could not start cargo")?.success() {
        bail!("the seeds of {name} could not be written");
    }
    let mut command = Command::new(fuzzer);
    command.env("PEREGRINE_FUZZ_TARGET", name).arg(&learned).arg(&kept);
    command.arg(format!("-artifact_prefix={}/", kept.display()));
    command.arg(format!("-max_total_time={}", minutes * 60));
    command.args(["-print_final_stats=1", "-timeout=20", "-rss_limit_mb=1024", "-len_control=50"]);
    let outcome = process::run(&mut command, Duration::from_secs(minutes * 60 + 120), |_| {})?;
    // Empty folders are not worth keeping in the tree.
    let _ = std::fs::remove_dir(&kept);
    let figure = |name: &str| {
        let line = outcome.output.lines().rev().find_map(|line| line.strip_prefix(name));
        line.unwrap_or("?").trim().to_owned()
    };
    let runs = figure("stat::number_of_executed_units:");
    let new = figure("stat::new_units_added:");
    let verdict = if outcome.success() { "ok" } else { "FAILED" };
    say(&format!("{name:22} {verdict:6} {runs:>12} inputs, {new} of them new, in {minutes} min"));
    if !outcome.success() {
        say(&indent(&format!("{}\n{}", outcome.verdict(), tail(&outcome.output, 40)), 4));
    }
    Ok(outcome.success())
}

/// The triple of this machine.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("could not start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Edge counters and comparison hooks as libFuzzer reads them, and the `cfg` that brings libFuzzer in.
const FLAGS: [&str; 7] = [
    "--cfg=peregrine_fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];
const BUILD_LIMIT: Duration = Duration::from_mins(15);
