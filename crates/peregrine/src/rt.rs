//! What generated code calls. Not for users: names here change with the generator.

pub use peregrine_client::{
    Channel, IntoTarget, bidi, bidi_sender, client_streaming, client_streaming_sender, server_streaming,
    unary,
};
#[cfg(feature = "buffa")]
pub use peregrine_codec::BuffaCodec;
#[cfg(feature = "prost")]
pub use peregrine_codec::ProstCodec;
pub use peregrine_core::{
    BytesCodec, Codec, Error, IntoRequest, IntoStreamingRequest, MethodDescriptor, Request, Response, Sender,
    ServiceDescriptor, Status, Stream, Streaming,
};
pub use peregrine_server::service::{
    CallResult, CallSlot, ResponseSink, Service, bidi_slot, client_streaming_slot, server_streaming_slot,
    unary_slot,
};
#[cfg(feature = "buffa")]
pub use {buffa, buffa_types};
#[cfg(feature = "prost")]
pub use {prost, prost_types};
