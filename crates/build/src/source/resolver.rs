//! Finds imported files, and remembers what it found.
//!
//! protox asks for files by import name. Each one read is kept with its path and text: the paths are what a build
//! watches, the texts are what error reports quote.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protox::file::{File, FileResolver, GoogleFileResolver};

use super::SourceFile;
use crate::error::{Error, Place};

/// Cheap to clone; clones share what was found.
#[derive(Clone)]
pub(super) struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    roots: Vec<PathBuf>,
    base: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    opened: Vec<SourceFile>,
    /// An error of ours that protox only passes through as text.
    failure: Option<Error>,
}

impl Resolver {
    /// `roots` and `base` are normalized absolute paths. `base` is what shown paths are relative to.
    pub(super) fn new(roots: Vec<PathBuf>, base: PathBuf) -> Self {
        Self { shared: Arc::new(Shared { roots, base, state: Mutex::default() }) }
    }

    /// The import name of a file on disk: relative to the first root above it.
    pub(super) fn name_of(&self, path: &Path) -> Option<String> {
        let relative = self.shared.roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
        let parts: Option<Vec<&str>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/"))
    }

    pub(super) fn roots_shown(&self) -> Vec<String> {
        self.shared.roots.iter().map(|root| shown(root, &self.shared.base)).collect()
    }

    pub(super) fn path_shown(&self, path: &Path) -> String {
        shown(path, &self.shared.base)
    }

    pub(super) fn files_read(&self) -> Vec<SourceFile> {
        self.state().opened.clone()
    }

    /// The file that was opened under this import name.
    pub(super) fn opened(&self, name: &str) -> Option<SourceFile> {
        self.state().opened.iter().find(|file| file.name == name).cloned()
    }

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.state().failure.take()
    }

    pub(super) fn not_included(&self, path: &Path) -> Error {
        Error::new(format!("{} is in none of the include folders", self.path_shown(path)))
            .with_note(format!("include folders: {}", self.roots_shown().join(", ")))
            .with_next("add one with configure().include(..) that is a parent of the file")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records `error` for [`take_failure`](Self::take_failure) and gives protox something to stop with.
    fn fail(&self, error: Error) -> protox::Error {
        let passed_on = protox::Error::new(error.to_string());
        self.state().failure = Some(error);
        passed_on
    }

    fn open_at(&self, name: &str, path: PathBuf) -> Result<File, protox::Error> {
        let source = std::fs::read_to_string(&path)
            .map_err(|cause| self.fail(Error::io("reading", &self.shared.base.join(&path), cause)))?;
        if let Some(other) = self.other_name_of(&path, name) {
            return Err(self.fail(self.two_names(&path, &other, name)));
        }
        let shown = self.path_shown(&path);
        let refused = edition_statement(&source).map(|offset| edition_unsupported(&shown, &source, offset));
        let parsed = File::from_source(name, &source);
        self.state().opened.push(SourceFile { name: name.to_owned(), path, shown, text: source });
        match refused {
            Some(error) => Err(self.fail(error)),
            None => parsed,
        }
    }

    /// The name under which the same file was opened before, if it was another one.
    fn other_name_of(&self, path: &Path, name: &str) -> Option<String> {
        let state = self.state();
        let same = state.opened.iter().find(|file| file.path == path && file.name != name)?;
        Some(same.name.clone())
    }

    fn two_names(&self, path: &Path, first: &str, second: &str) -> Error {
        Error::new(format!("{} is imported under two names, {first:?} and {second:?}", self.path_shown(path)))
            .with_note("a file with two names would define everything in it twice")
            .with_note(format!("imports are looked up in: {}", self.roots_shown().join(", ")))
            .with_next("use one name in all imports, and give its folder with configure().include(..)")
    }
}

impl FileResolver for Resolver {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.name_of(path)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let found =
            self.shared.roots.iter().map(|root| normalized(&root.join(name))).find(|path| path.is_file());
        match found {
            Some(path) => self.open_at(name, path),
            None => GoogleFileResolver::new().open_file(name),
        }
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
             peregrine_build::configure().compile_descriptor_set(\"protos.binpb\")"
        ))
}
