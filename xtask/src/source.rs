//! The project's Rust files, parsed once and shared by the checks that look into them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::workspace::Workspace;

/// One parsed file.
pub(crate) struct Source {
    /// Relative to the root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
    /// Compiled for tests only: its own file name says so, or the `mod` line that declares it.
    pub(crate) is_test: bool,
}

impl Source {
    /// `path:line` of a span, as editors and terminals understand it.
    pub(crate) fn place(&self, span: Span) -> String {
        format!("{}:{}", self.path.display(), span.start().line)
    }

    /// The modules and functions in this file that are compiled for tests only, or run by the compiler only.
    pub(crate) fn spans_not_shipped(&self) -> Vec<Span> {
        let mut items = NotShipped { spans: Vec::new() };
        items.visit_file(&self.syntax);
        items.spans
    }
}

struct NotShipped {
    spans: Vec<Span>,
}

impl<'ast> Visit<'ast> for NotShipped {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_cfg_test(&module.attrs) {
            self.spans.push(module.span());
        } else {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if is_cfg_test(&function.attrs) || is_compile_time(&function.attrs) {
            self.spans.push(function.span());
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if is_cfg_test(&function.attrs) {
            self.spans.push(function.span());
        }
    }
}

/// Reads and parses every Rust file of the project.
pub(crate) fn sources(workspace: &Workspace) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in workspace.files()? {
        if path.extension().is_none_or(|extension| extension != "rs") || is_generated(&path) {
            continue;
        }
        let Some(text) = workspace.read(&path)? else { continue };
        let syntax = syn::parse_file(&text)
            .map_err(|error| anyhow::anyhow!("line {}: {error}", error.span().start().line))
            .with_context(|| format!("could not parse {}", path.display()))?;
        let is_test = lives_with_tests(&path);
        sources.push(Source { path, text, syntax, is_test });
    }
    let declared = declared_for_tests(&sources);
    for source in &mut sources {
        source.is_test |= source.path.ancestors().any(|ancestor| declared.contains(ancestor));
    }
    Ok(sources)
}

/// Generated code answers to its generator, not to the limits of hand-written files.
pub(crate) fn is_generated(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str() == "generated")
}

/// Whether an item is compiled for tests only.
pub(crate) fn is_cfg_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}

/// Whether a function only makes constants, as its `#[expect]` says: what fails in it fails the build, and no
/// counter sees it run.
pub(crate) fn is_compile_time(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        list.is_ok_and(|list| list.tokens.to_string().contains("runs when the crate is compiled"))
    })
}

/// A path as written, without generic arguments: `std::time::Instant::now`.
pub(crate) fn path_text(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    names.join("::")
}

fn lives_with_tests(path: &Path) -> bool {
    let in_folder = path.components().any(|component| {
        ["tests", "benches", "examples"].iter().any(|&folder| component.as_os_str() == folder)
    });
    in_folder || path.file_stem().is_some_and(|stem| stem == "tests")
}

/// The files and folders that `#[cfg(test)] mod name;` lines stand for.
fn declared_for_tests(sources: &[Source]) -> HashSet<PathBuf> {
    let mut declared = HashSet::new();
    for source in sources {
        let mut modules = TestModules { names: Vec::new() };
        modules.visit_file(&source.syntax);
        let folder = folder_of_submodules(&source.path);
        for name in modules.names {
            declared.insert(folder.join(format!("{name}.rs")));
            declared.insert(folder.join(name));
        }
    }
    declared
}

fn folder_of_submodules(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "main" | "mod") | None => folder.to_owned(),
        Some(stem) => folder.join(stem),
    }
}

struct TestModules {
    names: Vec<String>,
}

impl<'ast> Visit<'ast> for TestModules {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_none() && is_cfg_test(&module.attrs) {
            self.names.push(module.ident.to_string());
        }
        visit::visit_item_mod(self, module);
    }
}

#[cfg(test)]
pub(crate) fn parsed(path: &str, text: &str) -> Source {
    Source {
        path: path.into(),
        text: text.into(),
        syntax: syn::parse_file(text).expect("test source parses"),
        is_test: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_declared_for_tests_are_found_where_they_live() {
        let sources = [
            parsed("a/src/lib.rs", "#[cfg(test)] mod support;"),
            parsed("a/src/b.rs", "#[cfg(test)] mod pair; mod real;"),
        ];
        let declared = declared_for_tests(&sources);
        assert!(declared.contains(Path::new("a/src/support.rs")));
        assert!(declared.contains(Path::new("a/src/b/pair.rs")));
        assert!(!declared.contains(Path::new("a/src/b/real.rs")));
    }

    #[test]
    fn generated_code_is_told_by_its_folder() {
        assert!(is_generated(Path::new("crates/services/src/generated/health.rs")));
        assert!(!is_generated(Path::new("crates/build/src/generate.rs")));
    }
}
