//! Packages as nested modules in one file, so that one name may be in several (wire-rules G3).
//!
//! Modules are made, checked and printed one after the other: syntax trees are large, and only one lives at a time.

mod hidden;
mod names;
mod writer;

use std::collections::BTreeMap;

use crate::backend::ModulePath;
use crate::error::Result;
use crate::ident::ident_from_source;
use crate::verbatim::Verbatim;
use writer::Writer;

pub(crate) use names::types as type_names;

/// What each module is made of. In this order a module comes before those inside it.
pub(crate) type Parts<P> = BTreeMap<ModulePath, P>;

/// Turns a part into items, and adds them to those that its module has already.
pub(crate) type Fill<'f, P> = dyn FnMut(&ModulePath, P, &mut Vec<syn::Item>) -> Result + 'f;

/// The whole tree as source text.
pub(crate) fn written<P>(mut parts: Parts<P>, fill: &mut Fill<'_, P>, verbatim: &Verbatim) -> Result<String> {
    let mut writer = Writer::default();
    while let Some((path, part)) = parts.pop_first() {
        let mut items = Vec::new();
        fill(&path, part, &mut items)?;
        take_in_packages(&path, &mut items, &mut parts, fill)?;
        names::check(&items, &path.join("::"))?;
        hidden::bring_back(&mut items, &[]);
        writer.module(&path, items, verbatim);
    }
    Ok(writer.finish())
}

/// A package and a message with nested types can have one module between them (`message Foo` beside `package foo`):
/// both go in, since neither knows how the other is called. `items` are those of the module at `path`.
fn take_in_packages<P>(
    path: &ModulePath,
    items: &mut Vec<syn::Item>,
    parts: &mut Parts<P>,
    fill: &mut Fill<'_, P>,
) -> Result {
    let of_messages: Vec<String> = items.iter().filter_map(module_name).collect();
    for name in of_messages {
        let mut shared = path.clone();
        shared.push(name);
        while let Some(inside) = first_inside(&shared, parts)
            && let Some(part) = parts.remove(&inside)
        {
            let module = inside[path.len()..].iter().fold(&mut *items, |items, name| module_in(items, name));
            fill(&inside, part, module)?;
        }
    }
    Ok(())
}

fn module_name(item: &syn::Item) -> Option<String> {
    if let syn::Item::Mod(module) = item { Some(module.ident.to_string()) } else { None }
}

/// The first part whose path is `path` or goes on from it.
fn first_inside<P>(path: &ModulePath, parts: &Parts<P>) -> Option<ModulePath> {
    let (first, _) = parts.range(path.clone()..).next()?;
    first.starts_with(path).then(|| first.clone())
}

/// What the module called `name` among `items` holds; it is made if there is none.
fn module_in<'i>(items: &'i mut Vec<syn::Item>, name: &str) -> &'i mut Vec<syn::Item> {
    let existing =
        items.iter().position(|item| matches!(item, syn::Item::Mod(module) if module.ident == name));
    let at = existing.unwrap_or_else(|| {
        items.push(module(name, Vec::new()));
        items.len() - 1
    });
    match &mut items[at] {
        syn::Item::Mod(module) => &mut module.content.get_or_insert_default().1,
        _ => unreachable!("it is a module by its position"),
    }
}

/// Put together by hand: `parse_quote` would turn everything inside into tokens and parse it anew, once for each level
/// that it lies deep.
fn module(name: &str, items: Vec<syn::Item>) -> syn::Item {
    syn::Item::Mod(syn::ItemMod {
        attrs: Vec::new(),
        vis: syn::Visibility::Public(syn::token::Pub::default()),
        unsafety: None,
        mod_token: syn::token::Mod::default(),
        ident: ident_from_source(name),
        content: Some((syn::token::Brace::default(), items)),
        semi: None,
    })
}
