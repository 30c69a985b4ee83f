//! From paths of `.proto` files to a descriptor set, without protoc.
//!
//! Called by [`Config::compile`](crate::Config::compile). [`roots`] decides what imports are relative to, [`resolver`]
//! finds and remembers the files, [`compiler`] follows the imports and gives protox what to check, and [`diagnose`] turns
//! protox's complaints into our report.

mod absolute;
mod compiler;
mod diagnose;
mod resolver;
mod roots;
mod suggest;
mod symbols;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use compiler::Compiler;
use resolver::Resolver;

/// What compiling the files gave.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// An encoded `google.protobuf.FileDescriptorSet` with all imports and source info, custom options kept.
    pub(crate) descriptor_set: Vec<u8>,
    /// Every file that was read from disk: what a build has to watch, and what errors quote.
    pub(crate) files_read: Vec<SourceFile>,
}

/// A file read from disk.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// The name under which it is imported.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The path for people, relative to the package's folder where it lies below.
    pub(crate) shown: String,
    pub(crate) text: String,
}

/// Compiles `files`, which are relative to `base` unless absolute. Without `includes` the import roots are inferred;
/// see [`roots::infer`].
pub(crate) fn compile(files: &[PathBuf], includes: &[PathBuf], base: &Path) -> Result<Compiled> {
    if files.is_empty() {
        return Err(
            Error::new("no .proto file was given").with_next("name one: compile(\"proto/greeter.proto\")")
        );
    }
    let base = resolver::normalized(base);
    let files = files.iter().map(|file| existing(file, &base)).collect::<Result<Vec<_>>>()?;
    let roots = if includes.is_empty() {
        roots::infer(&files, &base)
    } else {
        includes.iter().map(|include| existing_folder(include, &base)).collect::<Result<Vec<_>>>()?
    };

    let resolver = Resolver::new(roots, base);
    let mut compiler = Compiler::new(&resolver);
    for file in &files {
        let name = resolver.name_of(file).ok_or_else(|| resolver.not_included(file))?;
        resolver.check_not_shadowed(&name, file)?;
        compiler.add(&name)?;
    }
    Ok(Compiled { descriptor_set: compiler.descriptor_set(), files_read: resolver.files_read() })
}

fn existing(file: &Path, base: &Path) -> Result<PathBuf> {
    let path = resolver::normalized(&base.join(file));
    if path.is_file() {
        return Ok(path);
    }
    let error = Error::new(format!("there is no file {}", file.display()))
        .with_note(format!("looked for {}", path.display()));
    let near = suggest::nearest_proto(&path);
    Err(match near {
        Some(near) => error.with_next(format!("did you mean {}?", resolver::shown(&near, base))),
        None => error.with_next(format!("give the path relative to {}", base.display())),
    })
}

fn existing_folder(folder: &Path, base: &Path) -> Result<PathBuf> {
    let path = resolver::normalized(&base.join(folder));
    if path.is_dir() {
        return Ok(path);
    }
    Err(Error::new(format!("the include folder {} does not exist", folder.display()))
        .with_note(format!("looked for {}", path.display())))
}

#[cfg(test)]
mod tests;
