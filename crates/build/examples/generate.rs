//! Generates from whole folders of protos and says how long it took: for trying large trees, and for comparing.
//!
//! ```text
//! generate CODEC OUT ROOT[,ROOT..] FOLDER..
//! ```
//!
//! Every `.proto` file in the folders is compiled; imports are looked up in the roots. `OUT` is a folder.

#![allow(clippy::print_stdout, reason = "the figures go to whoever started it")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [codec, out, roots, folders @ ..] = args.as_slice() else {
        return Err("usage: generate CODEC OUT ROOT[,ROOT..] FOLDER..".into());
    };
    let mut files = Vec::new();
    for folder in folders {
        find_protos(Path::new(folder), &mut files)?;
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
    for file in generated {
        println!("{}: {} bytes, {} lines", file.name, file.content.len(), file.content.lines().count());
        fs::write(Path::new(out).join(file.name), file.content)?;
    }
    Ok(())
}

fn find_protos(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_protos(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            found.push(path);
        }
    }
    Ok(())
}
