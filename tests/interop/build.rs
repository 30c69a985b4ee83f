//! Compiles the test service of the interop specification, and ORCA's for the client, whose messages are the library's own.

fn main() -> peregrine_build::Result {
    // One method of the specification is there to be unimplemented.
    peregrine_build::configure()
        .include("proto")
        .include("../../crates/services/proto")
        .default_unimplemented(true)
        .compile(["proto/testing.proto", "../../crates/services/proto/xds/service/orca/v3/orca.proto"])
}
