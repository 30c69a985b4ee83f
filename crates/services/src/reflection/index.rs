//! Files by name, by symbol and by extension.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use buffa::Message;
use buffa_descriptor::generated::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
};
use bytes::Bytes;
use peregrine_core::{Error, Phase, ServiceDescriptor};

/// A file's place in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileId(usize);

/// Everything that reflection can be asked for.
#[derive(Debug, Default)]
pub(super) struct Index {
    files: Vec<File>,
    by_name: HashMap<String, FileId>,
    /// Full names without the leading dot: messages, fields, oneofs, enums and their values, services, methods.
    by_symbol: HashMap<String, FileId>,
    /// Extended message, field number.
    by_extension: BTreeMap<(String, i32), FileId>,
    /// Names of the mounted services, sorted.
    services: BTreeSet<&'static str>,
    /// Descriptor sets that were read, by address: services of one package share theirs.
    seen: HashSet<(usize, usize)>,
}

#[derive(Debug)]
struct File {
    /// The encoded FileDescriptorProto.
    encoded: Bytes,
    imports: Vec<String>,
}

impl Index {
    /// Adds a mounted service and the files that it carries.
    pub(super) fn add(&mut self, service: &'static ServiceDescriptor) -> Result<(), Error> {
        self.services.insert(service.name);
        let set = service.file_descriptor_set;
        if !self.seen.insert((set.as_ptr() as usize, set.len())) {
            return Ok(());
        }
        let files = FileDescriptorSet::decode_from_slice(set).map_err(|error| {
            Error::new(Phase::Serve, format!("the descriptors of {} cannot be read", service.name))
                .with_source(error)
                .with_hint("generate the service's code anew")
        })?;
        for file in files.file {
            self.add_file(&file);
        }
        Ok(())
    }

    /// A file that several services carry is kept once; the first one counts.
    fn add_file(&mut self, file: &FileDescriptorProto) {
        let name = file.name.clone().unwrap_or_default();
        if self.by_name.contains_key(&name) {
            return;
        }
        let id = FileId(self.files.len());
        self.files.push(File { encoded: file.encode_to_bytes(), imports: file.dependency.clone() });
        self.by_name.insert(name, id);
        let scope = file.package.as_deref().unwrap_or_default();
        self.add_extensions(id, scope, &file.extension);
        for message in &file.message_type {
            self.add_message(id, scope, message);
        }
        for item in &file.enum_type {
            self.add_enum(id, scope, item);
        }
        for service in &file.service {
            let name = self.add_symbol(id, scope, service.name.as_deref());
            for method in &service.method {
                self.add_symbol(id, &name, method.name.as_deref());
            }
        }
    }

    fn add_message(&mut self, id: FileId, scope: &str, message: &DescriptorProto) {
        let name = self.add_symbol(id, scope, message.name.as_deref());
        for field in &message.field {
            self.add_symbol(id, &name, field.name.as_deref());
        }
        for oneof in &message.oneof_decl {
            self.add_symbol(id, &name, oneof.name.as_deref());
        }
        self.add_extensions(id, &name, &message.extension);
        for item in &message.enum_type {
            self.add_enum(id, &name, item);
        }
        for nested in &message.nested_type {
            self.add_message(id, &name, nested);
        }
    }

    /// Values of an enum are named in the scope around it, as in C++.
    fn add_enum(&mut self, id: FileId, scope: &str, item: &EnumDescriptorProto) {
        self.add_symbol(id, scope, item.name.as_deref());
        for value in &item.value {
            self.add_symbol(id, scope, value.name.as_deref());
        }
    }

    fn add_extensions(&mut self, id: FileId, scope: &str, extensions: &[FieldDescriptorProto]) {
        for extension in extensions {
            self.add_symbol(id, scope, extension.name.as_deref());
            if let (Some(extendee), Some(number)) = (&extension.extendee, extension.number) {
                let extendee = extendee.trim_start_matches('.').to_owned();
                self.by_extension.insert((extendee, number), id);
            }
        }
    }

    fn add_symbol(&mut self, id: FileId, scope: &str, name: Option<&str>) -> String {
        let name = name.unwrap_or_default();
        let full = if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") };
        self.by_symbol.insert(full.clone(), id);
        full
    }

    pub(super) fn file(&self, name: &str) -> Option<FileId> {
        self.by_name.get(name).copied()
    }

    pub(super) fn symbol(&self, name: &str) -> Option<FileId> {
        self.by_symbol.get(name.trim_start_matches('.')).copied()
    }

    pub(super) fn extension(&self, message: &str, number: i32) -> Option<FileId> {
        self.by_extension.get(&(message.to_owned(), number)).copied()
    }

    /// Numbers of the extensions of a message, ascending; `None` when there is no such message.
    pub(super) fn extension_numbers(&self, message: &str) -> Option<Vec<i32>> {
        self.symbol(message)?;
        let range = (message.to_owned(), i32::MIN)..=(message.to_owned(), i32::MAX);
        Some(self.by_extension.range(range).map(|((_, number), _)| *number).collect())
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &'static str> {
        self.services.iter().copied()
    }

    /// The file and everything it imports, itself first, without those in `sent`, to which they are added. A file
    /// that is asked for is sent even if it went before: the asker may have thrown it away.
    pub(super) fn with_imports(&self, id: FileId, sent: &mut HashSet<FileId>) -> Vec<Bytes> {
        sent.insert(id);
        let mut answer = vec![self.files[id.0].encoded.clone()];
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            for import in &self.files[id.0].imports {
                if let Some(import) = self.file(import)
                    && sent.insert(import)
                {
                    answer.push(self.files[import.0].encoded.clone());
                    open.push(import);
                }
            }
        }
        answer
    }
}
