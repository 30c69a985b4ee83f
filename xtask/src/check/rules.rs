//! Every rule of gRPC is cited beside code and beside a test, and the page that says so is up to date.

use super::{Finding, Project};
use crate::rules;

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let faults = rules::faults(project.workspace, project.sources()?)?;
    Ok(faults.into_iter().map(Finding::failure).collect())
}
