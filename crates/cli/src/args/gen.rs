//! Flags of `peregrine gen`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct GenArgs {
    /// The .proto files to compile
    #[arg(required_unless_present_any = ["plugin", "from_descriptor_set"], value_name = "PROTO")]
    pub(crate) protos: Vec<PathBuf>,

    /// Folder for the generated files
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Write nothing: end with 1 and name the files that are missing or stale
    #[arg(long)]
    pub(crate) check: bool,

    /// Name of the generated file, without `.rs`
    #[arg(long, default_value = "peregrine", value_name = "NAME")]
    pub(crate) name: String,

    /// Protobuf library of the generated messages
    #[arg(long, value_enum, default_value_t = CodecChoice::Buffa)]
    pub(crate) codec: CodecChoice,

    /// A folder that imports are relative to; default: found from the imports
    #[arg(long = "import-path", short = 'I', value_name = "DIR")]
    pub(crate) import_path: Vec<PathBuf>,

    /// Write the descriptor set here too, for --protoset
    #[arg(long, value_name = "FILE")]
    pub(crate) descriptor_set: Option<PathBuf>,

    /// Take the schema from this descriptor set instead of .proto files
    #[arg(long, value_name = "FILE", conflicts_with = "protos")]
    pub(crate) from_descriptor_set: Option<PathBuf>,

    /// Speak the protoc plug-in protocol on stdin and stdout (so does a call by the name protoc-gen-peregrine)
    #[arg(long, conflicts_with_all = ["protos", "from_descriptor_set", "check"])]
    pub(crate) plugin: bool,
}

/// Protobuf libraries that code is generated for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum CodecChoice {
    /// buffa: views, editions, JSON
    Buffa,
    /// prost
    Prost,
}
