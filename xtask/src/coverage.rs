//! `cargo xtask coverage`: how much of the engine its own tests run, line by line. Neither test code counts nor what
//! the compiler runs to make constants.
//!
//! cargo-llvm-cov runs the tests with the compiler's own counters. Reading those needs LLVM's tools of the
//! compiler's LLVM: Debian has them as `llvm-22` and the like, rustup as a component.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::process;
use crate::report::{say, tail};
use crate::source::{self, Source};
use crate::tools::cargo::LLVM_COV;
use crate::tools::llvm::LlvmTools;
use crate::workspace::Workspace;

/// The package that is measured, its sources, and the least per cent of lines.
const PACKAGE: &str = "peregrine-http2";
const SOURCES: &str = "crates/http2/src";
const LEAST: f64 = 95.0;

/// Measures and prints a table; says whether enough lines are covered.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let llvm = LlvmTools::find()?;
    let program = LLVM_COV.program(workspace)?;
    let folder = workspace.target().join("coverage");
    std::fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    let data = folder.join("lcov.info");
    let mut command = Command::new(program);
    command.args(["llvm-cov", "--package", PACKAGE, "--lcov", "--output-path"]).arg(&data);
    command.env("LLVM_COV", llvm.cov).env("LLVM_PROFDATA", llvm.profdata).current_dir(workspace.root());
    let outcome = process::run(&mut command, LIMIT, |_| {})?;
    if !outcome.success() {
        bail!("the tests did not run ({}):\n{}", outcome.verdict(), tail(&outcome.output, 30));
    }
    let text =
        std::fs::read_to_string(&data).with_context(|| format!("could not read {}", data.display()))?;
    let files = measured(workspace, &text)?;
    let missed = folder.join("missed.txt");
    std::fs::write(&missed, list_missed(&files))?;
    let share = print(&files);
    say(&format!("lines that no test runs: {}", missed.display()));
    Ok(share >= LEAST)
}

/// Lines of one file that hold code, each with whether a test ran it.
type Lines = BTreeMap<usize, bool>;

/// The package's files with the lines that ship and run.
fn measured(workspace: &Workspace, lcov: &str) -> anyhow::Result<BTreeMap<PathBuf, Lines>> {
    let mut all = read_lcov(lcov, workspace.root());
    let mut files = BTreeMap::new();
    for source in source::sources(workspace)? {
        if source.is_test || !source.path.starts_with(SOURCES) {
            continue;
        }
        if let Some(mut lines) = all.remove(&source.path) {
            let left_out = lines_left_out(&source);
            lines.retain(|line, _| !left_out.contains(line));
            files.insert(source.path, lines);
        }
    }
    if files.is_empty() {
        bail!("no file of {SOURCES} was measured");
    }
    Ok(files)
}

/// The `SF:` and `DA:` lines of an lcov file; a line that is there for several instances was run if one was.
fn read_lcov(text: &str, root: &Path) -> BTreeMap<PathBuf, Lines> {
    let mut files: BTreeMap<PathBuf, Lines> = BTreeMap::new();
    let mut current = PathBuf::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            let path = Path::new(path);
            path.strip_prefix(root).unwrap_or(path).clone_into(&mut current);
        } else if let Some((line, count)) = line.strip_prefix("DA:").and_then(|data| data.split_once(','))
            && let Ok(line) = line.parse()
        {
            let run = count.split(',').next() != Some("0");
            *files.entry(current.clone()).or_default().entry(line).or_default() |= run;
        }
    }
    files
}

/// Numbers of the lines that do not count.
fn lines_left_out(source: &Source) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    for span in source.spans_not_shipped() {
        lines.extend(span.start().line..=span.end().line);
    }
    lines
}

/// Prints the files that miss something and the total; answers the total's per cent.
fn print(files: &BTreeMap<PathBuf, Lines>) -> f64 {
    let share = |run: usize, all: usize| 100.0 * run as f64 / all.max(1) as f64;
    let (mut run, mut all) = (0, 0);
    for (path, lines) in files {
        let covered = lines.values().filter(|run| **run).count();
        run += covered;
        all += lines.len();
        if covered < lines.len() {
            let per_cent = share(covered, lines.len());
            say(&format!("{per_cent:6.1} % of {:5} lines   {}", lines.len(), path.display()));
        }
    }
    let total = share(run, all);
    say(&format!("{total:6.1} % of {all:5} lines   all {} files; {LEAST} % are asked for", files.len()));
    total
}

/// Every line that was not run, as `path:line`.
fn list_missed(files: &BTreeMap<PathBuf, Lines>) -> String {
    let mut text = String::new();
    for (path, lines) in files {
        for line in lines.iter().filter(|(_, run)| !**run).map(|(line, _)| line) {
            let _ = writeln!(text, "{}:{line}", path.display());
        }
    }
    text
}

/// A build with counters and every test of the package, on a small shared machine.
const LIMIT: Duration = Duration::from_mins(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parsed;

    #[test]
    fn a_line_is_covered_if_one_of_its_instances_ran() {
        let files = read_lcov(
            "SF:/r/a.rs\nDA:1,0\nDA:2,5\nDA:1,3\nend_of_record\nSF:/r/b.rs\nDA:7,0",
            Path::new("/r"),
        );
        assert_eq!(files[Path::new("a.rs")], Lines::from([(1, true), (2, true)]));
        assert_eq!(list_missed(&files), "b.rs:7\n");
    }

    #[test]
    fn neither_tests_nor_what_makes_constants_counts() {
        let source = parsed(
            "x.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n\
             #[expect(clippy::indexing_slicing, reason = \"runs when the crate is compiled\")]\nconst fn h() {}\n",
        );
        assert_eq!(lines_left_out(&source), BTreeSet::from([2, 3, 4, 5, 6, 7]));
    }
}
