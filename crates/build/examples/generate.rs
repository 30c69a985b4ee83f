//! Generates from whole folders of protos and says how long it took: for trying large trees, and for comparing.
//!
//! ```text
//! generate CODEC OUT ROOT[,ROOT..] PATH..
//! ```
//!
//! A path is a `.proto` file, or a folder of which every such file is compiled; imports are looked up in the roots. `OUT` is a
//! folder; the descriptors go there as well, as `descriptors.binpb`, for other generators to try.

#![allow(clippy::print_stdout, reason = "the figures go to whoever started it")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [codec, out, roots, paths @ ..] = args.as_slice() else {
        return Err("usage: generate CODEC OUT ROOT[,ROOT..] PATH..".into());
    };
    let mut files = Vec::new();
    for path in paths {
        find_protos(Path::new(path), &mut files)?;
    }
    files.sort();

    let codec = codec.parse()?;
    let config = || peregrine_build::configure().codec(codec).includes(roots.split(','));
    let start = Instant::now();
    let set = config().descriptor_set(files.as_slice())?;
    println!("{} files compiled to descriptors in {:.2?}", files.len(), start.elapsed());
    let start = Instant::now();
    let generated = config().generate(&set)?;
    println!("code generated in {:.2?}", start.elapsed());
    fs::create_dir_all(out)?;
    fs::write(Path::new(out).join("descriptors.binpb"), set)?;
    for file in generated {
        println!("{}: {} bytes, {} lines", file.name, file.content.len(), file.content.lines().count());
        fs::write(Path::new(out).join(file.name), file.content)?;
    }
    Ok(())
}

fn find_protos(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            find_protos(&entry?.path(), found)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "proto") {
        found.push(path.to_path_buf());
    }
    Ok(())
}
