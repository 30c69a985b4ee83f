//! `docs/conformance.md`: each rule, the code that keeps it, the tests that show it, the public cases that try it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Rules;
use super::list::{Rule, Section};
use super::scan::{Citation, Which};

/// Files and tests that a row names; the others are counted.
const NAMED: usize = 3;

pub(super) fn page(rules: &Rules) -> String {
    let mut page = HEAD.to_owned();
    for (which, title, sections) in
        [(Which::Wire, "Rules", &rules.wire), (Which::Reports, "Faults of other stacks", &rules.reports)]
    {
        let all = || sections.iter().flat_map(|section| &section.rules);
        let kept = all().filter(|rule| rule.not_yet.is_none()).count();
        let _ = writeln!(page, "\n## {title}\n\n{} of {} are kept.", kept, all().count());
        for section in sections {
            section_table(&mut page, rules, which, section);
        }
    }
    page
}

fn section_table(page: &mut String, rules: &Rules, which: Which, section: &Section) {
    let _ = writeln!(page, "\n### {}\n", section.heading);
    page.push_str("| | rule | code | tests | public cases |\n|---|---|---|---|---|\n");
    for rule in &section.rules {
        let (code, tests) = match &rule.not_yet {
            Some(reason) => (format!("*not yet: {}*", reason.trim_end_matches('.')), String::new()),
            None => (files(rules, which, rule), tests(rules, which, rule)),
        };
        let suite = rule.suite.as_deref().unwrap_or_default();
        let _ = writeln!(
            page,
            "| {} | {} | {code} | {tests} | {suite} |",
            rule.id,
            rule.text.replace('|', "\\|")
        );
    }
}

fn files(rules: &Rules, which: Which, rule: &Rule) -> String {
    let files: BTreeSet<&str> =
        rules.cited(which, &rule.id).filter(|place| !place.in_test).map(|place| &place.path[..]).collect();
    listed(files.into_iter().map(|path| link(path, path.trim_start_matches("crates/"))))
}

fn tests(rules: &Rules, which: Which, rule: &Rule) -> String {
    let tests: BTreeSet<(&str, &str)> = rules.tests(which, &rule.id).collect();
    listed(tests.into_iter().map(|(path, name)| link(path, name)))
}

fn link(path: &str, text: &str) -> String {
    format!("[`{text}`](../{path})")
}

fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(NAMED);
    let mut text: Vec<String> = items.take(NAMED).collect();
    if more > 0 {
        text.push(format!("{more} more"));
    }
    text.join(", ")
}

impl Rules {
    /// Every place that cites the rule.
    pub(super) fn cited<'r>(&'r self, which: Which, id: &'r str) -> impl Iterator<Item = &'r Citation> {
        self.citations.iter().filter(move |place| place.which == which && place.id == id)
    }

    /// File and name of the tests that cite the rule.
    pub(super) fn tests<'r>(&'r self, which: Which, id: &'r str) -> impl Iterator<Item = (&'r str, &'r str)> {
        let tests = self.cited(which, id).filter(|place| place.in_test);
        tests.filter_map(|place| Some((&place.path[..], place.function.as_deref()?)))
    }
}

const HEAD: &str = "\
# What is kept, and what shows it

Made by `cargo xtask rules` of the lists in [crates/core/rules](../crates/core/rules/README.md) and of the comments in
code and tests that cite them; do not edit it by hand. The rules of HTTP/2 itself have lists of their own
([crates/http2/rules](../crates/http2/rules/README.md), `cargo xtask citations`).
";
