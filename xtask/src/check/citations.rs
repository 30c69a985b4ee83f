//! Every rule of HTTP/2 is cited beside code and beside a test, or listed as not done.

use super::{Finding, Project};
use crate::citations;

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let faults = citations::faults(project.workspace, project.sources()?)?;
    Ok(faults.into_iter().map(Finding::failure).collect())
}
