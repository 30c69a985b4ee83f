//! Names that the code generators for messages cannot cope with.
//!
//! A proto name may be `_`, or underscores only, and Rust has no such identifier. A message may begin with a small letter
//! and so be called like a keyword (`type`), like a primitive type that it then hides (`bool`), or like the module of its
//! own nested types. The generators are given a copy of the descriptors in which such names are spelled otherwise;
//! descriptors for reflection and the paths of rpcs keep the original (wire-rules G1).

use std::collections::HashMap;

use prost_types::FileDescriptorProto;

use crate::error::{Error, Result};
use crate::ident::NEVER_RAW;

/// The files with sayable names.
#[derive(Debug)]
pub(crate) struct Renamed {
    pub(crate) files: Vec<FileDescriptorProto>,
    /// Full names (`.pkg.Name`) that changed, old to new.
    changed: HashMap<String, String>,
    /// The same, new to old.
    original: HashMap<String, String>,
    /// Packages and what encloses them (`.pkg`) that changed, old to new.
    packages: HashMap<String, String>,
}

impl Renamed {
    /// Source info, the bulk of a file, stays with the original.
    ///
    /// # Errors
    /// When two types get the same name by this.
    pub(crate) fn new(originals: &mut [FileDescriptorProto]) -> Result<Self> {
        let mut files = Vec::with_capacity(originals.len());
        for original in originals {
            let source_info = original.source_code_info.take();
            files.push(original.clone());
            original.source_code_info = source_info;
        }
        let mut names = Names::default();
        for file in &mut files {
            in_prost_types::rename_file(file, &mut names);
        }
        if let Some((first, second, new)) = names.clash {
            return Err(Error::new(format!("{first} and {second} would both be called {new} in Rust"))
                .with_note("types start with a capital letter in Rust")
                .with_next("rename one in the proto"));
        }
        let changed = names.changed;
        for file in &mut files {
            in_prost_types::refer_in_file(file, &changed);
        }
        let packages = names.packages;
        let original = changed.iter().chain(&packages).map(|(old, new)| (new.clone(), old.clone())).collect();
        Ok(Self { files, changed, original, packages })
    }

    /// Does the same to the same files in buffa's types, which know more fields of descriptors than prost's.
    #[cfg(feature = "buffa")]
    pub(crate) fn rename(&self, files: &mut [buffa_codegen::generated::descriptor::FileDescriptorProto]) {
        for file in files {
            in_buffa_types::rename_file(file, &mut Names::default());
            in_buffa_types::refer_in_file(file, &self.changed);
        }
    }

    /// The full name (`.pkg.Name`) of a type in [`files`](Self::files), given its name in the original.
    pub(crate) fn of<'a>(&'a self, full_name: &'a str) -> &'a str {
        self.changed.get(full_name).map_or(full_name, String::as_str)
    }

    /// A path of the configuration (`.pkg`, `.pkg.Name.field`) with the new name of its package.
    pub(crate) fn path(&self, path: &str) -> String {
        let rest = |old: &str| path.strip_prefix(old).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        let fitting = self.packages.iter().filter_map(|(old, new)| Some((old.len(), new, rest(old)?)));
        let longest = fitting.max_by_key(|(length, ..)| *length);
        longest.map_or_else(|| path.to_owned(), |(_, new, rest)| format!("{new}{rest}"))
    }

    /// The full name that a type or package in [`files`](Self::files) has in the original, if it has another one.
    pub(crate) fn original(&self, new: &str) -> Option<&str> {
        self.original.get(new).map(String::as_str)
    }

