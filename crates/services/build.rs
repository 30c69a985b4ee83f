//! Compiles the services' protos. The runtime module is this crate's own, since it stands below the facade.

fn main() -> peregrine_build::Result {
    peregrine_build::configure().include("proto").runtime_path("crate::rt").build_client(false).compile([
        "proto/grpc/health/v1/health.proto",
        "proto/grpc/reflection/v1/reflection.proto",
        "proto/grpc/reflection/v1alpha/reflection.proto",
        "proto/xds/service/orca/v3/orca.proto",
    ])
}
