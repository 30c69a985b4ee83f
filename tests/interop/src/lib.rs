//! What server and client of the interop cases share: messages, well-known keys, and the official flags.

pub mod flags;

/// The messages and services of `grpc.testing`.
#[allow(missing_docs, reason = "generated; the proto documents it")]
pub mod pb {
    peregrine::include_proto!();
    pub use self::grpc::testing::*;
}

/// Metadata that the server sends back among its initial metadata.
pub const ECHO_INITIAL: &str = "x-grpc-test-echo-initial";
/// Binary metadata that the server sends back among its trailers.
pub const ECHO_TRAILING: &str = "x-grpc-test-echo-trailing-bin";

/// A payload of zeros, as every program of the suite sends it.
pub fn payload(size: usize) -> pb::Payload {
    pb::Payload { body: vec![0; size].into(), ..Default::default() }
}
