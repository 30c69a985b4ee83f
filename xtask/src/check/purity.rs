//! The pure crates take the time, bytes and seeds as arguments; this looks for code that fetches them.
//!
//! Edges (see `layers`) keep tokio and friends out; the standard library is always there, so paths into its
//! clocks, sockets, files, environment, threads and printing are looked for in the syntax. Test code may
//! read the clock: an `Instant` has no other source.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::{Finding, Project, layers};
use crate::source::{Source, is_cfg_test, path_text};

/// Paths of the standard library that reach outside. Compared from the end of the written path
/// (`Instant::now`, `std::time::Instant::now`) and from the start of an import.
const OUTSIDE: [&str; 20] = [
    "Instant::now",
    "SystemTime::now",
    "SystemTime",
    "std::env",
    "std::fs",
    "std::process",
    "env::var",
    "env::var_os",
    "fs::read",
    "File::open",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "UnixListener",
    "thread::spawn",
    "thread::sleep",
    "thread::Builder",
    "RandomState",
    "std::os",
];

const PRINTING: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let pure = project.workspace.packages().iter().filter(|package| layers::is_pure(package));
    let folders: Vec<_> = pure.map(|package| package.folder.join("src")).collect();
    let mut findings = Vec::new();
    for source in project.sources()? {
        if !source.is_test && folders.iter().any(|folder| source.path.starts_with(folder)) {
            findings.extend(scan(source));
        }
    }
    Ok(findings)
}

fn scan(source: &Source) -> Vec<Finding> {
    let mut scan = Scan { source, findings: Vec::new() };
    scan.visit_file(&source.syntax);
    scan.findings
}

struct Scan<'s> {
    source: &'s Source,
    findings: Vec<Finding>,
}

impl Scan<'_> {
    fn judge(&mut self, written: &str, span: proc_macro2::Span) {
        let outside = OUTSIDE.iter().find(|&&outside| {
            written == outside
                || written.ends_with(&format!("::{outside}"))
                || written.starts_with(&format!("{outside}::"))
        });
        if outside.is_some() {
            self.findings.push(Finding::failure(format!("{}: {written}", self.source.place(span))));
        }
    }

    fn imports(&mut self, before: &str, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                self.imports(&format!("{before}{}::", path.ident), &path.tree);
            }
            syn::UseTree::Name(name) => self.judge(&format!("{before}{}", name.ident), name.span()),
            syn::UseTree::Rename(rename) => self.judge(&format!("{before}{}", rename.ident), rename.span()),
            syn::UseTree::Glob(glob) => self.judge(before.trim_end_matches("::"), glob.span()),
            syn::UseTree::Group(group) => {
                for item in &group.items {
                    self.imports(before, item);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_cfg_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_cfg_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        if !is_cfg_test(&import.attrs) {
            self.imports("", &import.tree);
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = path_text(&call.path);
        if PRINTING.iter().any(|&printing| name == printing || name == format!("std::{printing}")) {
            self.findings.push(Finding::failure(format!("{}: {name}!", self.source.place(call.span()))));
        }
        visit::visit_macro(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.judge(&path_text(path), path.span());
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parsed;

    fn found(text: &str) -> Vec<String> {
        scan(&parsed("x.rs", text)).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn clocks_sockets_and_printing_are_found() {
        assert_eq!(
            found("fn f() { let now = std::time::Instant::now(); }"),
            ["x.rs:1: std::time::Instant::now"]
        );
        assert_eq!(found("use std::net::{IpAddr, TcpStream};"), ["x.rs:1: std::net::TcpStream"]);
        assert_eq!(found("\nfn f() { println!(\"x\"); }"), ["x.rs:2: println!"]);
        assert_eq!(found("use std::env::{self, args};").len(), 2);
    }

    #[test]
    fn arguments_of_the_right_types_are_fine() {
        assert!(found("use std::time::Instant; fn f(now: Instant, at: std::net::SocketAddr) {}").is_empty());
    }

    #[test]
    fn tests_may_read_the_clock() {
        assert!(found("#[cfg(test)] mod tests { fn f() { std::time::Instant::now(); } }").is_empty());
    }
}
