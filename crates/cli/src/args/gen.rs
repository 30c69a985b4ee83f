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

    /// Generate borrowed views beside the messages (buffa)
    #[arg(long)]
    pub(crate) views: bool,

    /// Give the handlers of this package, service or rpc a `Request<View<M>>`; `.` is all (buffa)
    #[arg(long, value_name = "PATH")]
    pub(crate) view_requests: Vec<String>,

    /// Drop fields that the protos do not know (buffa)
    #[arg(long)]
    pub(crate) no_unknown_fields: bool,

    /// Use a Rust module or type for a proto package or message instead of generating it
    #[arg(long, value_name = "PROTO=RUST", value_parser = pair)]
    pub(crate) extern_path: Vec<(String, String)>,

    /// Add an attribute to the messages, enums and oneofs under a proto path; `.` is all
    #[arg(long, value_name = "PATH=ATTRIBUTE", value_parser = pair)]
    pub(crate) type_attribute: Vec<(String, String)>,

    /// Add an attribute to the fields under a proto path; `.` is all
    #[arg(long, value_name = "PATH=ATTRIBUTE", value_parser = pair)]
    pub(crate) field_attribute: Vec<(String, String)>,

    /// Generate no service traits and servers
    #[arg(long)]
    pub(crate) no_server: bool,

    /// Generate no clients
    #[arg(long)]
    pub(crate) no_client: bool,

    /// Give trait methods a body that answers UNIMPLEMENTED
    #[arg(long)]
    pub(crate) default_unimplemented: bool,

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

/// `left=right`, cut at the first sign.
fn pair(text: &str) -> Result<(String, String), String> {
    let (left, right) = text.split_once('=').ok_or("write it as PATH=VALUE")?;
    Ok((left.to_owned(), right.to_owned()))
}
