//! Unsafe code: only in the listed files, and every use with a note that says why it is sound.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::{Finding, Project};
use crate::source::Source;

/// The files that may hold unsafe code, each with what it is for.
const LISTED: [&str; 2] = [
    // `BufMut` over the connection's write buffer: codecs write messages in place.
    "crates/core/src/message/encode_buf.rs",
    // Counts allocations in tests; the trait for it is unsafe.
    "crates/testkit/src/counting_allocator.rs",
];

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    Ok(project.sources()?.iter().flat_map(inspect).collect())
}

fn inspect(source: &Source) -> Vec<Finding> {
    let mut uses = Uses { spans: Vec::new() };
    uses.visit_file(&source.syntax);
    let listed = LISTED.iter().any(|listed| source.path == std::path::Path::new(listed));
    let lines: Vec<&str> = source.text.lines().collect();
    uses.spans
        .into_iter()
        .filter_map(|span| {
            let place = source.place(span);
            if !listed {
                Some(Finding::failure(format!("{place}: unsafe code in a file that is not listed")))
            } else if !has_note(&lines, span.start().line) {
                Some(Finding::failure(format!("{place}: no `SAFETY:` comment above")))
            } else {
                None
            }
        })
        .collect()
}

/// Whether the comment block directly above `line` (counted from 1), or the line itself, has the note.
/// Attributes may stand between.
fn has_note(lines: &[&str], line: usize) -> bool {
    let notes = |text: &str| text.contains("SAFETY:") || text.contains("# Safety");
    if lines.get(line - 1).is_some_and(|text| notes(text)) {
        return true;
    }
    lines[..line - 1]
        .iter()
        .rev()
        .take_while(|text| {
            let text = text.trim_start();
            text.starts_with("//") || text.starts_with("#[")
        })
        .any(|text| notes(text))
}

struct Uses {
    spans: Vec<proc_macro2::Span>,
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.spans.push(block.span());
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some(keyword) = &item.unsafety {
            self.spans.push(keyword.span());
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if let Some(keyword) = &item.unsafety {
            self.spans.push(keyword.span());
        }
        visit::visit_item_trait(self, item);
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast syn::ItemForeignMod) {
        self.spans.push(item.span());
        visit::visit_item_foreign_mod(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::parsed;

    #[test]
    fn unlisted_files_may_hold_none() {
        let found = inspect(&parsed("x.rs", "// SAFETY: none needed\nunsafe impl Send for S {}"));
        assert!(found[0].text.contains("not listed"));
    }

    #[test]
    fn listed_files_need_a_note_for_each_use() {
        let with = "fn f() {\n    // SAFETY: the buffer was reserved above,\n    // for this many bytes.\n    unsafe { g() };\n}";
        assert!(inspect(&parsed(LISTED[0], with)).is_empty());
        let without = "fn f() {\n    unsafe { g() };\n}";
        assert!(inspect(&parsed(LISTED[0], without))[0].text.contains("SAFETY"));
    }
}
