//! Talking to cargo from a build script: where things go, and when to run again.
//!
//! The only part of the crate that reads the environment or prints.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// The folder that paths are relative to: the package's in a build script, else the current one.
pub(crate) fn package_folder() -> Result<PathBuf> {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(folder) => Ok(folder.into()),
        None => std::env::current_dir()
            .map_err(|cause| Error::io("finding", Path::new("the current folder"), cause)),
    }
}

/// Where cargo wants generated files.
pub(crate) fn out_dir() -> Result<PathBuf> {
    std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| {
        Error::new("there is no OUT_DIR to write to")
            .with_note("cargo sets it for build scripts only")
            .with_next("call this from build.rs, or choose a folder: configure().out_dir(\"src/generated\")")
    })
}

/// Makes cargo run the build script again when one of `files` changes, and not otherwise.
#[expect(clippy::print_stdout, reason = "this is how a build script talks to cargo")]
pub(crate) fn rerun_if_changed<'a>(files: impl IntoIterator<Item = &'a Path>) {
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// Warnings that cargo shows.
#[expect(clippy::print_stdout, reason = "this is how a build script talks to cargo")]
pub(crate) fn warn(warnings: &[String]) {
    for line in warnings.iter().flat_map(|warning| warning.lines()) {
        println!("cargo::warning={line}");
    }
}

/// Reserves `path` for the calling compilation. A second one in the same build script is refused: it would silently
/// replace what the first wrote.
pub(crate) fn claim(path: &Path, name: &str) -> Result {
    /// Process-wide because a build script is one process and its calls know nothing of each other.
    static CLAIMED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    if claimed.get_or_insert_default().insert(path.to_path_buf()) {
        return Ok(());
    }
    Err(Error::new(format!("two calls in one build script would both write {name}.rs"))
        .with_note(format!("the file is {}", path.display()))
        .with_next(
            "give all files to one call, compile([\"a.proto\", \"b.proto\"]), or name the second output:\n          \
             configure().name(\"admin\").compile(..) goes with peregrine::include_proto!(\"admin\")",
        ))
}

/// Writes unless the file has that content already, so that nothing is rebuilt for a new time stamp.
pub(crate) fn write_if_changed(path: &Path, content: &[u8]) -> Result {
    if std::fs::read(path).is_ok_and(|existing| existing == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|cause| Error::io("creating", folder, cause))?;
    }
    std::fs::write(path, content).map_err(|cause| Error::io("writing", path, cause))
}
