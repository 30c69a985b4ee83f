//! `cargo xtask compare`: measurements beside other stacks, that anybody can repeat.
//!
//! Every server is asked first whether it really answers. Then all of them stay up, and each round gives every one of
//! them one window for each scenario, in an order that turns from round to round, so that what else the machine does
//! meets all alike. A ratio is one of processor times within a round; what is reported is the median of the rounds, and
//! the smallest and the largest of them.

mod compression;
mod facts;
mod memory;
mod page;
mod plot;
mod rotation;
mod scenario;
mod stack;
mod statistics;
mod window;

use std::process::Command;
use std::time::Duration;

use anyhow::bail;

use self::rotation::Rotation;
use self::scenario::Scenario;
use self::stack::Stack;
use crate::process;
use crate::report::{say, tail};
use crate::workspace::Workspace;

/// What is to be compared, and how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Names of stacks and scenarios; of what is not named, all.
    pub(crate) words: Vec<String>,
    pub(crate) rounds: u64,
    pub(crate) seconds: u64,
    /// Write the figures into docs/performance.md.
    pub(crate) write: bool,
}

/// Runs the comparison that the words name.
pub(crate) fn run(workspace: &Workspace, wanted: &Wanted) -> anyhow::Result<bool> {
    if wanted.words == ["compression"] {
        return compression::run(workspace);
    }
    if wanted.words.first().is_some_and(|word| word == "memory") {
        return memory::run(workspace, wanted);
    }
    let (stacks, scenarios) = sort(&wanted.words)?;
    let facts = facts::Facts::read(workspace)?;
    say(&facts.to_string());
    let rotation = Rotation::start(workspace, &stacks, &scenarios)?;
    let results = rotation.run(wanted.rounds, Duration::from_secs(wanted.seconds))?;
    let page = page::Page { facts: &facts, results: &results, wanted };
    say(&page.to_string());
    if wanted.write {
        page.write(workspace)?;
    }
    Ok(results.errors() == 0)
}

/// Tells stacks from scenarios.
fn sort(words: &[String]) -> anyhow::Result<(Vec<Stack>, Vec<&'static Scenario>)> {
    let (mut stacks, mut scenarios) = (Vec::new(), Vec::new());
    for word in words {
        if let Some(stack) = Stack::named(word) {
            stacks.push(stack);
        } else if let Some(scenario) = Scenario::named(word) {
            scenarios.push(scenario);
        } else {
            bail!(
                "there is no `{word}` to compare; stacks: {}; scenarios: {}; or `compression` alone, or `memory` with stacks",
                Stack::ALL.map(Stack::name).join(" "),
                Scenario::ALL.iter().map(|scenario| scenario.name).collect::<Vec<_>>().join(" ")
            );
        }
    }
    if stacks.is_empty() {
        stacks.extend(Stack::ALL);
    }
    if scenarios.is_empty() {
        scenarios.extend(Scenario::ALL);
    }
    Ok((stacks, scenarios))
}

/// Runs a program to its end and returns what it printed.
fn step(command: &mut Command) -> anyhow::Result<String> {
    let outcome = process::run(command, LIMIT, |_| {})?;
    if !outcome.success() {
        bail!(
            "{} failed ({}):\n{}",
            command.get_program().display(),
            outcome.verdict(),
            tail(&outcome.output, 40)
        );
    }
    Ok(outcome.output)
}

/// A build with all optimisations takes minutes.
const LIMIT: Duration = Duration::from_mins(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stacks_or_scenarios() {
        let words = ["U256", "tonic", "peregrine"].map(str::to_owned);
        let (stacks, scenarios) = sort(&words).unwrap();
        assert_eq!(stacks, [Stack::Tonic, Stack::Peregrine]);
        assert_eq!(scenarios.len(), 1);
        assert_eq!(sort(&[]).unwrap().0, Stack::ALL);
        assert!(sort(&["fast".to_owned()]).unwrap_err().to_string().contains("S16x256"));
    }
}
