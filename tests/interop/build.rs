//! Compiles the test service of the interop specification.

fn main() -> peregrine_build::Result {
    // One method of the specification is there to be unimplemented.
    peregrine_build::configure().default_unimplemented(true).compile("proto/testing.proto")
}
