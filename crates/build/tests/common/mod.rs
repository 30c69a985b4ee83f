//! Shared by the tests: protos from strings, and questions to the generated text.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a helper of tests is a test")]

use std::fs;

use peregrine_build::{Config, Error, Result, configure};
use tempfile::TempDir;

/// Compiles `files` (name and text) from the first one on, and gives back the generated text, which must parse.
pub(crate) fn generated_with(config: Config, files: &[(&str, &str)]) -> Result<String> {
    let folder = protos(files);
    let out = folder.path().join("out");
    let first = folder.path().join(files[0].0);
    config.include(folder.path()).out_dir(&out).emit_rerun(false).compile(first)?;
    let text = fs::read_to_string(out.join("peregrine.rs")).unwrap();
    syn::parse_file(&text).expect("the generated text is Rust");
    Ok(text)
}

/// As [`generated_with`], with default options and one file without its `syntax` line.
pub(crate) fn generated(proto: &str) -> String {
    generated_with(configure(), &[("a.proto", &format!("syntax = \"proto3\";\n{proto}"))]).unwrap()
}

pub(crate) fn error_of(config: Config, proto: &str) -> Error {
    generated_with(config, &[("a.proto", &format!("syntax = \"proto3\";\n{proto}"))]).unwrap_err()
}

/// The report that a build script would print.
pub(crate) fn report(proto: &str) -> String {
    format!("{:?}", error_of(configure(), proto))
}

pub(crate) fn protos(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// `text` without whitespace, so that questions do not depend on line breaks.
pub(crate) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[track_caller]
pub(crate) fn assert_has(text: &str, piece: &str) {
    assert!(squeezed(text).contains(&squeezed(piece)), "missing: {piece}\nin:\n{text}");
}

#[track_caller]
pub(crate) fn assert_lacks(text: &str, piece: &str) {
    assert!(!squeezed(text).contains(&squeezed(piece)), "unexpected: {piece}\nin:\n{text}");
}