    /// Whether a type has another name than in the original.
    pub(crate) fn any(&self) -> bool {
        !self.changed.is_empty()
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Package,
    Type,
    Oneof,
    Value,
    EnumValue,
}

/// `name`, spelled out if it is underscores only (`Underscore`, `Underscore2` and so on). A type gets a capital letter,
/// and an underscore if that makes it `Self`; so does a part of a package that has no raw form.
fn sayable(name: &str, kind: Kind) -> String {
    if matches!(kind, Kind::Type) && name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let capitalized = name[..1].to_ascii_uppercase() + &name[1..];
        return if capitalized == "Self" { "Self_".to_owned() } else { capitalized };
    }
    if matches!(kind, Kind::Package) && NEVER_RAW.contains(&name) {
        return format!("{name}_");
    }
    if matches!(kind, Kind::Oneof) && name.eq_ignore_ascii_case("self") {
        // Its enum would be called `Self`.
        return "self_oneof".to_owned();
    }
    if name.is_empty() || name.bytes().any(|byte| byte != b'_') {
        return name.to_owned();
    }
    let word = match kind {
        Kind::Type => "Underscore",
        Kind::Package | Kind::Oneof | Kind::Value => "underscore",
        Kind::EnumValue => "UNDERSCORE",
    };
    if name.len() == 1 { word.to_owned() } else { format!("{word}{}", name.len()) }
}

fn rename(name: &mut Option<String>, kind: Kind) {
    if let Some(name) = name {
        *name = sayable(name, kind);
    }
}

/// Full names of types, before and after.
#[derive(Default)]
struct Names {
    changed: HashMap<String, String>,
    old_by_new: HashMap<String, String>,
    packages: HashMap<String, String>,
    /// The first two that got the same name, and that name, without dots in front.
    clash: Option<(String, String, String)>,
}

/// The full names of what encloses a type, before and after: packages, or messages with a dot in front.
type Scopes<'a> = (&'a str, &'a str);

impl Names {
    /// The new name of a package.
    fn settle_package(&mut self, package: &str) -> String {
        let (mut old, mut new) = (String::new(), String::new());
        for part in package.split('.').filter(|part| !part.is_empty()) {
            old = super::full_name(&old, part);
            new = super::full_name(&new, &sayable(part, Kind::Package));
            if old != new {
                self.packages.insert(old.clone(), new.clone());
            }
        }
        new.trim_start_matches('.').to_owned()
    }

    /// Gives a type its new name, and returns its full names.
    fn settle(&mut self, name: &mut Option<String>, scopes: Scopes<'_>) -> (String, String) {
        let old = super::full_name(scopes.0, name.as_deref().unwrap_or_default());
        rename(name, Kind::Type);
        let new = super::full_name(scopes.1, name.as_deref().unwrap_or_default());
        if let Some(other) = self.old_by_new.insert(new.clone(), old.clone()) {
            let plain = |name: &str| name.trim_start_matches('.').to_owned();
            self.clash.get_or_insert_with(|| (plain(&other), plain(&old), plain(&new)));
        }
        if old != new {
            self.changed.insert(old.clone(), new.clone());
        }
        (old, new)
    }
}

/// The walk over a file, once for each family of descriptor types. Both are generated from one proto and have the same
/// fields.
macro_rules! renaming {
    ($module:ident, $($types:ident)::+) => {
        mod $module {
            use $($types)::+::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto};

            use super::*;

            pub(super) fn rename_file(file: &mut FileDescriptorProto, names: &mut Names) {
                let old = file.package.clone().unwrap_or_default();
                let new = names.settle_package(&old);
                let scopes = (old.as_str(), new.as_str());
                file.message_type.iter_mut().for_each(|message| rename_message(message, scopes, names));
                file.enum_type.iter_mut().for_each(|enumeration| rename_enum(enumeration, scopes, names));
                file.extension.iter_mut().for_each(rename_field);
                if new != old {
                    file.package = Some(new);
                }
            }

            fn rename_message(message: &mut DescriptorProto, scopes: Scopes<'_>, names: &mut Names) {
                let (old, new) = names.settle(&mut message.name, scopes);
                let scopes = (old.as_str(), new.as_str());
                message.field.iter_mut().chain(&mut message.extension).for_each(rename_field);
                message.oneof_decl.iter_mut().for_each(|oneof| rename(&mut oneof.name, Kind::Oneof));
                message.nested_type.iter_mut().for_each(|nested| rename_message(nested, scopes, names));
                message.enum_type.iter_mut().for_each(|nested| rename_enum(nested, scopes, names));
            }

            fn rename_enum(enumeration: &mut EnumDescriptorProto, scopes: Scopes<'_>, names: &mut Names) {
                names.settle(&mut enumeration.name, scopes);
                enumeration.value.iter_mut().for_each(|value| rename(&mut value.name, Kind::EnumValue));
            }

            fn rename_field(field: &mut FieldDescriptorProto) {
                rename(&mut field.name, Kind::Value);
                // Of the types that have a name, only enums have defaults.
                if field.type_name.is_some() {
                    rename(&mut field.default_value, Kind::EnumValue);
                }
            }

            pub(super) fn refer_in_file(file: &mut FileDescriptorProto, changed: &HashMap<String, String>) {
                if !changed.is_empty() {
                    file.extension.iter_mut().for_each(|field| refer(field, changed));
                    file.message_type.iter_mut().for_each(|message| refer_in_message(message, changed));
                }
            }

            fn refer_in_message(message: &mut DescriptorProto, changed: &HashMap<String, String>) {
                message.field.iter_mut().chain(&mut message.extension).for_each(|field| refer(field, changed));
                message.nested_type.iter_mut().for_each(|nested| refer_in_message(nested, changed));
            }

            fn refer(field: &mut FieldDescriptorProto, changed: &HashMap<String, String>) {
                for name in [&mut field.type_name, &mut field.extendee].into_iter().flatten() {
                    if let Some(new) = changed.get(name) {
                        new.clone_into(name);
                    }
                }
            }
        }
    };
}

