//! What the two programs share: the service's code, its well-known values and the official flags.

mod echo;
mod flags;

pub use self::echo::EchoMetadata;
pub use self::flags::Flags;

/// The messages, the client and the server trait of `testing.proto`.
pub mod pb {
    tonic::include_proto!("grpc.testing");
}

/// Metadata that the server sends back in its response headers.
pub const INITIAL_KEY: &str = "x-grpc-test-echo-initial";
/// Metadata that the server sends back in its trailers.
pub const TRAILING_KEY: &str = "x-grpc-test-echo-trailing-bin";

/// A payload of `size` zeros, as the messages hold it.
pub fn zeros(size: i32) -> Option<pb::Payload> {
    let body = vec![0; usize::try_from(size).unwrap_or(0)];
    Some(pb::Payload { body, ..Default::default() })
}
