//! Compiles the proto of `peregrine demo`, and the descriptors of the details that a failed status may carry.

use std::{env, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    peregrine_build::compile("proto/demo.proto")?;
    println!("cargo::rerun-if-changed=proto/error_details.proto");
    let details = peregrine_build::configure().descriptor_set("proto/error_details.proto")?;
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    fs::write(folder.join("error_details.bin"), details)?;
    Ok(())
}
