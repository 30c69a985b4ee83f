//! gRPC without I/O: message framing, codecs, status, metadata, deadlines and
//! the values a call carries.
//!
//! Nothing in here opens a socket, reads a clock or knows HTTP/2 frames. The
//! client and the server feed header fields and body bytes in and take header
//! fields and body bytes out; the `peregrine` crate re-exports what users name.
//! No protobuf crate is known here either: a message format is a [`Codec`].
//!
//! | module | holds |
//! |---|---|
//! | [`call`] | what a handler and a caller see: [`Request`], [`Response`], [`Streaming`], options |
//! | [`codec`] | the seam to message formats |
//! | [`compression`] | message encodings: inflating, and when to compress |
//! | [`content_type`] | is this gRPC at all? |
//! | [`deadline`] | `grpc-timeout` both ways |
//! | [`error`] | failures before a status exists |
//! | [`mod@format`] | message formats beside the codec's own |
//! | [`intercept`] | code of the user's that sees every call |
//! | [`message`] | the 5-byte prefix, incoming and outgoing buffers |
//! | [`metadata`] | user header fields |
//! | [`observe`] | what happens below the calls |
//! | [`status`] | how a call ended |
//! | [`stream`] | sources of messages |
//!
//! Comments cite the project's wire rules by number ("wire-rules 29", "M2")
//! and RFC sections where a rule comes from there.

pub mod call;
pub mod codec;
pub mod compression;
pub mod content_type;
pub mod deadline;
pub mod error;
pub mod format;
pub mod intercept;
pub mod message;
pub mod metadata;
pub mod observe;
mod report;
pub mod status;
pub mod stream;
mod survive;

pub use crate::call::{
    Audience, BearerToken, CallContext, CallCredentials, CallOptions, Cancellation, Cancelled, Extensions,
    IntoRequest, IntoStreamingRequest, MethodDescriptor, MethodPath, PeerAddr, PeerIdentity, Request,
    Response, ServiceDescriptor, Streaming,
};
pub use crate::codec::{
    BytesCodec, Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, NamedCodec, Payload,
};
pub use crate::error::{Error, Phase};
pub use crate::format::{Format, MessageFormat, MethodFormat, Transcode};
pub use crate::intercept::{CallEnd, InterceptedCall, Interceptor, Message};
pub use crate::message::EncodeBuf;
pub use crate::metadata::{InvalidMetadata, MetadataMap, MetadataValue};
pub use crate::observe::Observe;
pub use crate::status::{Code, Status};
pub use crate::stream::{Sender, Stream, channel, iter, unfold};
pub use crate::survive::{drop_quietly, survive};
