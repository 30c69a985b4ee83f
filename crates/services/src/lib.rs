//! The services that every gRPC tool expects to find: one module and one feature each.

#[cfg(feature = "health")]
pub mod health;
#[cfg(feature = "orca")]
pub mod orca;
#[cfg(feature = "reflection")]
pub mod reflection;

/// What the generated code of this crate calls.
#[cfg(any(feature = "health", feature = "orca", feature = "reflection"))]
mod rt {
    pub(crate) use ::buffa;
    pub(crate) use ::buffa_types;
    pub(crate) use peregrine_codec::BuffaCodec;
    pub(crate) use peregrine_core::{
        MethodDescriptor, Request, Response, ServiceDescriptor, Status, Stream, Streaming,
    };
    pub(crate) use peregrine_server::service::{
        CallSlot, ResponseSink, Service, bidi_slot, server_streaming_slot, unary_slot,
    };

    /// Generator and runtime are of one workspace here, so they cannot differ.
    pub(crate) const fn assert_generated_version(_major: u32, _minor: u32) {}
}

/// The messages and services of `grpc.*` and `xds.*`, as generated.
#[cfg(any(feature = "health", feature = "orca", feature = "reflection"))]
#[allow(missing_docs, dead_code, reason = "generated; the protos document it, and not every item is used")]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/peregrine.rs"));
}
