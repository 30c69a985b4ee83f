//! What the unit tests of several modules need.

use std::path::Path;

use prost_reflect::MessageDescriptor;

use crate::{args::SchemaArgs, schema::Schema};

/// The schema of `tests/proto/everything.proto`.
pub(crate) fn schema() -> Schema {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    let args = SchemaArgs { proto: vec![folder.join("everything.proto")], ..SchemaArgs::default() };
    crate::schema::files::load(&args).unwrap()
}

/// A message type of that schema.
pub(crate) fn message(name: &str) -> MessageDescriptor {
    schema().message(&format!("test.v1.{name}")).unwrap()
}