#[cfg(feature = "buffa")]
renaming!(in_buffa_types, buffa_codegen::generated::descriptor);
renaming!(in_prost_types, prost_types);

#[cfg(test)]
mod tests {
    use prost_types::{DescriptorProto, FieldDescriptorProto};

    use super::*;

    fn message(name: &str) -> DescriptorProto {
        DescriptorProto { name: Some(name.into()), ..DescriptorProto::default() }
    }

    // wire-rules G1
    #[test]
    fn a_part_of_a_package_without_a_raw_form_is_spelled_otherwise() {
        let file = FileDescriptorProto {
            package: Some("crate.self.v1.type".into()),
            message_type: vec![message("Plain")],
            ..FileDescriptorProto::default()
        };
        let renamed = Renamed::new(&mut [file]).unwrap();
        assert_eq!(renamed.files[0].package(), "crate_.self_.v1.type");
        assert_eq!(renamed.of(".crate.self.v1.type.Plain"), ".crate_.self_.v1.type.Plain");
        assert_eq!(renamed.path(".crate"), ".crate_");
        assert_eq!(renamed.path(".crate.self.v1.type.Plain.self"), ".crate_.self_.v1.type.Plain.self");
        assert_eq!(renamed.path(".crates.v1"), ".crates.v1");
        assert_eq!(renamed.path("."), ".");
        #[cfg(feature = "buffa")]
        assert_eq!(renamed.original(".crate_.self_"), Some(".crate.self"));
    }

    // wire-rules G1
    #[test]
    fn names_are_changed_wherever_they_are_referred_to() {
        let mut outer = message("_");
        outer.nested_type.push(message("Inner"));
        outer.field.push(FieldDescriptorProto {
            name: Some("__".into()),
            type_name: Some(".p._._.Inner".into()),
            ..FieldDescriptorProto::default()
        });
        let file = FileDescriptorProto {
            package: Some("p._".into()),
            message_type: vec![outer, message("Plain"), message("bool"), message("Self")],
            ..FileDescriptorProto::default()
        };
        let renamed = Renamed::new(&mut [file]).unwrap();
        let file = &renamed.files[0];
        assert_eq!(file.package(), "p.underscore");
        assert_eq!(file.message_type[0].name(), "Underscore");
        assert_eq!(file.message_type[0].field[0].name(), "underscore2");
        assert_eq!(file.message_type[0].field[0].type_name(), ".p.underscore.Underscore.Inner");
        assert_eq!(renamed.of(".p._.Plain"), ".p.underscore.Plain");
        assert_eq!(renamed.of(".p.q.Plain"), ".p.q.Plain");
        assert_eq!(renamed.of(".p._.bool"), ".p.underscore.Bool");
        assert_eq!(renamed.of(".p._.Self"), ".p.underscore.Self_");
        #[cfg(feature = "buffa")]
        assert_eq!(renamed.original(".p.underscore.Bool"), Some(".p._.bool"));
    }
}
