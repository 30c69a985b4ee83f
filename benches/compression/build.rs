//! Compiles the service under measurement.

fn main() -> peregrine_build::Result {
    peregrine_build::configure().name("pages").compile("proto/pages.proto")
}
