//! `benches/cost/cost.toml` and `benches/cost/functions.tsv`: what a call may cost, and where its instructions went when
//! that was written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Context as _;

use super::counts::{Counts, Measured};
use super::profile::Functions;
use crate::workspace::Workspace;

const FILE: &str = "benches/cost/cost.toml";
const FUNCTIONS: &str = "benches/cost/functions.tsv";

/// Instructions over the figure that was written: two compilers of the same version lay code out the same way, but
/// library functions chosen by the processor (memcpy) differ by a little from machine to machine.
const ROOM: f64 = 1.03;
/// Scenarios that may cost only so much more instructions than another one in the same run, whatever their own ceilings
/// say: what is asked for but does nothing has to be next to free.
const RATIOS: [Ratio; 1] = [Ratio {
    scenario: "server/gzip-200",
    most: 1.02,
    than: "server/unary-200",
    why: "nothing is compressed",
}];
/// Functions below this share of a call are not written down.
const LEAST_SHARE: f64 = 0.01;

const HEADER: &str = "\
# What a call may cost, counted by `cargo xtask cost`: user instructions, allocations and bytes asked for, reads and writes
# of the socket. Figures are those that were measured; a run fails if instructions or bytes are more than 3 % over
# them, allocations by 0.1, reads or writes by 0.02. Written by `cargo xtask cost --write`, which takes worse figures too: a
# change of this file says why.
";

/// See [`RATIOS`].
struct Ratio {
    scenario: &'static str,
    most: f64,
    than: &'static str,
    why: &'static str,
}

impl Ratio {
    /// What is wrong with the scenario, of which so much was `measured`, beside the other one.
    fn judge(&self, measured: &Measured, other: Option<&Measured>) -> Option<String> {
        let Self { scenario, most, than, why } = self;
        let Some(other) = other else {
            return Some(format!("{scenario}: {than} was not measured beside it"));
        };
        let (now, other) = (measured.counts.instructions, other.counts.instructions);
        (now > other * most).then(|| {
            format!(
                "{scenario}: {now:.0} instructions a call are {:.3} times the {other:.0} of {than}; {most} times are \
                 allowed, since {why}",
                now / other
            )
        })
    }
}

/// What a scenario is compared with, and so has to be measured in the same run.
pub(super) fn partner(scenario: &str) -> Option<&'static str> {
    RATIOS.iter().find(|ratio| ratio.scenario == scenario).map(|ratio| ratio.than)
}

#[derive(Default)]
pub(super) struct Ceilings {
    counts: BTreeMap<String, Counts>,
    functions: BTreeMap<String, Functions>,
    /// Scenarios whose figures are of this program's own run.
    raised: BTreeSet<String>,
}

