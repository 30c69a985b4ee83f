//! Names of generated items: which there are, and whether two things of the protos became one.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Space {
    Types,
    Values,
}

struct Name<'a> {
    space: Space,
    ident: &'a syn::Ident,
}

/// The names of types and modules among `items`, without `r#`.
pub(crate) fn types(items: &[syn::Item]) -> HashSet<String> {
    let names = items.iter().filter_map(|item| name(item).filter(|name| name.space == Space::Types));
    names.map(|name| name.ident.to_string().trim_start_matches("r#").to_owned()).collect()
}

/// Whether one of `items` declares a type, trait or value of this name.
pub(super) fn declares(items: &[syn::Item], wanted: &str) -> bool {
    items.iter().filter_map(name).any(|name| name.ident == wanted)
}

/// What an item declares. Re-exports and impls declare nothing that can clash here.
fn name(item: &syn::Item) -> Option<Name<'_>> {
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
    Some(Name { space, ident })
}

/// Two protos' names can become one in Rust. rustc would say so about generated code; this says so about the protos.
/// `path` is the module's, `a::b`, empty at the root.
pub(super) fn check(items: &[syn::Item], path: &str) -> Result {
    let mut seen: HashMap<(Space, &syn::Ident), &syn::Item> = HashMap::new();
    for item in items {
        if let Some(Name { space, ident }) = name(item)
            && let Some(other) = seen.insert((space, ident), item)
        {
            let place = if path.is_empty() { "at the root".to_owned() } else { format!("in module {path}") };
            return Err(Error::new(format!("two things of the protos are called {ident} in Rust, {place}"))
                .with_note(format!("they are {} and {}", described(other), described(item)))
                .with_next(ADVICE));
        }
        match item {
            syn::Item::Mod(module) => {
                let name = &module.ident;
                let path = if path.is_empty() { name.to_string() } else { format!("{path}::{name}") };
                let items = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                check(items, &path)?;
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

const ADVICE: &str = "rename one in the proto; names that differ in case or underscores only can become one";

fn described(item: &syn::Item) -> &'static str {
    match item {
        syn::Item::Enum(_) => "an enum or oneof",
        syn::Item::Mod(_) => "a package or the types nested in a message",
        syn::Item::Struct(_) => "a message",
        syn::Item::Trait(_) => "a service",
        _ => "a generated item",
    }
}

fn check_members<'a>(owner: &syn::Ident, members: impl Iterator<Item = &'a syn::Ident>) -> Result {
    let mut seen = HashSet::new();
    for member in members {
        if !seen.insert(member) {
            return Err(
                Error::new(format!("two members of {owner} are called {member} in Rust")).with_next(ADVICE)
            );
        }
    }
    Ok(())
}
