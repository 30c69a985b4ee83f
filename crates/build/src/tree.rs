//! Packages as nested modules in one file, so that one name may be in several (wire-rules G3).

use std::collections::{BTreeMap, HashMap, HashSet};

use syn::visit_mut::VisitMut;

use crate::error::{Error, Result};
use crate::ident::ident_from_source;

/// A module under construction.
#[derive(Default)]
pub(crate) struct Module {
    items: Vec<syn::Item>,
    children: BTreeMap<String, Module>,
}

impl Module {
    /// The module at `path`, made if there is none. Segments are as in source (`r#type`).
    pub(crate) fn at(&mut self, path: &[String]) -> &mut Self {
        path.iter().fold(self, |module, segment| module.children.entry(segment.clone()).or_default())
    }

    pub(crate) fn push(&mut self, items: impl IntoIterator<Item = syn::Item>) {
        self.items.extend(items);
    }

    /// The names of types and modules that the module's own items have.
    pub(crate) fn type_names(&self) -> HashSet<String> {
        let names = self.items.iter().filter_map(|item| name(item).filter(|name| name.space == Space::Types));
        names.map(|name| name.text.trim_start_matches("r#").to_owned()).collect()
    }

    /// The root as the items of a file. Lints are off in each item of the root, and so in everything below.
    pub(crate) fn into_items(self) -> Result<Vec<syn::Item>> {
        let mut items = self.nested();
        check_names(&items, "")?;
        bring_back_hidden_traits(&mut items, &[]);
        for item in &mut items {
            switch_lints_off(item);
        }
        Ok(items)
    }

    /// Own items and child packages. A package and a message with nested types can have one module between them
    /// (`message Foo` beside `package foo`): both go in, since neither knows how the other is called.
    fn nested(mut self) -> Vec<syn::Item> {
        for (segment, child) in self.children {
            let child_items = child.nested();
            let name = ident_from_source(&segment);
            let existing = self.items.iter_mut().find_map(|item| match item {
                syn::Item::Mod(module) if module.ident == name => module.content.as_mut(),
                _ => None,
            });
            match existing {
                Some((_, items)) => items.extend(child_items),
                None => self.items.push(module(name, child_items)),
            }
        }
        self.items
    }
}