impl Ceilings {
    pub(super) fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let text = |file: &str| std::fs::read_to_string(workspace.root().join(file)).unwrap_or_default();
        Self::parse(&text(FILE), &text(FUNCTIONS))
    }

    fn parse(counts: &str, functions: &str) -> anyhow::Result<Self> {
        let table: toml::Table = counts.parse().with_context(|| format!("{FILE} is not TOML"))?;
        let mut ceilings = Self::default();
        for (name, row) in table {
            let number = |value: &toml::Value| {
                value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
            };
            let figure = |key: &str| {
                let value = row.get(key).and_then(number);
                value.with_context(|| format!("{FILE}: `{name}` has no figure `{key}`"))
            };
            let counts = Counts {
                instructions: figure("instructions")?,
                allocations: figure("allocations")?,
                bytes: figure("bytes")?,
                reads: figure("reads")?,
                writes: figure("writes")?,
            };
            ceilings.counts.insert(name, counts);
        }
        let mut lists: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
        for line in functions.lines() {
            let mut words = line.splitn(3, '\t');
            if let (Some(scenario), Some(cost), Some(name)) = (words.next(), words.next(), words.next()) {
                let cost = cost.parse().with_context(|| format!("{FUNCTIONS}: not a number: {line}"))?;
                lists.entry(scenario.to_owned()).or_default().push((name.to_owned(), cost));
            }
        }
        ceilings.functions = lists.into_iter().map(|(name, list)| (name, Functions::new(list))).collect();
        Ok(ceilings)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.counts.keys().cloned().collect()
    }

    /// What is over its ceiling. `partner`: what was measured of its [`partner`].
    pub(super) fn judge(
        &self,
        scenario: &str,
        measured: &Measured,
        partner: Option<&Measured>,
    ) -> Vec<String> {
        let Some(ceiling) = self.counts.get(scenario) else {
            return vec![format!(
                "{scenario} has no ceiling in {FILE}: run `cargo xtask cost {scenario} --write`"
            )];
        };
        let mut complaints = Vec::new();
        for ((name, now), (_, then)) in measured.counts.named().into_iter().zip(ceiling.named()) {
            let most =
                if ["instructions", "bytes"].contains(&name) { then * ROOM + 8.0 } else { then + 0.02 };
            if now > most {
                complaints.push(format!("{scenario}: {now:.2} {name} a call, where {then:.2} were enough"));
                if name == "instructions" {
                    complaints.extend(self.grown(scenario, measured));
                }
            }
        }
        let ratio = RATIOS.iter().find(|ratio| ratio.scenario == scenario);
        complaints.extend(ratio.and_then(|ratio| ratio.judge(measured, partner)));
        complaints
    }

    fn grown(&self, scenario: &str, measured: &Measured) -> Vec<String> {
        let Some(before) = self.functions.get(scenario) else { return Vec::new() };
        let least = measured.counts.instructions * LEAST_SHARE;
        let grown = measured.functions.grown_since(before, least);
        grown.iter().map(|(name, then, now)| format!("    {then:.0} -> {now:.0}  {name}")).collect()
    }

    /// Takes the figures of a run that is to be written down: the first in place of what was there, the worst of each
    /// of several. The functions are those of the dearest run.
    pub(super) fn raise(&mut self, name: String, measured: Measured) {
        match self.counts.get_mut(&name) {
            Some(counts) if self.raised.contains(&name) => {
                if measured.counts.instructions > counts.instructions {
                    self.functions.insert(name, measured.functions);
                }
                counts.raise(&measured.counts);
            }
            _ => {
                self.raised.insert(name.clone());
                self.counts.insert(name.clone(), measured.counts);
                self.functions.insert(name, measured.functions);
            }
        }
    }

    pub(super) fn write(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let (counts, functions) = self.print();
        for (file, text) in [(FILE, counts), (FUNCTIONS, functions)] {
            std::fs::write(workspace.root().join(file), text)
                .with_context(|| format!("could not write {file}"))?;
        }
        Ok(())
    }

    /// The texts of the two files.
    fn print(&self) -> (String, String) {
        let mut text = HEADER.to_owned();
        for (name, counts) in &self.counts {
            let Counts { instructions, allocations, bytes, reads, writes } = counts;
            let _ = write!(
                text,
                "\n[\"{name}\"]\ninstructions = {instructions:.0}\nallocations = {allocations:.2}\nbytes = {bytes:.0}\n\
                 reads = {reads:.3}\nwrites = {writes:.3}\n"
            );
        }
        let mut functions = String::new();
        for (name, list) in &self.functions {
            for (function, cost) in list.above(LEAST_SHARE) {
                let _ = writeln!(functions, "{name}\t{cost:.0}\t{function}");
            }
        }
        (text, functions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(instructions: f64, allocations: f64) -> Measured {
        Measured {
            counts: Counts { instructions, allocations, bytes: 0.0, reads: 0.0, writes: 0.0 },
            functions: Functions::new(vec![("grown".to_owned(), instructions)]),
            elapsed: std::time::Duration::ZERO,
        }
    }

    #[test]
    fn a_figure_over_its_ceiling_is_told_with_what_grew() {
        let mut ceilings = Ceilings::default();
        ceilings.raise("a".to_owned(), measured(1_000.0, 1.0));
        assert!(ceilings.judge("a", &measured(1_030.0, 1.0), None).is_empty());
        let complaints = ceilings.judge("a", &measured(1_100.0, 2.0), None);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
        assert!(complaints[1].contains("1000 -> 1100  grown"), "{complaints:?}");
        assert!(complaints[2].contains("2.00 allocations"), "{complaints:?}");
    }

    #[test]
    fn a_scenario_may_cost_only_so_much_more_than_another_in_the_same_run() {
        assert_eq!(partner("server/gzip-200"), Some("server/unary-200"));
        assert_eq!(partner("server/unary-200"), None);
        let mut ceilings = Ceilings::default();
        for name in ["server/gzip-200", "server/unary-200"] {
            ceilings.raise(name.to_owned(), measured(2_000.0, 0.0));
        }
        let judge = |now, other| {
            let other = measured(other, 0.0);
            ceilings.judge("server/gzip-200", &measured(now, 0.0), Some(&other))
        };
        assert!(judge(1_020.0, 1_000.0).is_empty());
        let complaints = judge(1_021.0, 1_000.0);
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].contains("1.021 times the 1000 of server/unary-200"), "{complaints:?}");
        let complaints = ceilings.judge("server/gzip-200", &measured(1.0, 0.0), None);
        assert!(complaints[0].contains("was not measured beside it"), "{complaints:?}");
        assert!(ceilings.judge("server/unary-200", &measured(1.0, 0.0), None).is_empty());
    }

    #[test]
    fn what_was_written_is_read_again() {
        let mut written = Ceilings::default();
        written.raise("server/a".to_owned(), measured(1_000.0, 1.25));
        let (counts, functions) = written.print();
        let read = Ceilings::parse(&counts, &functions).unwrap();
        assert_eq!(read.names(), ["server/a"]);
        assert_eq!((read.counts, read.functions), (written.counts, written.functions));
    }

    #[test]
    fn the_worst_of_several_runs_is_written() {
        let mut ceilings =
            Ceilings::parse("[a]\ninstructions = 9\nallocations = 9\nbytes = 0\nreads = 0\nwrites = 0", "")
                .unwrap();
        for run in [measured(5.0, 1.0), measured(4.0, 2.0), measured(3.0, 1.5)] {
            ceilings.raise("a".to_owned(), run);
        }
        let counts = ceilings.counts["a"];
        assert_eq!((counts.instructions, counts.allocations), (5.0, 2.0));
    }

    #[test]
    fn a_scenario_without_a_ceiling_is_a_complaint() {
        assert_eq!(Ceilings::default().judge("a", &measured(1.0, 1.0), None).len(), 1);
    }
}
