//! Features only add: every package builds with none of its features and with each of them alone. Those whose names
//! begin with `_` are what others have in common, and no use alone.

use std::time::Duration;

use super::{Finding, Project};
use crate::process;
use crate::report::tail;

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in project.workspace.packages().iter().filter(|package| !package.features.is_empty()) {
        let alone =
            package.features.iter().filter(|&feature| feature != "default" && !feature.starts_with('_'));
        for features in std::iter::once("").chain(alone.map(String::as_str)) {
            let mut command = project.workspace.cargo(&["clippy", "--quiet", "--no-default-features"]);
            command.args(["--package", &package.name, "--features", features, "--", "--deny=warnings"]);
            let outcome = process::run(&mut command, LIMIT, |_| {})?;
            if !outcome.success() {
                let which = if features.is_empty() { "no feature" } else { features };
                findings.push(Finding::failure(format!(
                    "{} with {which} ({}):\n{}",
                    package.name,
                    outcome.verdict(),
                    tail(&outcome.output, 40)
                )));
            }
        }
    }
    Ok(findings)
}

/// A cold build of the dependencies on a small shared machine.
const LIMIT: Duration = Duration::from_mins(15);
