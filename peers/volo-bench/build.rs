//! Compiles the service's proto file, shared with ours.

fn main() {
    let folder = "../../benches/echo/proto";
    println!("cargo::rerun-if-changed={folder}");
    volo_build::Builder::protobuf()
        .add_service(format!("{folder}/bench.proto"))
        .include_dirs(vec![folder.into()])
        .filename("bench.rs".into())
        .write()
        .expect("volo-build");
}
