//! gRPC for Rust, on an HTTP/2 engine of its own.
//!
//! One crate to name: what users need stands at this level. `peregrine-build` compiles `.proto` files in a
//! `build.rs`, without protoc; `include_proto!` brings the result in.
//!
//! # Features
//! Features only add.
//! - `buffa` (default): messages by the buffa runtime, the generator's default.
//! - `health` (default): `grpc.health.v1`.
//! - `reflection` (default): `grpc.reflection` v1 and v1alpha.
//! - `prost`: messages by the prost runtime.

pub mod codec;
mod include;
#[doc(hidden)]
pub mod rt;

pub use peregrine_client::{Channel, ChannelBuilder, IntoTarget, Target, TargetError};
pub use peregrine_core::{
    BytesCodec, CallOptions, Code, Codec, DecodeLimits, Error, Extensions, IntoRequest, IntoStreamingRequest,
    InvalidMetadata, MetadataMap, MetadataValue, MethodDescriptor, PeerAddr, Phase, Request, Response,
    Sender, ServiceDescriptor, Status, Stream, Streaming, channel, iter, unfold,
};
pub use peregrine_server::{Execution, IntoListener, Server, ShutdownReport};
#[cfg(feature = "health")]
pub use peregrine_services::health;
#[cfg(feature = "reflection")]
pub use peregrine_services::reflection;
