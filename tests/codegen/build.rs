//! Every proto of this crate with both codecs, and once with handlers that take views.

use peregrine_build::{Codec, configure};

const PROTOS: [&str; 7] = [
    "proto/comments.proto",
    "proto/crate_user.proto",
    "proto/hostile.proto",
    "proto/greeter.proto",
    "proto/keywords.proto",
    "proto/names.proto",
    "proto/layout/shop.proto",
];

const DETAILS: &str = "proto/rpc_details.proto";

fn main() -> peregrine_build::Result {
    configure().name("owned").compile(PROTOS)?;
    configure().name("views").view_requests(".").compile(PROTOS)?;
    // Unknown fields are dropped, as the types that `core` writes by hand drop them.
    configure().name("rpc_buffa").unknown_fields(false).compile([DETAILS])?;
    configure().name("rpc_prost").codec(Codec::Prost).compile([DETAILS])?;
    configure().name("prost").codec(Codec::Prost).default_unimplemented(true).compile(PROTOS)
}
