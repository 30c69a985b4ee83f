//! Which file declares which name, and what a name in a file means.
//!
//! The rules are protoc's. A name is looked up from the innermost scope outwards by its first part; the scope where
//! that part means something decides. Only files that are imported, directly or through public imports, take part, and
//! a package counts where one of those files is in it or below it.

use std::collections::{HashMap, HashSet};

use prost_types::{DescriptorProto, FileDescriptorProto};

/// The names of all files so far. Full names have no dot in front.
#[derive(Default)]
pub(super) struct Symbols {
    /// By import name, the files whose names an importer gets to see: the file itself, what it imports publicly, what
    /// those import publicly, and so on.
    offers: HashMap<String, HashSet<FileId>>,
    names: HashMap<String, Symbol>,
    /// Packages and the packages around them, each with the files in or below it.
    packages: HashMap<String, HashSet<FileId>>,
}

type FileId = usize;

struct Symbol {
    kind: Kind,
    file: FileId,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A message or an enum: what a field may have as its type.
    Type,
    Extension,
    Service,
}

/// The files whose names a file may use.
pub(super) struct Visible(HashSet<FileId>);

impl Symbols {
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.offers.contains_key(name)
    }

    /// Takes in the names of `file`, all imports of which must be known already.
    pub(super) fn add(&mut self, file: &FileDescriptorProto) -> Visible {
        let id = self.offers.len();
        let package = file.package();
        for (end, _) in package.match_indices('.').chain([(package.len(), "")]) {
            self.packages.entry(package[..end].to_owned()).or_default().insert(id);
        }
        for message in &file.message_type {
            self.add_message(message, package, id);
        }
        let enums = file.enum_type.iter().map(|item| (item.name(), Kind::Type));
        let services = file.service.iter().map(|item| (item.name(), Kind::Service));
        let extensions = file.extension.iter().map(|item| (item.name(), Kind::Extension));
        for (name, kind) in enums.chain(services).chain(extensions) {
            self.names.insert(joined(package, name), Symbol { kind, file: id });
        }

        let offered = |index: usize| {
            let offers = file.dependency.get(index).and_then(|name| self.offers.get(name));
            offers.into_iter().flatten().copied()
        };
        let visible = (0..file.dependency.len()).flat_map(offered).chain([id]).collect();
        let public = file.public_dependency.iter().filter_map(|&index| usize::try_from(index).ok());
        let offers = public.flat_map(offered).chain([id]).collect();
        self.offers.insert(file.name().to_owned(), offers);
        Visible(visible)
    }

    fn add_message(&mut self, message: &DescriptorProto, scope: &str, file: FileId) {
        let full_name = joined(scope, message.name());
        for nested in &message.nested_type {
            self.add_message(nested, &full_name, file);
        }
        let enums = message.enum_type.iter().map(|item| (item.name(), Kind::Type));
        let extensions = message.extension.iter().map(|item| (item.name(), Kind::Extension));
        for (name, kind) in enums.chain(extensions) {
            self.names.insert(joined(&full_name, name), Symbol { kind, file });
        }
        self.names.insert(full_name, Symbol { kind: Kind::Type, file });
    }

    /// The full name of what `name` means in `scope`, if that is something of this kind.
    pub(super) fn find(&self, name: &str, scope: &str, kind: Kind, visible: &Visible) -> Option<String> {
        let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
        let mut scope = Some(scope);
        while let Some(here) = scope {
            let candidate = joined(here, first);
            match rest {
                None if self.is(&candidate, kind, visible) => return Some(candidate),
                Some(rest) if self.is_scope(&candidate, visible) => {
                    let full_name = joined(&candidate, rest);
                    return self.is(&full_name, kind, visible).then_some(full_name);
                }
                _ => scope = parent(here),
            }
        }
        None
    }

    fn is(&self, full_name: &str, kind: Kind, visible: &Visible) -> bool {
        self.names.get(full_name).is_some_and(|found| found.kind == kind && visible.0.contains(&found.file))
    }

    /// Whether `full_name` is a package, or something else that names can be in.
    fn is_scope(&self, full_name: &str, visible: &Visible) -> bool {
        let package = self.packages.get(full_name).is_some_and(|files| !files.is_disjoint(&visible.0));
        package || self.is(full_name, Kind::Type, visible) || self.is(full_name, Kind::Service, visible)
    }
}

/// `name` in `scope`, which is empty at the root.
pub(super) fn joined(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

/// The scope around `scope`; `None` around the root.
fn parent(scope: &str) -> Option<&str> {
    if scope.is_empty() { None } else { Some(scope.rsplit_once('.').map_or("", |(outer, _)| outer)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, package: &str, imports: &[&str], messages: &[&str]) -> FileDescriptorProto {
        FileDescriptorProto {
            name: Some(name.into()),
            package: Some(package.into()),
            dependency: imports.iter().map(|&import| import.to_owned()).collect(),
            message_type: messages
                .iter()
                .map(|&name| DescriptorProto { name: Some(name.into()), ..DescriptorProto::default() })
                .collect(),
            ..FileDescriptorProto::default()
        }
    }

    #[test]
    fn the_innermost_scope_decides() {
        let mut symbols = Symbols::default();
        symbols.add(&file("a", "p", &[], &["M"]));
        let visible = symbols.add(&file("b", "p.q", &["a"], &["M"]));
        let find = |name, scope| symbols.find(name, scope, Kind::Type, &visible);
        assert_eq!(find("M", "p.q").as_deref(), Some("p.q.M"));
        assert_eq!(find("M", "p").as_deref(), Some("p.M"));
        assert_eq!(find("q.M", "p.q").as_deref(), Some("p.q.M"));
        assert_eq!(find("M", ""), None);
        assert_eq!(find("p.N", "p.q"), None);
    }

    #[test]
    fn packages_of_files_that_are_not_imported_hide_nothing() {
        let mut symbols = Symbols::default();
        symbols.add(&file("far", "p.ext.config", &[], &["Other"]));
        symbols.add(&file("near", "p.config", &[], &["M"]));
        let visible = symbols.add(&file("c", "p.ext.c", &["near"], &[]));
        assert_eq!(symbols.find("config.M", "p.ext.c", Kind::Type, &visible).as_deref(), Some("p.config.M"));
        let visible = symbols.add(&file("d", "p.ext.c", &["near", "far"], &[]));
        assert_eq!(
            symbols.find("config.M", "p.ext.c", Kind::Type, &visible),
            None,
            "p.ext.config comes first"
        );
    }

    #[test]
    fn public_imports_are_passed_on_and_others_are_not() {
        let mut symbols = Symbols::default();
        symbols.add(&file("a", "p", &[], &["A"]));
        symbols.add(&file("b", "p", &[], &["B"]));
        let mut middle = file("c", "p", &["a", "b"], &[]);
        middle.public_dependency.push(1);
        symbols.add(&middle);
        let visible = symbols.add(&file("d", "p", &["c"], &[]));
        assert_eq!(symbols.find("A", "p", Kind::Type, &visible), None);
        assert_eq!(symbols.find("B", "p", Kind::Type, &visible).as_deref(), Some("p.B"));
    }
}
