//! `cargo xtask cost`: what a call costs, in counts, and whether that is within `benches/cost/cost.toml`.
//!
//! The program `call-cost` makes the calls of a scenario on one thread, over a socket pair, with one side made
//! beforehand; it counts allocations and socket calls by itself, and callgrind counts instructions. Two runs of
//! different length are subtracted, so that what a start costs is left out. The figures are the same each time, however
//! busy the machine is. A figure over its ceiling fails, and for instructions the functions are named that grew.

mod ceilings;
mod counts;
mod profile;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use self::ceilings::Ceilings;
use self::counts::{Counts, Measured};
use self::profile::Profile;
use crate::process;
use crate::report::{say, tail};
use crate::workspace::Workspace;

const PROGRAM: &str = "call-cost";
/// Callgrind runs a program some fifty times slower than it is.
const LIMIT: Duration = Duration::from_mins(5);
/// Runs of which the worst figures are written down, and runs of which one has to be within them.
const WRITTEN_TRIES: usize = 3;
const JUDGED_TRIES: usize = 5;

/// One scenario, measured and judged.
pub(crate) struct Verdict {
    pub(crate) scenario: String,
    pub(crate) elapsed: Duration,
    counts: Option<Counts>,
    /// What is over its ceiling, a line each, or why nothing could be measured.
    pub(crate) complaints: Vec<String>,
}

/// Prints the table for the scenarios whose name contains one of the filters, or for all; says whether every figure is
/// within its ceiling. With `write`, what was measured becomes the ceiling of the scenarios that were run.
pub(crate) fn run(workspace: &Workspace, filters: &[String], write: bool) -> anyhow::Result<bool> {
    let scenarios = scenarios(workspace)?;
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    let wanted: Vec<&Scenario> = scenarios.iter().filter(|scenario| is_wanted(&scenario.name)).collect();
    if wanted.is_empty() {
        bail!("no scenario's name contains {}", filters.join(" or "));
    }
    let mut ceilings = Ceilings::read(workspace)?;
    if write {
        for _ in 0..WRITTEN_TRIES {
            for (name, measured) in measure_all(workspace, &wanted)? {
                ceilings.raise(name, measured?);
            }
        }
        ceilings.write(workspace)?;
        return Ok(true);
    }
    say(Counts::TITLE);
    let mut is_within = true;
    for verdict in judge_all(workspace, &ceilings, &scenarios, wanted)? {
        if let Some(counts) = verdict.counts {
            say(&counts.row(&verdict.scenario));
        }
        for line in &verdict.complaints {
            say(line);
        }
        is_within &= verdict.complaints.is_empty();
    }
    Ok(is_within)
}

/// The scenarios as tests of the whole run. The program has to be built.
pub(crate) fn verdicts(workspace: &Workspace, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Verdict>> {
    let scenarios = scenarios(workspace)?;
    let wanted = scenarios.iter().filter(|scenario| wanted(&scenario.name)).collect();
    judge_all(workspace, &Ceilings::read(workspace)?, &scenarios, wanted)
}

/// Measures each scenario of `left` until its figures are within their ceilings, several times at most: how often entries
/// of a table get into each other's way depends on the hash seed of the run, and what has really grown grows with each.
/// One that is compared with another one of `scenarios` is always measured in the same run as that.
fn judge_all<'s>(
    workspace: &Workspace,
    ceilings: &Ceilings,
    scenarios: &'s [Scenario],
    mut left: Vec<&'s Scenario>,
) -> anyhow::Result<Vec<Verdict>> {
    let mut verdicts: BTreeMap<String, Verdict> = BTreeMap::new();
    for _ in 0..JUDGED_TRIES {
        let run = measure_all(workspace, &with_partners(scenarios, &left))?;
        for scenario in &left {
            let verdict = Verdict::of(ceilings, &scenario.name, &run);
            verdicts.insert(scenario.name.clone(), verdict);
        }
        left.retain(|scenario| {
            verdicts.get(&scenario.name).is_none_or(|verdict| !verdict.complaints.is_empty())
        });
        if left.is_empty() {
            break;
        }
    }
    Ok(verdicts.into_values().collect())
}

