//! Compiles the service's proto file, shared with ours, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = "../../benches/echo/proto";
    println!("cargo::rerun-if-changed={folder}");
    let files = protox::compile(["bench.proto"], [folder])?;
    tonic_prost_build::configure().bytes(".").compile_fds(files)?;
    Ok(())
}
