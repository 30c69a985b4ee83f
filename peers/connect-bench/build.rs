//! Compiles the service's proto file, shared with ours, without protoc.

use std::path::Path;

use buffa_codegen::{BytesRepr, CodeGenConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = "../../benches/echo/proto";
    println!("cargo::rerun-if-changed={folder}");
    let mut compiler = protox::Compiler::new([folder])?;
    compiler.include_source_info(true).include_imports(true).open_file("bench.proto")?;
    let set = Path::new(&std::env::var("OUT_DIR")?).join("bench.binpb");
    std::fs::write(&set, compiler.encode_file_descriptor_set())?;
    let mut messages = CodeGenConfig::default();
    messages.bytes_fields = vec![(".".into(), BytesRepr::Bytes)];
    connectrpc_build::Config::new()
        .buffa_config(messages)
        .generate_json(false)
        .gate_client_feature(true)
        .descriptor_set(set)
        .files(&["bench.proto"])
        .include_file("connect.rs")
        .compile()?;
    Ok(())
}
