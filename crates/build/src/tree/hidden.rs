//! Traits of the prelude that messages of their name hide.

use syn::visit_mut::VisitMut;

use super::names;
use crate::ident::ident_from_source;

/// A trait's name and full path.
type Trait = (&'static str, &'static str);

/// Traits of the prelude whose methods the codecs' generated code calls as methods.
const PRELUDE_TRAITS: &[Trait] = &[
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
///
/// `above` are those that modules above hide. A package imports nothing from the one around it.
pub(super) fn bring_back(items: &mut Vec<syn::Item>, above: &[&'static Trait]) {
    let mut hidden = above.to_vec();
    hidden.extend(PRELUDE_TRAITS.iter().filter(|(name, _)| names::declares(items, name)));
    for item in items.iter_mut() {
        if let syn::Item::Mod(module) = item
            && let Some((_, items)) = &mut module.content
        {
            bring_back(items, &hidden);
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
    hidden: &'a [&'static Trait],
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
