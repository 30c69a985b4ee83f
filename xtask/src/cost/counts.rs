//! The figures of a scenario.

use std::time::Duration;

use anyhow::Context as _;

use super::profile::Functions;

/// What a run has used from its first call to its last, as the program prints it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) calls: u64,
    allocations: u64,
    bytes: u64,
    reads: u64,
    writes: u64,
}

/// The same for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
    pub(super) reads: f64,
    pub(super) writes: f64,
}

/// A scenario's figures, and where its instructions go.
pub(super) struct Measured {
    pub(super) counts: Counts,
    pub(super) functions: Functions,
    pub(super) elapsed: Duration,
}

impl Totals {
    /// Reads `calls=1 allocations=2 bytes=3 reads=4 writes=5`.
    pub(super) fn parse(line: &str) -> anyhow::Result<Self> {
        let value = |name: &str| {
            let find = |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
            line.split_whitespace().find_map(find).with_context(|| format!("no {name}= in `{line}`"))
        };
        Ok(Self {
            calls: value("calls")?,
            allocations: value("allocations")?,
            bytes: value("bytes")?,
            reads: value("reads")?,
            writes: value("writes")?,
        })
    }

    /// Per call, of the calls that `shorter` did not make.
    pub(super) fn since(&self, shorter: &Self, instructions: f64) -> Counts {
        let calls = self.calls.saturating_sub(shorter.calls).max(1) as f64;
        let per_call = |of: fn(&Self) -> u64| of(self).saturating_sub(of(shorter)) as f64 / calls;
        Counts {
            instructions,
            allocations: per_call(|totals| totals.allocations),
            bytes: per_call(|totals| totals.bytes),
            reads: per_call(|totals| totals.reads),
            writes: per_call(|totals| totals.writes),
        }
    }
}

impl Counts {
    pub(super) const TITLE: &str =
        "scenario                     instructions  allocations       bytes   reads  writes";

    /// One line of the table.
    pub(super) fn row(&self, name: &str) -> String {
        let Self { instructions, allocations, bytes, reads, writes } = self;
        format!("{name:28} {instructions:12.0} {allocations:12.2} {bytes:11.0} {reads:7.3} {writes:7.3}")
    }

    /// The greater of each two figures.
    pub(super) fn raise(&mut self, other: &Self) {
        self.instructions = self.instructions.max(other.instructions);
        self.allocations = self.allocations.max(other.allocations);
        self.bytes = self.bytes.max(other.bytes);
        self.reads = self.reads.max(other.reads);
        self.writes = self.writes.max(other.writes);
    }

    /// Figure by figure, with its name.
    pub(super) fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("instructions", self.instructions),
            ("allocations", self.allocations),
            ("bytes", self.bytes),
            ("reads", self.reads),
            ("writes", self.writes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_give_the_cost_of_a_call() {
        let short = Totals::parse("calls=10 allocations=30 bytes=100 reads=4 writes=2").unwrap();
        let long = Totals::parse("calls=30 allocations=50 bytes=500 reads=9 writes=3").unwrap();
        let counts = long.since(&short, 7.0);
        let expected = Counts { instructions: 7.0, allocations: 1.0, bytes: 20.0, reads: 0.25, writes: 0.05 };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_line_without_a_figure_is_refused() {
        assert!(Totals::parse("calls=10 allocations=30 bytes=100 reads=4").is_err());
    }
}
