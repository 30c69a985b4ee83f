//! What generated code calls. Not for users: names here change with the generator.

pub use peregrine_client::{
    Channel, IntoTarget, bidi, bidi_sender, client_streaming, client_streaming_sender, server_streaming,
    unary,
};
#[cfg(feature = "prost")]
pub use peregrine_codec::ProstCodec;
#[cfg(feature = "buffa")]
pub use peregrine_codec::{BuffaCodec, View};
pub use peregrine_core::{
    BytesCodec, Codec, Error, IntoRequest, IntoStreamingRequest, MethodDescriptor, Request, Response, Sender,
    ServiceDescriptor, Status, Stream, Streaming,
};
pub use peregrine_server::service::{
    CallResult, CallSlot, ResponseSink, Service, bidi_slot, client_streaming_slot, server_streaming_slot,
    unary_slot,
};
#[cfg(feature = "buffa")]
pub use {buffa, buffa_descriptor, buffa_types};
#[cfg(feature = "prost")]
pub use {prost, prost_types};

/// Generated code calls this in a constant, so that text made by another version of `peregrine-build` stops the build
/// with one sentence instead of a page of type errors. Before 1.0 every minor version may change what is generated.
pub const fn assert_generated_version(major: u32, minor: u32) {
    let matches = if major == 0 { minor == MINOR } else { minor <= MINOR };
    assert!(
        major == MAJOR && matches,
        "this code was generated for another version of peregrine: give peregrine and peregrine-build the same \
         version in Cargo.toml, and generate again what is checked in"
    );
}

const MAJOR: u32 = number(env!("CARGO_PKG_VERSION_MAJOR"));
const MINOR: u32 = number(env!("CARGO_PKG_VERSION_MINOR"));

/// A decimal number, at compile time.
const fn number(digits: &str) -> u32 {
    let digits = digits.as_bytes();
    let (mut value, mut at) = (0, 0);
    while at < digits.len() {
        value = value * 10 + (digits[at] - b'0') as u32;
        at += 1;
    }
    value
}
