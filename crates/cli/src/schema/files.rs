//! The schema from files on disk: .proto sources and descriptor sets.

use std::{
    fs,
    path::{Path, PathBuf},
};

use prost_reflect::DescriptorPool;

use super::{Schema, assemble::Files};
use crate::{
    args::SchemaArgs,
    report::{Excerpt, Report},
};

/// Reads the files that the command line names.
pub(crate) fn load(args: &SchemaArgs) -> Result<Schema, Report> {
    if args.proto.is_empty() { from_descriptor_sets(&args.protoset) } else { from_protos(args) }
}

fn from_descriptor_sets(paths: &[PathBuf]) -> Result<Schema, Report> {
    let mut files = Files::default();
    for path in paths {
        let bytes = read(path)?;
        files.add_set(&bytes).map_err(|error| {
            Report::schema(format!("`{}` is no descriptor set", path.display())).fact("cause", error).next(
                "make one with `protoc --include_imports -o FILE` or `peregrine gen --descriptor-set FILE`",
            )
        })?;
    }
    let mut pool = DescriptorPool::new();
    files.add_to(&mut pool).map_err(|cause| {
        Report::schema("the descriptor sets do not fit together")
            .fact("cause", cause)
            .next("was the set made with its imports? (protoc: --include_imports)")
    })?;
    Ok(Schema { pool })
}

fn from_protos(args: &SchemaArgs) -> Result<Schema, Report> {
    let folder = std::env::current_dir()
        .map_err(|error| Report::system("there is no current folder").fact("cause", error))?;
    let set = peregrine_build::configure()
        .relative_to(folder)
        .includes(&args.import_path)
        .descriptor_set(args.proto.as_slice())
        .map_err(|error| build_report(&error))?;
    let mut files = Files::default();
    let mut pool = DescriptorPool::new();
    files
        .add_set(&set)
        .map_err(|error| error.to_string())
        .and_then(|()| files.add_to(&mut pool))
        .map_err(|cause| Report::schema("the .proto files do not fit together").fact("cause", cause))?;
    Ok(Schema { pool })
}

/// A fault in a .proto file, with the spot in it.
pub(crate) fn build_report(error: &peregrine_build::Error) -> Report {
    let mut report = Report::schema(error.message());
    if let Some(place) = error.place() {
        let label = place.label.as_deref().unwrap_or_default();
        let spot = (place.line, place.column, place.width);
        report = report.excerpt(Excerpt::of_line(&place.file, &place.source_line, spot, label));
    }
    for note in error.notes() {
        report = report.fact("note", note);
    }
    match error.next_step() {
        Some(step) => report.next(step),
        None => report,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Report> {
    fs::read(path)
        .map_err(|error| Report::input(format!("cannot read `{}`", path.display())).fact("cause", error))
}
