//! What the unit tests of several modules need.

use std::path::Path;

use prost_reflect::MessageDescriptor;

use crate::{
    args::SchemaArgs,
    schema::{Schema, files},
};

/// The schema of `tests/proto/everything.proto`.
pub(crate) fn schema() -> Schema {
    schema_of("everything.proto")
}

/// The schema of a file in `tests/proto`.
pub(crate) fn schema_of(file: &str) -> Schema {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    let args = SchemaArgs { proto: vec![folder.join(file)], ..SchemaArgs::default() };
    files::load(&args).unwrap()
}

/// A message type of `everything.proto`.
pub(crate) fn message(name: &str) -> MessageDescriptor {
    schema().message(&format!("test.v1.{name}")).unwrap()
}
