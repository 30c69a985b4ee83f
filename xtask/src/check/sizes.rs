//! Sizes of files and functions: the limits that make "one concept a file" hold over the years.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::{Finding, Project};
use crate::source::Source;

/// Lines of a file worth a second thought, and lines at which it must be divided. The aim is 150 to 400.
const FILE_NOTE: usize = 800;
const FILE_STOP: usize = 1_200;
/// Lines of a function, signature to closing brace, at which it must be divided. The aim is under 60.
const FUNCTION_STOP: usize = 120;

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    Ok(project.sources()?.iter().flat_map(measure).collect())
}

fn measure(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = source.text.lines().count();
    let path = source.path.display();
    if lines > FILE_STOP {
        findings.push(Finding::failure(format!("{path}: {lines} lines, {FILE_STOP} is the end")));
    } else if lines > FILE_NOTE {
        findings.push(Finding::warning(format!("{path}: {lines} lines; is it still one concept?")));
    }
    let mut functions = Functions { source, findings };
    functions.visit_file(&source.syntax);
    functions.findings
}

struct Functions<'s> {
    source: &'s Source,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn judge(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let lines = body.span().end().line + 1 - signature.span().start().line;
        if lines > FUNCTION_STOP {
            self.findings.push(Finding::failure(format!(
                "{}: `{}` has {lines} lines, {FUNCTION_STOP} is the end",
                self.source.place(signature.span()),
                signature.ident
            )));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.judge(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.judge(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.judge(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parsed;

    #[test]
    fn long_functions_are_found_wherever_they_stand() {
        let body = "\n".repeat(FUNCTION_STOP);
        for text in [
            format!("fn f() {{{body}}}"),
            format!("impl S {{ fn f() {{{body}}} }}"),
            format!("trait T {{ fn f() {{{body}}} }}"),
            format!("mod m {{ fn f() {{{body}}} }}"),
        ] {
            assert_eq!(measure(&parsed("x.rs", &text)).len(), 1, "{}", text.trim());
        }
        let fitting = format!("fn f() {{{}}}", "\n".repeat(FUNCTION_STOP - 1));
        assert!(measure(&parsed("x.rs", &fitting)).is_empty());
    }

    #[test]
    fn long_files_warn_then_fail() {
        let note = measure(&parsed("x.rs", &"\n".repeat(FILE_NOTE + 1)));
        assert!(!note[0].fails);
        let stop = measure(&parsed("x.rs", &"\n".repeat(FILE_STOP + 1)));
        assert!(stop[0].fails);
    }
}
