//! Compiles the soaked service.

fn main() -> peregrine_build::Result {
    peregrine_build::compile("proto/soak.proto")
}
