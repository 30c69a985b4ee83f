//! Compiles the bench service twice, once for each codec.

fn main() -> peregrine_build::Result {
    peregrine_build::configure().name("buffa").compile("../echo/proto/bench.proto")?;
    peregrine_build::configure()
        .codec(peregrine_build::Codec::Prost)
        .name("prost")
        .compile("../echo/proto/bench.proto")
}
