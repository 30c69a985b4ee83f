//! Prints modules one after the other, each in its place in the tree.

use super::module;
use crate::backend::ModulePath;
use crate::verbatim::Verbatim;

/// The text so far.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    /// The modules that are open at its end, outermost first.
    open: ModulePath,
}

const INDENTATION: &str = "    ";

/// Lints are off in each item of the root, and so in everything below.
const NO_LINTS: &str = r#"#[allow(
    warnings,
    missing_docs,
    missing_debug_implementations,
    deprecated,
    unnameable_types,
    unreachable_pub,
    unused_qualifications,
    unused,
    nonstandard_style,
    rust_2018_idioms,
    rustdoc::all,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::restriction,
    reason = "generated from protos: their authors choose names and comments, their generators the style"
)]
"#;

impl Writer {
    /// Appends the module at `path`. A module must come before those inside it.
    pub(super) fn module(&mut self, path: &ModulePath, mut items: Vec<syn::Item>, verbatim: &Verbatim) {
        let shared = path.iter().zip(&self.open).take_while(|(segment, open)| segment == open).count();
        self.close_down_to(shared);
        for segment in &path[shared..] {
            self.open(segment);
        }
        if path.is_empty() {
            items.iter_mut().for_each(switch_lints_off);
        }
        verbatim.put_back(&printed(items, path.len()), &mut self.out);
    }

    pub(super) fn finish(mut self) -> String {
        self.close_down_to(0);
        self.out
    }

    fn open(&mut self, segment: &str) {
        if self.open.is_empty() {
            self.out.push_str(NO_LINTS);
        }
        self.indent();
        self.out.push_str("pub mod ");
        self.out.push_str(segment);
        self.out.push_str(" {\n");
        self.open.push(segment.to_owned());
    }

    fn close_down_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            self.open.pop();
            self.indent();
            self.out.push_str("}\n");
        }
    }

    fn indent(&mut self) {
        self.out.extend(self.open.iter().map(|_| INDENTATION));
    }
}

/// `items` as source text, laid out for a module that lies `depth` deep.
fn printed(items: Vec<syn::Item>, depth: usize) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items = (0..depth).fold(items, |items, _| vec![module("m", items)]);
    let text = prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items });
    if depth == 0 {
        return text;
    }
    // Without the lines that open and close the modules around it.
    let opening: usize = text.split_inclusive('\n').take(depth).map(str::len).sum();
    let closing = text[opening..].split_inclusive('\n').rev().take(depth).map(str::len).sum::<usize>();
    text[opening..text.len() - closing].to_owned()
}

fn switch_lints_off(item: &mut syn::Item) {
    let attrs = match item {
        // The version check has nothing to complain of.
        syn::Item::Const(item) if item.ident == "_" => return,
        syn::Item::Const(item) => &mut item.attrs,
        syn::Item::Enum(item) => &mut item.attrs,
        syn::Item::Fn(item) => &mut item.attrs,
        syn::Item::Impl(item) => &mut item.attrs,
        syn::Item::Mod(item) => &mut item.attrs,
        syn::Item::Static(item) => &mut item.attrs,
        syn::Item::Struct(item) => &mut item.attrs,
        syn::Item::Trait(item) => &mut item.attrs,
        syn::Item::Type(item) => &mut item.attrs,
        syn::Item::Use(item) => &mut item.attrs,
        // A macro call cannot carry lint levels; it expands to impls of the codec's own making.
        _ => return,
    };
    let no_lints: proc_macro2::TokenStream = NO_LINTS.parse().unwrap_or_default();
    attrs.splice(0..0, syn::parse::Parser::parse2(syn::Attribute::parse_outer, no_lints).unwrap_or_default());
}
