//! The maps are true: every file and folder that the texts for newcomers, and the comments in the code, name in
//! backticks exists.

use std::path::Path;

use super::{Finding, Project};
use crate::source::Source;

const MAPS: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/// Top folders and files of ours; a name in backticks that starts so is meant as a path.
const TOPS: [&str; 12] = [
    ".cargo/",
    ".ci/",
    "benches/",
    "crates/",
    "docs/",
    "examples/",
    "fuzz/",
    "peers/",
    "tests/",
    "xtask/",
    "deny.toml",
    "clippy.toml",
];

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let root = project.workspace.root();
    let mut findings = Vec::new();
    for map in MAPS {
        let text = std::fs::read_to_string(root.join(map))
            .map_err(|error| anyhow::anyhow!("could not read {map}: {error}"))?;
        for (line, path) in paths_in_markdown(&text) {
            if !root.join(path).exists() {
                findings.push(Finding::failure(format!("{map}:{line}: `{path}` is not there")));
            }
        }
    }
    for source in project.sources()? {
        for (line, path) in paths_in_comments(&source.text) {
            if !is_near(root, source, path) {
                findings.push(Finding::failure(format!(
                    "{}:{line}: `{path}` is not there",
                    source.path.display()
                )));
            }
        }
    }
    Ok(findings)
}

/// Paths in backticks, with the number of their line. Code blocks show what users type, not our files.
fn paths_in_markdown(text: &str) -> Vec<(usize, &str)> {
    let mut paths = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let ours = |quoted: &&str| TOPS.iter().any(|top| quoted.starts_with(top)) && is_path(quoted);
        paths.extend(quoted(line).filter(ours).map(|path| (index + 1, path)));
    }
    paths
}

/// Rust files that comments name, with the number of their line: `check/sizes.rs`.
fn paths_in_comments(text: &str) -> Vec<(usize, &str)> {
    let mut paths = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            let is_rust = |quoted: &str| Path::new(quoted).extension().is_some_and(|end| end == "rs");
            let is_file = |quoted: &&str| is_path(quoted) && quoted.contains('/') && is_rust(quoted);
            paths.extend(quoted(line).filter(is_file).map(|path| (index + 1, path)));
        }
    }
    paths
}

/// A comment may count from its own folder, from a folder above it, or from the root.
fn is_near(root: &Path, source: &Source, path: &str) -> bool {
    source.path.ancestors().skip(1).any(|folder| root.join(folder).join(path).exists())
}

/// What stands between backticks in one line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_backticks_are_read_and_code_is_not() {
        let text =
            "See `crates/http2/src/lib.rs` and `Server`.\n```\n`crates/none`\n```\n`xtask/src/main.rs`";
        assert_eq!(paths_in_markdown(text), [(1, "crates/http2/src/lib.rs"), (5, "xtask/src/main.rs")]);
    }

    #[test]
    fn comments_name_rust_files() {
        let text = "//! See `call/mod.rs`, `mod.rs` and `a/b`.\nlet x = \"`c/d.rs`\";\n    // `e/f.rs`";
        assert_eq!(paths_in_comments(text), [(1, "call/mod.rs"), (3, "e/f.rs")]);
    }
}
