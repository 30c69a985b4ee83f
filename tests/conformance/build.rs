//! Compiles the suite's service and the messages by which its runner drives our programs.

fn main() -> peregrine_build::Result {
    peregrine_build::configure()
        .include("proto")
        // One method of the suite is there to be unimplemented.
        .default_unimplemented(true)
        .compile([
            "proto/connectrpc/conformance/v1/service.proto",
            "proto/connectrpc/conformance/v1/client_compat.proto",
            "proto/connectrpc/conformance/v1/server_compat.proto",
            "proto/google/rpc/status.proto",
        ])
}
