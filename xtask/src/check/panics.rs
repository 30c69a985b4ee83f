//! No panic in the engine for anything a peer sends.
//!
//! Clippy's restriction lints, switched on in the engine's root file, refuse indexing, slicing, unchecked
//! arithmetic, `unwrap` and `expect`; an item that does one of these all the same carries `#[expect]` with the
//! proof as its reason. This looks for what clippy would not say: a lint that is no longer switched on, one that is
//! allowed without a proof or for a whole file, and macros that panic. `debug_assert!` may stay, since the fuzz
//! targets run with it.

use std::path::Path;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::{Finding, Project};
use crate::source::{Source, is_cfg_test, is_compile_time, path_text};

/// The crates that parse what peers send and are held to this.
const FOLDERS: [&str; 1] = ["crates/http2/src"];

/// What the root file must switch on.
const LINTS: [&str; 8] = [
    "arithmetic_side_effects",
    "expect_used",
    "get_unwrap",
    "indexing_slicing",
    "panic",
    "string_slice",
    "unreachable",
    "unwrap_used",
];

const PANICKING: [&str; 7] =
    ["assert", "assert_eq", "assert_ne", "panic", "todo", "unimplemented", "unreachable"];

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut proofs = 0;
    for folder in FOLDERS {
        for source in project.sources()?.iter().filter(|source| source.path.starts_with(folder)) {
            if source.path == Path::new(folder).join("lib.rs") {
                findings.extend(missing_lints(source));
            }
            if !source.is_test {
                let (found, proven) = scan(source);
                findings.extend(found);
                proofs += proven;
            }
        }
    }
    findings.push(Finding::warning(format!("{proofs} items have a proof beside them instead")));
    Ok(findings)
}

/// Lints that the root file does not switch on.
fn missing_lints(source: &Source) -> Vec<Finding> {
    let mut attributes =
        source.syntax.attrs.iter().filter_map(|attribute| attribute.meta.require_list().ok());
    let warned = attributes.find(|list| list.path.is_ident("cfg_attr")).map(|list| list.tokens.to_string());
    let warned = warned.unwrap_or_default();
    let is_on = |lint: &str| warned.split([' ', ',', ')']).any(|word| word == lint);
    let missing = LINTS.into_iter().filter(|lint| !is_on(lint));
    missing
        .map(|lint| Finding::failure(format!("{}: clippy::{lint} is not switched on", source.path.display())))
        .collect()
}

/// What is wrong in a file, and how many proofs it has.
fn scan(source: &Source) -> (Vec<Finding>, usize) {
    let mut scan = Scan { source, findings: Vec::new(), proofs: 0 };
    for attribute in &source.syntax.attrs {
        scan.judge(attribute, "a whole file");
    }
    scan.visit_file(&source.syntax);
    (scan.findings, scan.proofs)
}

struct Scan<'s> {
    source: &'s Source,
    findings: Vec<Finding>,
    proofs: usize,
}

impl Scan<'_> {
    /// An attribute that switches one of the lints off.
    fn judge(&mut self, attribute: &syn::Attribute, whole: &str) {
        let Ok(list) = attribute.meta.require_list() else { return };
        let text = list.tokens.to_string();
        if !text.split([' ', ',']).any(|word| LINTS.contains(&word)) {
            return;
        }
        let place = self.source.place(attribute.span());
        if list.path.is_ident("allow") {
            self.findings
                .push(Finding::failure(format!("{place}: allowed, where `expect` with a proof is asked")));
        } else if list.path.is_ident("expect") && matches!(attribute.style, syn::AttrStyle::Inner(_)) {
            self.findings.push(Finding::failure(format!("{place}: one proof for {whole}")));
        } else if list.path.is_ident("expect") {
            self.proofs += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if matches!(attribute.style, syn::AttrStyle::Outer) {
            self.judge(attribute, "an item");
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_cfg_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if is_cfg_test(&function.attrs) {
            return;
        }
        if is_compile_time(&function.attrs) {
            function.attrs.iter().for_each(|attribute| self.visit_attribute(attribute));
        } else {
            visit::visit_item_fn(self, function);
        }
    }

    /// What a constant is made of fails when the crate is compiled, or never.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = path_text(&call.path);
        if PANICKING.contains(&name.trim_start_matches("std::").trim_start_matches("core::")) {
            self.findings.push(Finding::failure(format!("{}: {name}!", self.source.place(call.span()))));
        }
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parsed;

    #[test]
    fn macros_that_panic_are_found_outside_of_tests_and_constants() {
        let (found, _) = scan(&parsed("x.rs", "fn f() { assert!(true); debug_assert!(true); }"));
        assert_eq!(found.len(), 1);
        let fine = "#[cfg(test)] mod tests { fn f() { panic!() } }\nconst C: u8 = panic!();\n\
                    #[expect(clippy::panic, reason = \"runs when the crate is compiled\")] const fn f() { assert!(true) }";
        assert!(scan(&parsed("x.rs", fine)).0.is_empty());
    }

    #[test]
    fn a_proof_stands_beside_its_item() {
        let (found, proofs) =
            scan(&parsed("x.rs", "#[expect(clippy::indexing_slicing, reason = \"one octet\")] fn f() {}"));
        assert_eq!((found.len(), proofs), (0, 1));
        assert_eq!(scan(&parsed("x.rs", "#[allow(clippy::unwrap_used)] fn f() {}")).0.len(), 1);
        let file = "#![expect(clippy::indexing_slicing, reason = \"all is well\")]";
        assert!(scan(&parsed("x.rs", file)).0[0].text.contains("whole file"));
    }

    #[test]
    fn a_lint_that_is_not_switched_on_is_found() {
        let some = "#![cfg_attr(not(test), warn(clippy::panic, clippy::indexing_slicing))]";
        assert_eq!(missing_lints(&parsed("lib.rs", some)).len(), LINTS.len() - 2);
    }
}
