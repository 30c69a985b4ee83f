//! Compiles the interop service's proto file, shared with the other stacks' programs, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = "../../tests/interop/proto";
    println!("cargo::rerun-if-changed={folder}");
    let files = protox::compile(["testing.proto"], [folder])?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
