//! Opens files and what they import, and makes one pool of descriptors of them.
//!
//! Called by [`compile`](super::compile). protox parses; its pool checks numbers, names and options. The walk over the
//! imports is ours, since names have to be looked up before the pool does it: the pool takes every package of every
//! file that it holds for visible, so that in a large tree the meaning of a name would hang on which other files happen
//! to be compiled beside it ([`absolute`] says more).

use prost_types::FileDescriptorProto;
use protox::file::{File, FileResolver as _, GoogleFileResolver};
use protox::prost_reflect::DescriptorPool;

use super::absolute;
use super::diagnose;
use super::resolver::Resolver;
use super::symbols::Symbols;
use crate::error::{Error, Place, Result};

/// Holds the files compiled so far.
pub(super) struct Compiler<'a> {
    resolver: &'a Resolver,
    pool: DescriptorPool,
    symbols: Symbols,
    /// Import names of the files whose imports are being opened, outermost first.
    open: Vec<String>,
}

/// Where a file is imported: the file, and which of its imports.
type ImportedBy<'a> = Option<(&'a FileDescriptorProto, usize)>;

impl<'a> Compiler<'a> {
    pub(super) fn new(resolver: &'a Resolver) -> Self {
        Self { resolver, pool: DescriptorPool::new(), symbols: Symbols::default(), open: Vec::new() }
    }

    /// Compiles the file with this import name, and everything that it imports, unless that has happened already.
    pub(super) fn add(&mut self, name: &str) -> Result {
        self.add_imported(name, None)
    }

    /// An encoded `google.protobuf.FileDescriptorSet`: each file behind those that it imports.
    pub(super) fn descriptor_set(&self) -> Vec<u8> {
        self.pool.encode_to_vec()
    }

    fn add_imported(&mut self, name: &str, by: ImportedBy<'_>) -> Result {
        if self.symbols.has_file(name) {
            return Ok(());
        }
        if self.open.iter().any(|open| open == name) {
            let cycle = format!("{} -> {name}", self.open.join(" -> "));
            return Err(self
                .at_import(Error::new(format!("import cycle: {cycle}")), by)
                .with_next("move what both files need into a third one"));
        }
        let Some(mut file) = self.read(name)? else { return Err(self.not_found(name, by)) };
        self.open.push(name.to_owned());
        for (at, import) in file.dependency.iter().enumerate() {
            if file.dependency[..at].contains(import) {
                let twice = Error::new(format!("import '{import}' is there twice"));
                return Err(self.at_import(twice, Some((&file, at))).with_next("take one of them away"));
            }
            self.add_imported(import, Some((&file, at)))?;
        }
        self.open.pop();
        let visible = self.symbols.add(&file);
        absolute::make(&mut file, &self.symbols, &visible);
        self.pool.add_file_descriptor_proto(file).map_err(|error| {
            let source = self.resolver.opened(name).map(|file| file.text);
            let error = error.with_source_code(source.as_deref().unwrap_or_default());
            diagnose::explain(&error.into(), self.resolver)
        })
    }

    /// The parsed file: from disk, or else one of the well-known ones. `None` if there is none of this name.
    ///
    /// A copy of a well-known file that protox cannot parse (the newest `descriptor.proto` declares extensions in a way
    /// that it does not know) is replaced by the built-in one: nothing is generated from either.
    fn read(&self, name: &str) -> Result<Option<FileDescriptorProto>> {
        let built_in = || GoogleFileResolver::new().open_file(name).ok().map(FileDescriptorProto::from);
        match self.parse(name) {
            Ok(None) => Ok(built_in()),
            Err(error) => built_in().map(Some).ok_or(error),
            found => found,
        }
    }

    fn parse(&self, name: &str) -> Result<Option<FileDescriptorProto>> {
        let Some(text) = self.resolver.read(name)? else { return Ok(None) };
        let parsed = File::from_source(name, &text);
        parsed.map(|file| Some(file.into())).map_err(|error| diagnose::explain(&error, self.resolver))
    }

    fn not_found(&self, name: &str, by: ImportedBy<'_>) -> Error {
        self.at_import(Error::new(format!("import '{name}' not found")), by)
            .with_note(format!("imports are looked up in: {}", self.resolver.roots_shown().join(", ")))
            .with_next("add the folder that holds it: configure().include(\"..\") in a build script, -I .. on the command line")
    }

    /// `error` with the import statement as its place.
    fn at_import(&self, error: Error, by: ImportedBy<'_>) -> Error {
        /// `FileDescriptorProto.dependency`.
        const DEPENDENCY: i32 = 3;

        let place = by.and_then(|(file, at)| {
            let locations = &file.source_code_info.as_ref()?.location;
            let location = locations.iter().find(|location| location.path == [DEPENDENCY, at as i32])?;
            let importer = self.resolver.opened(file.name())?;
            Place::from_location(&importer.shown, &importer.text, &location.span, "imported here")
        });
        match place {
            Some(place) => error.with_place(place),
            None => error,
        }
    }
}
