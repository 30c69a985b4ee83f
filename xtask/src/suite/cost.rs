//! Part `cost`: what a call costs in counts, each scenario against its ceiling.

use super::Run;
use crate::cost;

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    let id = |scenario: &str| format!("cost/{scenario}");
    if !cost::names(run.workspace)?.iter().any(|name| run.wants(&id(name))) {
        return Ok(());
    }
    let verdicts = cost::verdicts(run.workspace, |name| run.wants(&id(name)))?;
    for verdict in verdicts {
        let id = id(&verdict.scenario);
        if verdict.complaints.is_empty() {
            run.results.pass(&id, verdict.elapsed);
        } else {
            run.results.fail(&id, &verdict.complaints.join("\n"));
        }
    }
    Ok(())
}
