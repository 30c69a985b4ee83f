//! Part `big_protos`: code for protos that people use, with each codec. `cargo xtask big-protos` does all of them.

use super::Run;
use crate::big_protos;

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let filters = run.filters.clone();
    let is_part = |filter: &String| filter.contains("big_protos") || "big_protos".contains(filter.as_str());
    if !filters.is_empty() && !filters.iter().any(is_part) {
        return Ok(());
    }
    let wanted = |id: &str| filters.is_empty() || filters.iter().any(|filter| id.contains(filter.as_str()));
    let trees = match big_protos::sample(run.workspace) {
        Ok(trees) => trees,
        // The protos come from packages; npm may be missing.
        Err(error) => {
            run.results.unavailable(1, "big_protos", &format!("{error:#}"));
            return Ok(());
        }
    };
    let results = &mut run.results;
    big_protos::run_sample(run.workspace, &trees, wanted, |id, outcome| match outcome {
        Ok(elapsed) => results.pass(id, elapsed),
        Err(error) => results.fail(id, &format!("{error:#}")),
    })
}