/// `wanted`, and those of `scenarios` that one of them is compared with.
fn with_partners<'s>(scenarios: &'s [Scenario], wanted: &[&'s Scenario]) -> Vec<&'s Scenario> {
    let is_wanted = |name: &str| wanted.iter().any(|scenario| scenario.name == name);
    let is_partner =
        |name: &str| wanted.iter().any(|scenario| ceilings::partner(&scenario.name) == Some(name));
    scenarios.iter().filter(|scenario| is_wanted(&scenario.name) || is_partner(&scenario.name)).collect()
}

impl Verdict {
    /// Of a scenario of this run.
    fn of(ceilings: &Ceilings, scenario: &str, run: &BTreeMap<String, anyhow::Result<Measured>>) -> Self {
        let measured = run.get(scenario).and_then(|measured| measured.as_ref().ok());
        let partner = ceilings::partner(scenario).and_then(|name| run.get(name)?.as_ref().ok());
        Self {
            scenario: scenario.to_owned(),
            elapsed: measured.map(|measured| measured.elapsed).unwrap_or_default(),
            counts: measured.map(|measured| measured.counts),
            complaints: match run.get(scenario) {
                Some(Ok(measured)) => ceilings.judge(scenario, measured, partner),
                Some(Err(error)) => vec![format!("{error:#}")],
                None => vec![format!("{scenario} was not measured")],
            },
        }
    }
}

/// Names of all scenarios, without a build: as the ceilings have them.
pub(crate) fn names(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    Ok(Ceilings::read(workspace)?.names())
}

/// A scenario and the calls of its measured stretch.
struct Scenario {
    name: String,
    calls: usize,
}

/// Those of the program.
fn scenarios(workspace: &Workspace) -> anyhow::Result<Vec<Scenario>> {
    let mut build = workspace.cargo(&["build", "--release", "--quiet", "--package=peregrine-bench-cost"]);
    let built = process::run(&mut build, Duration::from_mins(20), |_| {})?;
    if !built.success() {
        bail!("`{PROGRAM}` does not build ({}):\n{}", built.verdict(), tail(&built.output, 20));
    }
    let list = process::run(Command::new(workspace.release_program(PROGRAM)).arg("list"), LIMIT, |_| {})?;
    let read = |line: &str| {
        let (name, calls) = line.split_once(' ')?;
        Some(Scenario { name: name.to_owned(), calls: calls.parse().ok()? })
    };
    list.output.lines().map(|line| read(line).with_context(|| format!("not a scenario: {line}"))).collect()
}

/// Measures all, as many at once as there are cores: counts do not mind company.
fn measure_all(
    workspace: &Workspace,
    scenarios: &[impl Borrow<Scenario> + Sync],
) -> anyhow::Result<BTreeMap<String, anyhow::Result<Measured>>> {
    require_callgrind()?;
    let folder = workspace.target().join("cost");
    std::fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    let program = workspace.release_program(PROGRAM);
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(scenarios.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let scenario = scenario.borrow();
                    let measured = measure(&program, &folder, scenario);
                    if let Ok(mut results) = results.lock() {
                        results.insert(scenario.name.clone(), measured);
                    }
                }
            });
        }
    });
    results.into_inner().ok().context("a thread that measures has panicked")
}

fn require_callgrind() -> anyhow::Result<()> {
    match Command::new("valgrind").arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => bail!("`valgrind`, which counts instructions, is missing: `apt-get install valgrind`"),
    }
}

/// A short run and a long one, and what lies between them.
fn measure(program: &Path, folder: &Path, scenario: &Scenario) -> anyhow::Result<Measured> {
    let start = Instant::now();
    let stem = folder.join(scenario.name.replace('/', "-"));
    let file = |which: &str| PathBuf::from(format!("{}.{which}.callgrind", stem.display()));
    let short = count(program, scenario, scenario.calls / 2, &file("short"))?;
    let long = count(program, scenario, scenario.calls / 2 + scenario.calls, &file("long"))?;
    let calls = long.totals.calls.saturating_sub(short.totals.calls);
    if calls == 0 {
        bail!("both runs made {} calls", long.totals.calls);
    }
    let functions = long.profile.since(&short.profile, calls);
    let counts = long.totals.since(&short.totals, functions.total());
    Ok(Measured { counts, functions, elapsed: start.elapsed() })
}

/// One run: what it printed, and where its instructions went.
struct Counted {
    totals: counts::Totals,
    profile: Profile,
}

fn count(program: &Path, scenario: &Scenario, calls: usize, file: &Path) -> anyhow::Result<Counted> {
    let mut command = Command::new("valgrind");
    // In this order: naming a function turns the collection off at the start, which is then turned on again, so that
    // the function turns it off.
    command.args(["--tool=callgrind", "--toggle-collect=*other_end_poll*", "--collect-atstart=yes"]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(program).args([scenario.name.as_str(), &calls.to_string()]);
    let outcome = process::run(&mut command, LIMIT, |_| {})?;
    let line = outcome.output.lines().find(|line| line.starts_with("calls="));
    let (true, Some(line)) = (outcome.success(), line) else {
        bail!("{}: {}\n{}", scenario.name, outcome.verdict(), tail(&outcome.output, 6));
    };
    let totals = counts::Totals::parse(line)?;
    let text = std::fs::read_to_string(file).with_context(|| format!("no profile in {}", file.display()))?;
    let profile = Profile::parse(&text)?;
    std::fs::remove_file(file)?;
    Ok(Counted { totals, profile })
}
