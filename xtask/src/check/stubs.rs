//! Unfinished work: macros that panic in place of code, tests switched off, markers in comments.

use std::path::Path;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::{Finding, Project};
use crate::source::{Source, path_text};

const UNFINISHED: [&str; 2] = ["todo", "unimplemented"];

/// Markers, put together here so that this file does not find itself.
const MARKERS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("<<<", "<<<<"),
    concat!(">>>", ">>>>"),
];

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut findings: Vec<Finding> = project.sources()?.iter().flat_map(syntax).collect();
    for file in project.workspace.files()? {
        if let Some(text) = project.workspace.read(&file)? {
            findings.extend(markers(&file, &text));
        }
    }
    Ok(findings)
}

fn syntax(source: &Source) -> Vec<Finding> {
    let mut scan = Scan { source, findings: Vec::new() };
    scan.visit_file(&source.syntax);
    scan.findings
}

fn markers(file: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(marker) = MARKERS.iter().find(|marker| has_word(line, marker)) {
            findings.push(Finding::failure(format!("{}:{}: {marker}", file.display(), index + 1)));
        }
    }
    findings
}

/// Whether `word` stands in `line` with no letter or digit beside it.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

struct Scan<'s> {
    source: &'s Source,
    findings: Vec<Finding>,
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = path_text(&call.path);
        if UNFINISHED.contains(&name.as_str()) {
            self.findings.push(Finding::failure(format!("{}: {name}!", self.source.place(call.span()))));
        }
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("ignore") {
            let place = self.source.place(attribute.span());
            self.findings.push(Finding::failure(format!("{place}: a test that is switched off")));
        }
        visit::visit_attribute(self, attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parsed;

    #[test]
    fn unfinished_macros_and_ignored_tests_are_found() {
        let text = format!("fn f() {{ {}!() }}\n#[test]\n#[{}]\nfn g() {{}}", UNFINISHED[0], "ignore");
        assert_eq!(syntax(&parsed("x.rs", &text)).len(), 2);
    }

    #[test]
    fn markers_are_whole_words() {
        let marker = MARKERS[2];
        assert_eq!(markers(Path::new("x.md"), &format!("a {marker}: b")).len(), 1);
        assert!(markers(Path::new("x.md"), &format!("0{marker}00 {marker}X")).is_empty());
    }
}