/// Put together by hand: `parse_quote` would turn everything inside into tokens and parse it anew, once for each level
/// that it lies deep.
fn module(ident: syn::Ident, items: Vec<syn::Item>) -> syn::Item {
    syn::Item::Mod(syn::ItemMod {
        attrs: Vec::new(),
        vis: syn::Visibility::Public(syn::token::Pub::default()),
        unsafety: None,
        mod_token: syn::token::Mod::default(),
        ident,
        content: Some((syn::token::Brace::default(), items)),
        semi: None,
    })
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Space {
    Types,
    Values,
}

struct Name {
    space: Space,
    text: String,
}

/// What an item declares. Re-exports and impls declare nothing that can clash here.
fn name(item: &syn::Item) -> Option<Name> {
    let (space, ident) = match item {
        syn::Item::Enum(item) => (Space::Types, &item.ident),
        syn::Item::Mod(item) => (Space::Types, &item.ident),
        syn::Item::Struct(item) => (Space::Types, &item.ident),
        syn::Item::Trait(item) => (Space::Types, &item.ident),
        syn::Item::Type(item) => (Space::Types, &item.ident),
        syn::Item::Const(item) if item.ident != "_" => (Space::Values, &item.ident),
        syn::Item::Static(item) => (Space::Values, &item.ident),
        syn::Item::Fn(item) => (Space::Values, &item.sig.ident),
        _ => return None,
    };
    Some(Name { space, text: ident.to_string() })
}

/// Two protos' names can become one in Rust. rustc would say so about generated code; this says so about the protos.
fn check_names(items: &[syn::Item], path: &str) -> Result {
    let mut seen: HashMap<(Space, String), String> = HashMap::new();
    for item in items {
        if let Some(Name { space, text }) = name(item) {
            let described = described(item);
            if let Some(other) = seen.insert((space, text.clone()), described.clone()) {
                let place =
                    if path.is_empty() { "at the root".to_owned() } else { format!("in module {path}") };
                return Err(Error::new(format!(
                    "two things of the protos are called {text} in Rust, {place}"
                ))
                .with_note(format!("they are {other} and {described}"))
                .with_next(
                    "rename one in the proto; names that differ in case or underscores only can become one",
                ));
            }
        }
        match item {
            syn::Item::Mod(module) => {
                let name = &module.ident;
                let path = if path.is_empty() { name.to_string() } else { format!("{path}::{name}") };
                let items = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                check_names(items, &path)?;
            }
            syn::Item::Struct(item) => {
                check_members(&item.ident, item.fields.iter().filter_map(|field| field.ident.as_ref()))?;
            }
            syn::Item::Enum(item) => {
                check_members(&item.ident, item.variants.iter().map(|variant| &variant.ident))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn described(item: &syn::Item) -> String {
    let kind = match item {
        syn::Item::Enum(_) => "an enum or oneof",
        syn::Item::Mod(_) => "a package or the types nested in a message",
        syn::Item::Struct(_) => "a message",
        syn::Item::Trait(_) => "a service",
        _ => "a generated item",
    };
    kind.to_owned()
}

fn check_members<'a>(owner: &syn::Ident, members: impl Iterator<Item = &'a syn::Ident>) -> Result {
    let mut seen = HashSet::new();
    for member in members {
        if !seen.insert(member) {
            return Err(Error::new(format!("two members of {owner} are called {member} in Rust")).with_next(
                "rename one in the proto; names that differ in case or underscores only can become one",
            ));
        }
    }
    Ok(())
}

/// Traits of the prelude whose methods the codecs' generated code calls as methods.
const PRELUDE_TRAITS: &[(&str, &str)] = &[
    ("AsMut", "::core::convert::AsMut"),
    ("AsRef", "::core::convert::AsRef"),
    ("Clone", "::core::clone::Clone"),
    ("Default", "::core::default::Default"),
    ("DoubleEndedIterator", "::core::iter::DoubleEndedIterator"),
    ("Eq", "::core::cmp::Eq"),
    ("ExactSizeIterator", "::core::iter::ExactSizeIterator"),
    ("Extend", "::core::iter::Extend"),
    ("From", "::core::convert::From"),
    ("FromIterator", "::core::iter::FromIterator"),
    ("Into", "::core::convert::Into"),
    ("IntoIterator", "::core::iter::IntoIterator"),
    ("Iterator", "::core::iter::Iterator"),
    ("Ord", "::core::cmp::Ord"),
    ("PartialEq", "::core::cmp::PartialEq"),
    ("PartialOrd", "::core::cmp::PartialOrd"),
    ("ToOwned", "::std::borrow::ToOwned"),
    ("ToString", "::std::string::ToString"),
    ("TryFrom", "::core::convert::TryFrom"),
    ("TryInto", "::core::convert::TryInto"),
];

/// A message called `Clone` hides the trait of that name, and with it `.clone()`, in its module and in those below that
/// import everything from it. The trait comes back there without a name, and where it is named as a trait it gets its
/// full path (wire-rules G1).
fn bring_back_hidden_traits(items: &mut Vec<syn::Item>, hidden_above: &[&'static (&str, &str)]) {
    let declared: HashSet<String> = items.iter().filter_map(name).map(|name| name.text).collect();
    let mut hidden = hidden_above.to_vec();
    hidden.extend(PRELUDE_TRAITS.iter().filter(|(name, _)| declared.contains(*name)));
    for item in items.iter_mut() {
        if let syn::Item::Mod(module) = item
            && let Some((_, items)) = &mut module.content
        {
            bring_back_hidden_traits(items, &hidden);
        }
    }
    if hidden.is_empty() {
        return;
    }
    let mut full_paths = FullPaths { hidden: &hidden };
    for item in items.iter_mut().filter(|item| !matches!(item, syn::Item::Mod(_))) {
        full_paths.visit_item_mut(item);
    }
    for path in hidden.iter().map(|(_, path)| full_path(path)) {
        items.insert(0, syn::parse_quote!(use #path as _;));
    }
}

/// Writes hidden traits with their full path wherever only a trait can stand, so that no message is meant.
struct FullPaths<'a> {
    hidden: &'a [&'static (&'static str, &'static str)],
}

impl FullPaths<'_> {
    fn replace(&self, path: &mut syn::Path) {
        if path.leading_colon.is_some() || path.segments.len() != 1 {
            return;
        }
        let written = &mut path.segments[0];
        if let Some((_, full)) = self.hidden.iter().find(|(name, _)| written.ident == name) {
            let mut replaced = full_path(full);
            if let Some(last) = replaced.segments.last_mut() {
                last.arguments = std::mem::take(&mut written.arguments);
            }
            *path = replaced;
        }
    }
}

impl VisitMut for FullPaths<'_> {
    fn visit_trait_bound_mut(&mut self, bound: &mut syn::TraitBound) {
        syn::visit_mut::visit_trait_bound_mut(self, bound);
        self.replace(&mut bound.path);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        syn::visit_mut::visit_item_impl_mut(self, block);
        if let Some((_, path, _)) = &mut block.trait_ {
            self.replace(path);
        }
    }
}

fn full_path(global: &str) -> syn::Path {
    let segments = global.split("::").filter(|segment| !segment.is_empty());
    let segments = segments.map(|segment| syn::PathSegment::from(ident_from_source(segment))).collect();
    syn::Path { leading_colon: Some(syn::token::PathSep::default()), segments }
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
    let lints: syn::Attribute = syn::parse_quote! {
        #[allow(
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
    };
    attrs.insert(0, lints);
}

/// `items` as source text.
pub(crate) fn formatted(items: Vec<syn::Item>) -> String {
    prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items })
}
