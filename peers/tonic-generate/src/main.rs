//! `tonic-generate SET OUT`: generates from a descriptor set into a folder, and says how long it took.

use std::error::Error;
use std::time::Instant;

use prost::Message as _;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [set, out] = args.as_slice() else { return Err("usage: tonic-generate SET OUT".into()) };
    let set = FileDescriptorSet::decode(std::fs::read(set)?.as_slice())?;
    std::fs::create_dir_all(out)?;
    let start = Instant::now();
    tonic_prost_build::configure().out_dir(out).compile_fds(set)?;
    println!("code generated in {:.2?}", start.elapsed());
    Ok(())
}
