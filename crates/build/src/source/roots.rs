//! What imports are relative to, when nobody said.
//!
//! protoc wants `-I`; most projects have one obvious answer and should not have to give it. The candidates for a file
//! are its own folder and the folders above it, up to the package's. One root that resolves every import of every file
//! is best, since then each file has one name; failing that, all candidates serve, nearest first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use protox::file::File;

/// The import roots for `files` (absolute paths), in the order in which to try them. `base` is the package's folder;
/// files outside of it may use the folders up to the last one that they share with it.
pub(super) fn infer(files: &[PathBuf], base: &Path) -> Vec<PathBuf> {
    let per_file: Vec<Vec<PathBuf>> = files.iter().map(|file| candidates(file, base)).collect();
    let shared = per_file[0].iter().filter(|root| per_file.iter().all(|roots| roots.contains(root)));
    for root in shared {
        if resolves_everything(files, root) {
            return vec![root.clone()];
        }
    }
    let mut all: Vec<PathBuf> = per_file.into_iter().flatten().collect();
    // Deeper folders first: a file's own folder before the ones above it, whichever file it belongs to.
    all.sort_by_key(|root| std::cmp::Reverse(root.components().count()));
    let mut seen = HashSet::new();
    all.retain(|root| seen.insert(root.clone()));
    all
}

/// The folder of `file` and those above it, nearest first, as far up as the first one that holds `base` as well. The
/// root of the file system is no candidate.
fn candidates(file: &Path, base: &Path) -> Vec<PathBuf> {
    let above: Vec<&Path> = file.ancestors().skip(1).filter(|folder| folder.parent().is_some()).collect();
    let end = above.iter().position(|folder| base.starts_with(folder)).map_or(above.len(), |at| at + 1);
    above[..end].iter().map(|folder| folder.to_path_buf()).collect()
}

/// Whether every import of `files`, and of what they import, is found under `root` alone. Files that do not parse count
/// as having no imports: the compiler reports them better.
fn resolves_everything(files: &[PathBuf], root: &Path) -> bool {
    let mut queue: Vec<PathBuf> = files.to_vec();
    let mut seen: HashSet<PathBuf> = queue.iter().cloned().collect();
    while let Some(path) = queue.pop() {
        for import in imports(&path) {
            if is_built_in(&import) {
                continue;
            }
            let imported = root.join(&import);
            if !imported.is_file() {
                return false;
            }
            if seen.insert(imported.clone()) {
                queue.push(imported);
            }
        }
    }
    true
}

fn imports(path: &Path) -> Vec<String> {
    let source = std::fs::read_to_string(path).unwrap_or_default();
    let name = path.to_string_lossy();
    File::from_source(&name, &source)
        .map(|file| file.file_descriptor_proto().dependency.clone())
        .unwrap_or_default()
}

/// Well-known types come with the compiler; a copy on disk is not needed.
fn is_built_in(import: &str) -> bool {
    import.starts_with("google/protobuf/")
}
