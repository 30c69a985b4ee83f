//! `cargo xtask mutants`: do the engine's unit tests notice when its code is changed?
//!
//! cargo-mutants changes the code of frames, header compression and streams in hundreds of small ways, one at a time,
//! and runs the library's tests on each. A change that no test notices is a hole, unless `mutants/explained.txt` says
//! why it makes no difference. Takes an hour or two; what an earlier run has caught is not tried again until
//! `target/mutants` is removed.

use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::process;
use crate::report::{say, tail};
use crate::tools::cargo::MUTANTS;
use crate::workspace::Workspace;

const PACKAGE: &str = "peregrine-http2";
const FILES: [&str; 4] = [
    "crates/http2/src/frame/**",
    "crates/http2/src/hpack/**",
    "crates/http2/src/stream/**",
    "crates/http2/src/stream_id.rs",
];

/// The tests of each round, whether its code is optimized, and what is told of it. Most mutants fall to the tests of
/// the changed modules, which take two seconds as they are compiled; only the rest meets them all, thousands of random
/// connections among them.
const ROUNDS: [(&[&str], bool, &str); 2] = [
    (&["hpack", "frame", "stream"], false, "the tests of frames, header compression and streams"),
    (&[], true, "all tests of the library, on those that are left"),
];
const UNOPTIMIZED: &str = "--cargo-arg=--config=profile.dev.package.peregrine-http2.opt-level=0";

/// One line each: a mutant as cargo-mutants names it without line and column, ` | `, and why it lives.
const EXPLAINED: &str = include_str!("mutants/explained.txt");

/// Tries all mutants; says whether each that survives is explained.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let folder = workspace.target().join("mutants");
    std::fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    let mutants = MUTANTS.program(workspace)?;
    for (tests, optimized, what) in ROUNDS {
        say(what);
        let mut command = Command::new(&mutants);
        command.args(["mutants", "--package", PACKAGE, "--no-shuffle", "--iterate", "--timeout=60"]);
        for files in FILES {
            command.args(["--file", files]);
        }
        // What runs when the crate is compiled: a changed table does not compile, or never ends compiling.
        command.args(["--exclude-re", "derive_"]);
        if !optimized {
            command.arg(UNOPTIMIZED);
        }
        command.arg("--output").arg(&folder).args(["--", "--lib", "--"]).args(tests);
        command.current_dir(workspace.root()).env_remove("CARGO_TARGET_DIR");
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        let outcome = process::run(&mut command, LIMIT, |line| {
            if line.starts_with("MISSED") {
                say(line);
            }
        })?;
        // 2 and 3 tell of survivors and of mutants that ran into the time limit, both of which are verdicts.
        if !matches!(outcome.exit_code(), Some(0 | 2 | 3)) {
            bail!("cargo-mutants failed ({}):\n{}", outcome.verdict(), tail(&outcome.output, 20));
        }
    }
    let read =
        |name: &str| std::fs::read_to_string(folder.join("mutants.out").join(name)).unwrap_or_default();
    let caught: usize = ["caught.txt", "previously_caught.txt", "timeout.txt"]
        .map(|name| read(name).lines().count())
        .iter()
        .sum();
    let missed = read("missed.txt");
    let holes = unexplained(&missed, EXPLAINED);
    let survivors = missed.lines().count();
    say(&format!("{caught} mutants caught, {survivors} survive, {} of them unexplained", holes.len()));
    for hole in &holes {
        say(&format!("    {hole}"));
    }
    Ok(holes.is_empty())
}

/// Survivors beyond those that the list explains: one line explains one mutant.
fn unexplained<'m>(missed: &'m str, explained: &str) -> Vec<&'m str> {
    let mut reasons: HashMap<&str, usize> = HashMap::new();
    let lines = explained.lines().filter(|line| !line.starts_with('#'));
    for (mutant, _) in lines.filter_map(|line| line.split_once(" | ")) {
        *reasons.entry(mutant.trim()).or_default() += 1;
    }
    let is_hole = |line: &&str| match reasons.get_mut(without_place(line).as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    missed.lines().filter(is_hole).collect()
}

/// `path:line:column: what` without line and column, which move with every edit.
fn without_place(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(_), Some(_), Some(what)) => format!("{path}:{what}"),
        _ => mutant.to_owned(),
    }
}

const LIMIT: Duration = Duration::from_hours(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_explains_one_survivor_wherever_it_stands() {
        let explained = "# comment\na.rs: replace + with - in f | wraps\n";
        let missed =
            "a.rs:1:2: replace + with - in f\na.rs:9:9: replace + with - in f\nb.rs:1:1: replace g with ()";
        let holes = unexplained(missed, explained);
        assert_eq!(holes, ["a.rs:9:9: replace + with - in f", "b.rs:1:1: replace g with ()"]);
    }

    #[test]
    fn every_explanation_names_a_file_and_gives_a_reason() {
        for line in EXPLAINED.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (mutant, reason) = line.split_once(" | ").unwrap_or_default();
            assert!(mutant.contains(".rs: ") && !reason.is_empty(), "{line}");
        }
    }
}
