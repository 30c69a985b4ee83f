//! Every proto of this crate with both codecs, and once with views.

use peregrine_build::{Codec, configure};

const PROTOS: [&str; 4] =
    ["proto/greeter.proto", "proto/keywords.proto", "proto/names.proto", "proto/layout/shop.proto"];

fn main() -> peregrine_build::Result {
    configure().name("owned").compile(PROTOS)?;
    configure().name("views").views(true).compile(PROTOS)?;
    configure().name("prost").codec(Codec::Prost).default_unimplemented(true).compile(PROTOS)
}
