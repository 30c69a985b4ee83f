//! `cargo xtask citations`: which rules of HTTP/2 are kept, where that is shown, and what is deliberately not done.
//!
//! The rules stand in `crates/http2/rules`, each with an id; code and tests cite ids in comments. The check
//! `citations` fails when one is missing on either side.

mod rules;
mod scan;

use std::collections::BTreeMap;

use anyhow::Context as _;

use self::rules::{Rule, parse};
use self::scan::{Citation, citations};
use crate::report::{indent, say};
use crate::source::{self, Source};
use crate::workspace::Workspace;

/// The lists, by the text they are about.
const LISTS: [(&str, &str); 3] = [
    ("RFC 9113", "crates/http2/rules/rfc9113.txt"),
    ("RFC 7541", "crates/http2/rules/rfc7541.txt"),
    ("RFC 9218", "crates/http2/rules/rfc9218.txt"),
];

/// Prints the coverage and the exceptions; says whether nothing is missing.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let coverage = Coverage::read(workspace, &source::sources(workspace)?)?;
    for (name, rules) in &coverage.lists {
        let kept: Vec<&Rule> = rules.iter().filter(|rule| rule.not_done.is_none()).collect();
        let cited = |tests| kept.iter().filter(|rule| coverage.count(&rule.id, tests) > 0).count();
        say(&format!(
            "{name}: {} rules, {} kept and {} not done; of those kept {} are cited in code and {} in tests",
            rules.len(),
            kept.len(),
            rules.len() - kept.len(),
            cited(false),
            cited(true)
        ));
    }
    say("\nnot done:");
    for (rule, why) in coverage.rules().filter_map(|rule| Some((rule, rule.not_done.as_ref()?))) {
        say(&format!("  {}: {}", rule.id, rule.text));
        say(&indent(&format!("because: {why}"), 4));
    }
    let faults = coverage.faults();
    if !faults.is_empty() {
        say(&format!("\n{} faults:\n{}", faults.len(), indent(&faults.join("\n"), 2)));
    }
    Ok(faults.is_empty())
}

/// Everything that is missing or wrong, for the check.
pub(crate) fn faults(workspace: &Workspace, sources: &[Source]) -> anyhow::Result<Vec<String>> {
    Ok(Coverage::read(workspace, sources)?.faults())
}

/// The rules, and every place that cites one.
struct Coverage {
    lists: Vec<(&'static str, Vec<Rule>)>,
    cited: BTreeMap<String, Vec<Citation>>,
}

impl Coverage {
    fn read(workspace: &Workspace, sources: &[Source]) -> anyhow::Result<Self> {
        let mut lists = Vec::new();
        for (name, path) in LISTS {
            let text = std::fs::read_to_string(workspace.root().join(path))
                .with_context(|| format!("could not read {path}"))?;
            lists.push((name, parse(&text).with_context(|| path.to_owned())?));
        }
        let mut cited: BTreeMap<String, Vec<Citation>> = BTreeMap::new();
        for source in sources {
            for (id, citation) in citations(&source.path, &source.text, source.is_test) {
                cited.entry(id).or_default().push(citation);
            }
        }
        Ok(Self { lists, cited })
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.lists.iter().flat_map(|(_, rules)| rules)
    }

    /// How often code, or tests, cite a rule.
    fn count(&self, id: &str, in_tests: bool) -> usize {
        let places = self.cited.get(id).map_or(&[][..], Vec::as_slice);
        places.iter().filter(|citation| citation.in_test == in_tests).count()
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for rule in self.rules().filter(|rule| rule.not_done.is_none()) {
            for (in_tests, what) in [(false, "no code"), (true, "no test")] {
                if self.count(&rule.id, in_tests) == 0 {
                    faults.push(format!("{what} cites {}: {}", rule.id, rule.text));
                }
            }
        }
        for (id, places) in &self.cited {
            if self.rules().all(|rule| rule.id != *id) {
                faults.extend(places.iter().map(|place| format!("{}: no rule is called {id}", place.at)));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(code: &str, test: &str) -> Coverage {
        let rules =
            parse("9113-1-1: one\n9113-1-2: two\n9113-1-3 not done: three\n    because: no\n").unwrap();
        let mut cited: BTreeMap<String, Vec<Citation>> = BTreeMap::new();
        for (text, is_test) in [(code, false), (test, true)] {
            for (id, citation) in citations("a.rs".as_ref(), text, is_test) {
                cited.entry(id).or_default().push(citation);
            }
        }
        Coverage { lists: vec![("list", rules)], cited }
    }

    /// A citation as a line of code has it; put together so that this file cites nothing.
    fn cite(ids: &[&str]) -> String {
        let cited: Vec<String> = ids.iter().map(|id| format!("[{id}]")).collect();
        format!("// {}\n", cited.join(" "))
    }

    #[test]
    fn a_rule_is_kept_by_code_and_shown_by_a_test() {
        let both = cite(&["9113-1-1", "9113-1-2"]);
        assert!(coverage(&both, &both).faults().is_empty());
        let faults = coverage(&cite(&["9113-1-1"]), &both).faults();
        assert_eq!(faults, ["no code cites 9113-1-2: two"]);
        let faults = coverage(&both, &cite(&["9113-1-2"])).faults();
        assert_eq!(faults, ["no test cites 9113-1-1: one"]);
    }

    #[test]
    fn an_unknown_id_is_found() {
        let both = cite(&["9113-1-1", "9113-1-2"]);
        let faults = coverage(&(both.clone() + &cite(&["9113-1-4"])), &both).faults();
        assert_eq!(faults, ["a.rs:2: no rule is called 9113-1-4"]);
    }
}
