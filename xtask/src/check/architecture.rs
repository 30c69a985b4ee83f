//! The map is true: every file and folder that the texts for newcomers name in backticks exists.

use super::{Finding, Project};

const MAPS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];

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
        for (line, path) in named_paths(&text) {
            if !root.join(path).exists() {
                findings.push(Finding::failure(format!("{map}:{line}: `{path}` is not there")));
            }
        }
    }
    Ok(findings)
}

/// Paths in backticks, with the number of their line. Code blocks show what users type, not our files.
fn named_paths(text: &str) -> Vec<(usize, &str)> {
    let mut paths = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for quoted in line.split('`').skip(1).step_by(2) {
            let is_path = TOPS.iter().any(|top| quoted.starts_with(top))
                && !quoted.contains(|letter: char| letter.is_whitespace() || "*<>{}".contains(letter));
            if is_path {
                paths.push((index + 1, quoted));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_backticks_are_read_and_code_is_not() {
        let text =
            "See `crates/http2/src/lib.rs` and `Server`.\n```\n`crates/none`\n```\n`xtask/src/main.rs`";
        assert_eq!(named_paths(text), [(1, "crates/http2/src/lib.rs"), (5, "xtask/src/main.rs")]);
    }
}
