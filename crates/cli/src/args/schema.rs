//! Where the schema of the messages comes from.

use std::path::PathBuf;

use clap::Args;

/// Schema sources; without any of these the server's reflection service is asked.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Schema (default: the server's reflection)")]
pub(crate) struct SchemaArgs {
    /// Read the schema from this .proto file
    #[arg(long, value_name = "FILE", conflicts_with = "protoset")]
    pub(crate) proto: Vec<PathBuf>,

    /// A folder that imports are relative to; default: the folder of each .proto file
    #[arg(long = "import-path", short = 'I', value_name = "DIR")]
    pub(crate) import_path: Vec<PathBuf>,

    /// Read the schema from this descriptor set (`protoc -o`, `buf build -o`, `peregrine gen --descriptor-set`)
    #[arg(long, value_name = "FILE")]
    pub(crate) protoset: Vec<PathBuf>,
}

impl SchemaArgs {
    /// Whether the schema comes from files, so that no server is needed to know it.
    pub(crate) fn names_files(&self) -> bool {
        !self.proto.is_empty() || !self.protoset.is_empty()
    }
}
