//! The descriptor set as the generator sees it.
//!
//! [`Input`] keeps two forms: the bytes as given, which reflection serves, and the decoded files with names that Rust
//! can say, which the code generators read.

mod names;
mod wire;

use std::collections::HashSet;

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

use crate::error::{Error, Result};
pub(crate) use names::Renamed;
pub(crate) use wire::set_of_request;

/// A decoded descriptor set.
#[derive(Debug)]
pub(crate) struct Input {
    /// The files as given; what goes over the wire is named after these.
    pub(crate) files: Vec<FileDescriptorProto>,
    /// The same files in the same order, without names that no Rust identifier can be made of and without source info.
    pub(crate) renamed: Renamed,
    /// The set as given, with fields that the decoded form does not know.
    #[cfg_attr(not(feature = "buffa"), expect(dead_code, reason = "only buffa's types know those fields"))]
    pub(crate) descriptor_set: Vec<u8>,
    /// The set without source info, as servers hand it out through reflection.
    pub(crate) stripped: Vec<u8>,
}

impl Input {
    /// Decodes an encoded `google.protobuf.FileDescriptorSet`, which must hold every imported file.
    pub(crate) fn decode(descriptor_set: &[u8]) -> Result<Self> {
        let mut set = FileDescriptorSet::decode(descriptor_set)
            .map_err(|cause| not_a_set(&cause.to_string()).with_cause(cause))?;
        let stripped =
            wire::without_source_info(descriptor_set).ok_or_else(|| not_a_set("it ends within a field"))?;
        if set.file.is_empty() {
            return Err(not_a_set("it holds no file"));
        }
        let names: HashSet<&str> = set.file.iter().map(FileDescriptorProto::name).collect();
        for file in &set.file {
            let missing = file.dependency.iter().find(|import| !names.contains(import.as_str()));
            if let Some(import) = missing {
                return Err(Error::new(format!(
                    "the descriptor set lacks {import}, which {} imports",
                    file.name()
                ))
                .with_next("make it with --include_imports"));
            }
        }
        let renamed = Renamed::new(&mut set.file)?;
        Ok(Self { files: set.file, renamed, descriptor_set: descriptor_set.to_vec(), stripped })
    }
}

fn not_a_set(reason: &str) -> Error {
    Error::new(format!("this is no descriptor set: {reason}"))
        .with_next("make one with protoc --include_imports --include_source_info --descriptor_set_out=FILE")
}

/// The well-known types: taken from the codec's own crate, never generated.
pub(crate) fn is_well_known(file: &FileDescriptorProto) -> bool {
    file.package() == "google.protobuf" || file.package().starts_with("google.protobuf.")
}

/// `.package.Name`, or `.Name` without a package.
pub(crate) fn full_name(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        format!(".{name}")
    } else {
        format!("{}{scope}.{name}", if scope.starts_with('.') { "" } else { "." })
    }
}
