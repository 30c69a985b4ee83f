//! File descriptors, as they come from reflection or a descriptor set, into a pool.
//!
//! Servers are not always tidy: files come in any order and twice, the files of the well-known types are often
//! left out, and an import that nothing needs may be missing altogether. All of that is put up with here; only
//! a type that is used and nowhere to be found is an error.

use std::collections::{HashMap, HashSet};

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;

use super::editions;

/// Files that are not in a pool yet.
#[derive(Debug, Default)]
pub(crate) struct Files {
    by_name: HashMap<String, File>,
}

#[derive(Debug)]
struct File {
    /// The descriptor as it came: a decoded copy would lose the options of the user's own extensions.
    bytes: Vec<u8>,
    imports: Vec<String>,
}

/// A descriptor set whose files are left as bytes.
#[derive(Clone, PartialEq, Message)]
struct RawSet {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

impl Files {
    /// Adds a file; a second one of the same name is dropped. Returns its name.
    pub(crate) fn add(&mut self, bytes: Vec<u8>) -> Result<String, prost::DecodeError> {
        let bytes = editions::lower(bytes)?;
        let descriptor = FileDescriptorProto::decode(bytes.as_slice())?;
        let name = descriptor.name().to_owned();
        let imports = descriptor.dependency;
        self.by_name.entry(name.clone()).or_insert(File { bytes, imports });
        Ok(name)
    }

    /// Adds every file of an encoded `FileDescriptorSet`.
    pub(crate) fn add_set(&mut self, bytes: &[u8]) -> Result<(), prost::DecodeError> {
        for file in RawSet::decode(bytes)?.file {
            self.add(file)?;
        }
        Ok(())
    }

    /// Imports that neither these files nor `pool` nor the well-known files have, sorted.
    pub(crate) fn missing_imports(&self, pool: &DescriptorPool) -> Vec<String> {
        let mut missing: Vec<_> = self
            .by_name
            .values()
            .flat_map(|file| &file.imports)
            .filter(|import| !self.by_name.contains_key(*import) && !is_known(pool, import))
            .cloned()
            .collect();
        missing.sort();
        missing.dedup();
        missing
    }

    /// Moves the files into `pool`. An import that is missing counts as an empty file.
    pub(crate) fn add_to(self, pool: &mut DescriptorPool) -> Result<(), String> {
        let missing = self.missing_imports(pool);
        let mut order = Order { files: &self.by_name, pool, seen: HashSet::new(), files_out: Vec::new() };
        for name in &missing {
            order.seen.insert(name.clone());
            let empty = FileDescriptorProto { name: Some(name.clone()), ..Default::default() };
            order.files_out.push(empty.encode_to_vec());
        }
        let mut names: Vec<_> = self.by_name.keys().collect();
        names.sort();
        for name in names {
            order.visit(name);
        }
        let set = RawSet { file: order.files_out };
        pool.decode_file_descriptor_set(set.encode_to_vec().as_slice()).map_err(|error| {
            if missing.is_empty() {
                error.to_string()
            } else {
                format!("{error} (imports not found: {})", missing.join(", "))
            }
        })
    }
}

/// Depth-first walk that puts each file behind its imports.
struct Order<'f> {
    files: &'f HashMap<String, File>,
    pool: &'f DescriptorPool,
    seen: HashSet<String>,
    files_out: Vec<Vec<u8>>,
}

impl Order<'_> {
    fn visit(&mut self, name: &str) {
        if self.pool.get_file_by_name(name).is_some() || !self.seen.insert(name.to_owned()) {
            return;
        }
        if let Some(file) = self.files.get(name) {
            for import in &file.imports {
                self.visit(import);
            }
            self.files_out.push(file.bytes.clone());
        } else if let Some(file) = DescriptorPool::global().get_file_by_name(name) {
            for import in file.dependencies() {
                self.visit(import.name());
            }
            self.files_out.push(file.encode_to_vec());
        }
    }
}

fn is_known(pool: &DescriptorPool, name: &str) -> bool {
    pool.get_file_by_name(name).is_some() || DescriptorPool::global().get_file_by_name(name).is_some()
}

#[cfg(test)]
mod tests {
    use prost_types::{DescriptorProto, FieldDescriptorProto, field_descriptor_proto::Type};

    use super::*;

    /// A file with one message that has one field of type `uses`.
    fn file(name: &str, imports: &[&str], message: &str, uses: Option<&str>) -> Vec<u8> {
        let field = uses.map(|uses| FieldDescriptorProto {
            name: Some("f".into()),
            number: Some(1),
            r#type: Some(Type::Message.into()),
            type_name: Some(uses.into()),
            ..Default::default()
        });
        FileDescriptorProto {
            name: Some(name.into()),
            syntax: Some("proto3".into()),
            dependency: imports.iter().map(|&import| import.into()).collect(),
            message_type: vec![DescriptorProto {
                name: Some(message.into()),
                field: field.into_iter().collect(),
                ..Default::default()
            }],
            ..Default::default()
        }
        .encode_to_vec()
    }

    fn pool_of(files: &[Vec<u8>]) -> Result<DescriptorPool, String> {
        let mut pool = DescriptorPool::new();
        let mut set = Files::default();
        for file in files {
            set.add(file.clone()).unwrap();
        }
        set.add_to(&mut pool)?;
        Ok(pool)
    }

    #[test]
    fn order_and_repetition_do_not_matter() {
        let a = file("a.proto", &["b.proto"], "A", Some(".B"));
        let b = file("b.proto", &[], "B", None);
        let pool = pool_of(&[a.clone(), b.clone(), a]).unwrap();
        assert!(pool.get_message_by_name("A").is_some() && pool.get_message_by_name("B").is_some());
    }

    #[test]
    fn well_known_files_need_not_be_sent() {
        let a =
            file("a.proto", &["google/protobuf/timestamp.proto"], "A", Some(".google.protobuf.Timestamp"));
        assert!(pool_of(&[a]).unwrap().get_message_by_name("google.protobuf.Timestamp").is_some());
    }

    #[test]
    fn a_missing_import_matters_only_when_it_is_needed() {
        let idle = file("a.proto", &["gone.proto"], "A", None);
        assert!(pool_of(&[idle]).is_ok());
        let needed = file("a.proto", &["gone.proto"], "A", Some(".Gone"));
        let error = pool_of(&[needed]).unwrap_err();
        assert!(error.contains("Gone") && error.contains("gone.proto"), "{error}");
    }

    #[test]
    fn files_can_be_added_later() {
        let mut pool = pool_of(&[file("b.proto", &[], "B", None)]).unwrap();
        let mut more = Files::default();
        more.add(file("a.proto", &["b.proto"], "A", Some(".B"))).unwrap();
        assert_eq!(more.missing_imports(&pool), Vec::<String>::new());
        more.add_to(&mut pool).unwrap();
        assert!(pool.get_message_by_name("A").is_some());
    }

    #[test]
    fn an_import_cycle_ends() {
        let a = file("a.proto", &["b.proto"], "A", None);
        let b = file("b.proto", &["a.proto"], "B", None);
        let _ = pool_of(&[a, b]);
    }
}
