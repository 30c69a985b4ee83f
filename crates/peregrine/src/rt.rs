//! What generated code calls. Not for users: names here change with the generator.

pub use peregrine_core::{
    BytesCodec, Codec, IntoRequest, IntoStreamingRequest, MethodDescriptor, Request, Response, Sender,
    ServiceDescriptor, Status, Stream, Streaming,
};
pub use peregrine_server::service::{
    CallResult, CallSlot, ResponseSink, Service, bidi_slot, client_streaming_slot, server_streaming_slot,
    unary_slot,
};
