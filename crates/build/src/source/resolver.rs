//! Finds imported files, and remembers what it found.
//!
//! Each file read is kept with its path and text: the paths are what a build watches, the texts are what error reports
//! quote.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::SourceFile;
use crate::error::{Error, Place, Result};

/// Looks through the import roots.
pub(super) struct Resolver {
    roots: Vec<PathBuf>,
    base: PathBuf,
    state: RefCell<State>,
}

/// Behind a cell, since the compiler asks for files while it holds on to others.
#[derive(Default)]
struct State {
    opened: Vec<SourceFile>,
    by_name: HashMap<String, usize>,
    by_path: HashMap<PathBuf, usize>,
}

impl Resolver {
    /// `roots` and `base` are normalized absolute paths. `base` is what shown paths are relative to.
    pub(super) fn new(roots: Vec<PathBuf>, base: PathBuf) -> Self {
        Self { roots, base, state: RefCell::default() }
    }

    /// The import name of a file on disk: relative to the first root above it.
    pub(super) fn name_of(&self, path: &Path) -> Option<String> {
        let relative = self.roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
        let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/"))
    }

    /// The text of the file with this import name, from the first root that has one. `None` if none has.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>> {
        let Some(path) = self.find(name) else { return Ok(None) };
        if let Some(other) = self.name_opened_as(&path).filter(|other| other != name) {
            return Err(self.two_names(&path, &other, name));
        }
        let text = std::fs::read_to_string(&path).map_err(|cause| Error::io("reading", &path, cause))?;
        let shown = self.path_shown(&path);
        if let Some(offset) = edition_statement(&text) {
            return Err(edition_unsupported(&shown, &text, offset));
        }
        let mut state = self.state.borrow_mut();
        let index = state.opened.len();
        state.by_name.insert(name.to_owned(), index);
        state.by_path.insert(path.clone(), index);
        state.opened.push(SourceFile { name: name.to_owned(), path, shown, text: text.clone() });
        Ok(Some(text))
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        self.roots.iter().map(|root| normalized(&root.join(name))).find(|path| path.is_file())
    }

    fn name_opened_as(&self, path: &Path) -> Option<String> {
        let state = self.state.borrow();
        state.by_path.get(path).map(|&index| state.opened[index].name.clone())
    }

    /// Fails if another root has a file of this name that is found before `path`, which was asked for.
    pub(super) fn check_not_shadowed(&self, name: &str, path: &Path) -> Result {
        match self.find(name) {
            Some(found) if found != path => Err(Error::new(format!(
                "{} is hidden by {}, which has the same import name {name:?}",
                self.path_shown(path),
                self.path_shown(&found)
            ))
            .with_next("put the include folder of the wanted one first")),
            _ => Ok(()),
        }
    }

    pub(super) fn roots_shown(&self) -> Vec<String> {
        self.roots.iter().map(|root| shown(root, &self.base)).collect()
    }

    pub(super) fn path_shown(&self, path: &Path) -> String {
        shown(path, &self.base)
    }

    pub(super) fn files_read(self) -> Vec<SourceFile> {
        self.state.into_inner().opened
    }

    /// Looks at all files opened so far.
    pub(super) fn with_opened<T>(&self, look: impl FnOnce(&[SourceFile]) -> T) -> T {
        look(&self.state.borrow().opened)
    }

    /// The file that was opened under this import name.
    pub(super) fn opened(&self, name: &str) -> Option<SourceFile> {
        let state = self.state.borrow();
        state.by_name.get(name).map(|&index| state.opened[index].clone())
    }

    pub(super) fn not_included(&self, path: &Path) -> Error {
        Error::new(format!("{} is in none of the include folders", self.path_shown(path)))
            .with_note(format!("include folders: {}", self.roots_shown().join(", ")))
            .with_next("add one that is a parent of the file: configure().include(\"..\") in a build script, -I .. on the command line")
    }

    fn two_names(&self, path: &Path, first: &str, second: &str) -> Error {
        Error::new(format!("{} is imported under two names, {first:?} and {second:?}", self.path_shown(path)))
            .with_note("a file with two names would define everything in it twice")
            .with_note(format!("imports are looked up in: {}", self.roots_shown().join(", ")))
            .with_next("use one name in all imports, and give its folder: configure().include(\"..\") in a build script, -I .. on the command line")
    }
}

/// Absolute, without `.` and `..`, and with symbolic links resolved where the path exists.
pub(super) fn normalized(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut out = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// `path` for people: relative to `base` where it lies below.
pub(super) fn shown(path: &Path, base: &Path) -> String {
    match path.strip_prefix(base) {
        Ok(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
        Ok(relative) => relative.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// Where the file's first statement starts, if it is `edition = ..;`.
fn edition_statement(source: &str) -> Option<usize> {
    let mut rest = source.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else {
            break;
        }
    }
    let after = rest.strip_prefix("edition")?;
    after.trim_start().starts_with('=').then(|| source.len() - rest.len())
}

fn edition_unsupported(path_shown: &str, source: &str, offset: usize) -> Error {
    let statement = source[offset..].find(';').map_or(7, |semicolon| semicolon + 1);
    let label = Some("only syntax = \"proto2\" and \"proto3\" are compiled here".to_owned());
    Error::new("protobuf editions are not compiled by the built-in compiler yet")
        .with_place(Place::from_span(path_shown, source, offset, statement, label))
        .with_note("the code generator itself knows editions; it is the parser that does not")
        .with_next(format!(
            "make a descriptor set with protoc or buf and compile that:\n          \
             protoc --include_imports --include_source_info --descriptor_set_out=protos.binpb {path_shown}\n          \
             in a build script: peregrine_build::configure().compile_descriptor_set(\"protos.binpb\")\n          \
             on the command line: peregrine gen --from-descriptor-set protos.binpb"
        ))
}
