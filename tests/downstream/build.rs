//! Generates the service that the crate implements.

fn main() -> peregrine_build::Result {
    peregrine_build::compile("proto/library.proto")
}
