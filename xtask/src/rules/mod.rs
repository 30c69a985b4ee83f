//! `cargo xtask rules`: which rules of gRPC are kept, where, and which tests show it.
//!
//! The rules stand in `crates/core/rules`; code and tests cite them in comments. The check `rules` fails when a rule
//! has no test, when a citation names no rule, or when `docs/conformance.md` is not what this makes of them.

mod list;
mod page;
mod scan;

use anyhow::Context as _;

use self::list::{Rule, Section, parse};
use self::scan::{Citation, Which, citations};
use crate::report::{indent, say};
use crate::source::{self, Source};
use crate::workspace::Workspace;

const WIRE: &str = "crates/core/rules/grpc.txt";
const REPORTS: &str = "crates/core/rules/reports.txt";
const PAGE: &str = "docs/conformance.md";

/// The rules, and every place that cites one.
struct Rules {
    wire: Vec<Section>,
    reports: Vec<Section>,
    citations: Vec<Citation>,
}

/// Writes the page anew and prints what is missing; says whether nothing is.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let rules = Rules::read(workspace, &source::sources(workspace)?)?;
    let path = workspace.root().join(PAGE);
    std::fs::write(&path, page::page(&rules)).with_context(|| format!("could not write {PAGE}"))?;
    for (which, name) in [(Which::Wire, "rules"), (Which::Reports, "faults of other stacks")] {
        let kept = || rules.kept(which);
        let tested = kept().filter(|rule| rules.tests(which, &rule.id).next().is_some()).count();
        say(&format!(
            "{name}: {} in all, {} kept, {tested} of them with a test",
            rules.of(which).count(),
            kept().count()
        ));
    }
    let faults = rules.faults();
    if !faults.is_empty() {
        say(&format!("\n{} faults:\n{}", faults.len(), indent(&faults.join("\n"), 2)));
    }
    Ok(faults.is_empty())
}

/// Everything that is missing or wrong, for the check.
pub(crate) fn faults(workspace: &Workspace, sources: &[Source]) -> anyhow::Result<Vec<String>> {
    let rules = Rules::read(workspace, sources)?;
    let mut faults = rules.faults();
    if workspace.read(PAGE.as_ref())?.unwrap_or_default() != page::page(&rules) {
        faults.push(format!("{PAGE} is not up to date; `cargo xtask rules` writes it"));
    }
    Ok(faults)
}

impl Rules {
    fn read(workspace: &Workspace, sources: &[Source]) -> anyhow::Result<Self> {
        let list = |path: &str| {
            let text = workspace.read(path.as_ref())?.with_context(|| format!("{path} is missing"))?;
            parse(&text).with_context(|| path.to_owned())
        };
        let (wire, reports) = (list(WIRE)?, list(REPORTS)?);
        let mut citations: Vec<Citation> = sources
            .iter()
            .filter(|source| !source.path.starts_with("xtask/src/rules"))
            .flat_map(|source| citations(&source.path, &source.text, source.is_test))
            .collect();
        citations.sort();
        Ok(Self { wire, reports, citations })
    }

    fn of(&self, which: Which) -> impl Iterator<Item = &Rule> {
        let sections = match which {
            Which::Wire => &self.wire,
            Which::Reports => &self.reports,
        };
        sections.iter().flat_map(|section| &section.rules)
    }

    fn kept(&self, which: Which) -> impl Iterator<Item = &Rule> {
        self.of(which).filter(|rule| rule.not_yet.is_none())
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (which, word) in [(Which::Wire, "wire-rules"), (Which::Reports, "bug-reports")] {
            for rule in self.kept(which).filter(|rule| self.tests(which, &rule.id).next().is_none()) {
                faults.push(format!("no test cites {word} {}: {}", rule.id, rule.text));
            }
        }
        for rule in
            self.kept(Which::Wire).filter(|rule| self.cited(Which::Wire, &rule.id).all(|at| at.in_test))
        {
            faults.push(format!("no code cites wire-rules {}: {}", rule.id, rule.text));
        }
        for place in &self.citations {
            if self.of(place.which).all(|rule| rule.id != place.id) {
                faults.push(format!("{}:{}: no rule is called {}", place.path, place.line, place.id));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        let text = text.replace("RULES", &format!("wire-{}", "rules"));
        Rules {
            wire: parse("# A\n1: one\n2: two\n3 not yet: three\n    because: no\n").unwrap(),
            reports: parse("# A\n72: a fault\n").unwrap(),
            citations: citations("a.rs".as_ref(), &text, false),
        }
    }

    #[test]
    fn a_rule_needs_code_and_a_test_and_a_report_a_test() {
        let text = "// RULES 1, 2\nfn a() {}\n#[cfg(test)]\nmod tests {\n// RULES 2\nfn two() {}\n// RULES 4\nfn four() \
                    {}\n}\n";
        let faults = rules(text).faults();
        let expected = [
            "no test cites wire-rules 1: one",
            "no test cites bug-reports 72: a fault",
            "a.rs:7: no rule is called 4",
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn the_page_names_code_and_tests() {
        let text = "// RULES 1\nfn a() {}\n#[cfg(test)]\nmod tests {\n// RULES 1\nfn shows_it() {}\n}\n";
        let page = page::page(&rules(text));
        assert!(page.contains("| 1 | one | [`a.rs`](../a.rs) | [`shows_it`](../a.rs) |  |"), "{page}");
        assert!(page.contains("| 3 | three | *not yet: no* |"), "{page}");
    }
}
