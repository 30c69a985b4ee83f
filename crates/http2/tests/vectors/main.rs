//! The engine against public test vectors of HTTP/2, which stand beside the project and not in it.
//!
//! A test whose vectors are absent, as in a user's clone, prints so and passes; where the environment has
//! `PEREGRINE_VECTORS=required` it fails. `PEREGRINE_VECTORS_DIR` names another place to look for them.

mod frames;
mod stories;

use std::path::{Path, PathBuf};

/// Where the vectors called `name` are, if they are there.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn vectors(name: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("PEREGRINE_VECTORS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
    };
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var_os("PEREGRINE_VECTORS").is_some_and(|value| value == "required");
    assert!(!required, "the vectors {name} are required and absent from {}", folder.display());
    println!("skipped: no {name} in {}", folder.display());
    None
}

/// Every JSON file below `folder`.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            files.extend(json_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).expect("hex") as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
