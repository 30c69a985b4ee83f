//! Compiles the service's proto file, shared with ours, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = "../../benches/compression/proto";
    println!("cargo::rerun-if-changed={folder}");
    let files = protox::compile(["pages.proto"], [folder])?;
    tonic_prost_build::configure().build_client(false).bytes(".").compile_fds(files)?;
    Ok(())
}
