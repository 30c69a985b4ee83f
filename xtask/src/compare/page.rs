//! The figures as text: tables for the terminal and for docs/performance.md.

use std::fmt::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;

use super::Wanted;
use super::facts::Facts;
use super::plot;
use super::rotation::{Entry, Results, Role};
use super::scenario::{Kind, Scenario};
use super::stack::Stack;
use super::statistics::{Spread, short};
use super::window::Window;
use crate::workspace::Workspace;

pub(super) struct Page<'p> {
    pub(super) facts: &'p Facts,
    pub(super) results: &'p Results,
    pub(super) wanted: &'p Wanted,
}

impl Page<'_> {
    /// Puts the tables and the plot where docs/performance.md has them.
    pub(super) fn write(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let path = workspace.root().join(PAGE);
        let page = std::fs::read_to_string(&path).with_context(|| format!("could not read {PAGE}"))?;
        let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{PAGE} has no `{BEGIN}`"))?;
        let (_, after) = rest.split_once(END).with_context(|| format!("{PAGE} has no `{END}`"))?;
        let picture = if self.of(Kind::Server).next().is_some() {
            let drawn = plot::draw(self.results);
            let file = path.with_file_name(PICTURE);
            std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
            std::fs::write(file, drawn)?;
            format!("\n![Processor time a call, as a share of tonic's]({PICTURE})\n")
        } else {
            String::new()
        };
        Ok(std::fs::write(&path, format!("{before}{BEGIN}\n\n{self}{picture}\n{END}{after}"))?)
    }

    fn of(&self, kind: Kind) -> impl Iterator<Item = &'static Scenario> {
        self.results
            .scenarios
            .iter()
            .map(|(scenario, _)| *scenario)
            .filter(move |scenario| scenario.kind == kind)
    }

    fn stacks(&self) -> impl Iterator<Item = Stack> {
        self.results.versions.iter().map(|(stack, _)| *stack)
    }

    /// A table of servers, with what `cell` makes of each scenario.
    fn servers(
        &self,
        f: &mut fmt::Formatter<'_>,
        cell: impl Fn(&Scenario, Entry) -> Option<String>,
    ) -> fmt::Result {
        let scenarios: Vec<_> = self.of(Kind::Server).collect();
        if scenarios.is_empty() {
            return Ok(());
        }
        let titles: Vec<_> = scenarios.iter().map(|scenario| scenario.title).collect();
        writeln!(f, "| server | {} |", titles.join(" | "))?;
        writeln!(f, "|---|{}", "---|".repeat(titles.len()))?;
        for stack in self.stacks() {
            let entry = Entry { stack, role: Role::Pinned };
            write!(f, "| {} |", stack.name())?;
            for scenario in &scenarios {
                let is_wrong = self.results.unanswered.contains(&(scenario.name, entry));
                let other = if is_wrong { "wrong answers" } else { "-" };
                write!(f, " {} |", cell(scenario, entry).unwrap_or_else(|| other.to_owned()))?;
            }
            writeln!(f)?;
        }
        writeln!(f)
    }

    fn threads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for scenario in self.of(Kind::Threads) {
            writeln!(f, "| {} | one | two | two to one |\n|---|---|---|---|", scenario.title)?;
            for stack in self.stacks().filter(|stack| stack.takes_part(scenario)) {
                let [one, two] = [1, 2].map(|threads| Entry { stack, role: Role::Free(threads) });
                let cells =
                    [self.time(scenario, one), self.time(scenario, two), self.ratio(scenario, two, one)];
                let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
                writeln!(f, "| {} | {} |", stack.name(), cells.join(" | "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn clients(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for scenario in self.of(Kind::Client) {
            writeln!(f, "| client | {} | ratio |\n|---|---|---|", scenario.title)?;
            let first = Entry { stack: self.first(), role: Role::Client };
            for stack in self.stacks().filter(|stack| stack.takes_part(scenario)) {
                let entry = Entry { stack, role: Role::Client };
                let cells = [self.time(scenario, entry), self.ratio(scenario, entry, first)];
                let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
                writeln!(f, "| {} | {} |", stack.name(), cells.join(" | "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    /// The stack that the others are compared with.
    fn first(&self) -> Stack {
        self.stacks().min().unwrap_or(Stack::Tonic)
    }

    fn time(&self, scenario: &Scenario, entry: Entry) -> Option<String> {
        let windows = self.results.windows(scenario, entry);
        Some(format!("{} us", short(Spread::of(windows.iter().map(|window| window.cpu_us))?.median)))
    }

    fn ratio(&self, scenario: &Scenario, entry: Entry, to: Entry) -> Option<String> {
        let spread = ratio(self.results.windows(scenario, entry), self.results.windows(scenario, to))?;
        Some(format!("{} ({} to {})", short(spread.median), short(spread.least), short(spread.most)))
    }
}

/// Processor times of one entry by those of another, round by round.
pub(super) fn ratio(of: &[Window], to: &[Window]) -> Option<Spread> {
    Spread::of(of.iter().zip(to).map(|(of, to)| of.cpu_us / to.cpu_us))
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wanted { words, rounds, seconds, .. } = self.wanted;
        let mut command = String::from("cargo xtask compare");
        for word in words {
            let _ = write!(command, " {word}");
        }
        writeln!(f, "`{command} --rounds {rounds} --seconds {seconds}` on {}.\n", self.facts)?;
        let versions: Vec<_> = self
            .results
            .versions
            .iter()
            .map(|(stack, version)| format!("{} {version}", stack.name()))
            .collect();
        writeln!(f, "Versions: {}.\n", versions.join(", "))?;
        let errors = self.results.errors();
        if errors > 0 {
            writeln!(f, "**{errors} calls were answered wrongly.**\n")?;
        }
        let first = Entry { stack: self.first(), role: Role::Pinned };
        if self.of(Kind::Server).next().is_some() {
            let name = first.stack.name();
            writeln!(
                f,
                "Processor time of the server a call, as a share of {name}'s in the same round: median (least to most).\n"
            )?;
        }
        self.servers(f, |scenario, entry| self.ratio(scenario, entry, first))?;
        if self.of(Kind::Server).next().is_some() {
            writeln!(f, "The same in microseconds, medians.\n")?;
        }
        self.servers(f, |scenario, entry| self.time(scenario, entry))?;
        self.threads(f)?;
        self.clients(f)
    }
}

const PAGE: &str = "docs/performance.md";
/// Beside the page.
const PICTURE: &str = "performance/servers.svg";
const BEGIN: &str = "<!-- written by `cargo xtask compare --write` -->";
const END: &str = "<!-- end of what is written -->";
