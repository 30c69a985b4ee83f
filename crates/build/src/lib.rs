//! Compiles `.proto` files to Rust for `peregrine`, in `build.rs` and without protoc.
//!
//! ```no_run
//! // build.rs
//! fn main() -> peregrine_build::Result {
//!     peregrine_build::compile("proto/greeter.proto")
//! }
//! ```
//! ```ignore
//! // src/main.rs
//! mod pb {
//!     peregrine::include_proto!();
//! }
//! use pb::greeter::v1::{Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest};
//! ```
//!
//! # What comes out
//! One file that holds the package tree as nested modules: `package greeter.v1` is `greeter::v1`. In it are
//!
//! - messages and enums, made by the codec's own generator ([`Codec`]), with `bytes` fields as `Bytes`;
//! - for `service Greeter` the trait `Greeter` to implement, `GreeterServer` to mount and `GreeterClient` to call;
//! - the well-known types that are imported, under `google::protobuf`;
//! - at the root, `FILE_DESCRIPTOR_SET`: the descriptors of all files and their imports for reflection.
//!
//! # Names
//! Every proto name works. Keywords are escaped (`r#type`; `self_` for the four that have no raw form). An rpc is named
//! in snake case; one called `New`, `Connect` or `Clone` gets an underscore (`connect_`), since clients have methods of
//! these names. If a message is called like something that a service generates (`GreeterServer`), the service's item
//! gets the underscore. Types start with a capital letter (`type` becomes `Type`, `bool` becomes `Bool`), and a name of
//! underscores only is spelled out (`Underscore`). Names on the wire never change. Two rpcs that would become one method are an
//! error that names both.
//!
//! # Other ways in
//! [`configure`] has the options; [`Config::compile_descriptor_set`] takes descriptors made by protoc or buf, which is
//! the way for files with `edition = ".."`; [`Config::generate`] works without a file system; [`plugin`] is the
//! protocol of protoc and buf plug-ins.

#![cfg_attr(
    not(any(feature = "buffa", feature = "prost")),
    allow(unused, reason = "without a codec nothing can be generated, and most of the crate has no caller")
)]

mod backend;
mod cargo;
mod config;
mod descriptor;
mod doc;
mod error;
mod generate;
mod ident;
pub mod plugin;
mod service;
mod source;
mod tree;
mod verbatim;

pub use config::{Codec, Config, GeneratedFile, ProtoFiles, configure};
pub use error::{Error, Place, Result};

/// Compiles `.proto` files with the default options into the file that `peregrine::include_proto!()` includes.
///
/// `files` is one path or several, relative to the folder of `Cargo.toml`. Imports may be relative to the folder of the
/// importing file or to one above it; the well-known types are built in. Give all files to one call.
///
/// # Errors
/// When a file is missing or wrong, or when the output cannot be written. Return it from `main`: what is printed then is
/// a report with the place in the proto and the next step.
pub fn compile(files: impl ProtoFiles) -> Result {
    configure().compile(files)
}
