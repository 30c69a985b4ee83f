//! The seam between the stack and message formats.
//!
//! The client and the server are generic over a [`Codec`] and never name a
//! protobuf crate. Generated code picks the codec; [`BytesCodec`] passes
//! messages through untouched, for proxies and for tools that decode by
//! themselves.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::message::EncodeBuf;

/// How values of `T` become message bytes and back.
///
/// A codec is a type without a value: everything it needs is in the message
/// and the limits.
pub trait Codec<T>: 'static {
    /// Measures `value`, asks `target` once for exactly that much room and
    /// writes it there (wire-rules Z3).
    ///
    /// # Errors
    /// Whatever [`EncodeTarget::begin`] returns, or the codec's own failure.
    fn encode<E: EncodeTarget>(value: &T, target: &mut E) -> Result<(), EncodeError>;

    /// Reads one whole message.
    ///
    /// # Errors
    /// The bytes are not a message of this type, or break one of `limits`.
    fn decode(body: Payload<'_>, limits: &DecodeLimits) -> Result<T, DecodeError>;
}

/// A codec that knows what protobuf calls `T`, so that a `T` can travel as a detail of a status
/// ([`Any`](crate::status::details::Any)).
pub trait NamedCodec<T>: Codec<T> {
    /// Full name of the message: package, a dot, the name.
    fn message_name() -> Cow<'static, str>;
}

/// Where an encoder gets its room from.
///
/// Implemented by the framework: it writes the 5-byte prefix, checks the send limit and, once the encoder is done,
/// that exactly the announced number of bytes came.
// wire-rules B5, 44, Z3
pub trait EncodeTarget {
    /// Room for a message of exactly `len` bytes. Called once per message.
    ///
    /// # Errors
    /// The message is over the send limit, or the call has ended.
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError>;
}

/// One whole message as it arrived, prefix removed and decompressed.
#[derive(Clone, Debug)]
pub enum Payload<'a> {
    /// In the read buffer; gone when the decoder returns.
    Borrowed(&'a [u8]),
    /// In a buffer of its own; a decoder may keep shares of it.
    Shared(Bytes),
    /// As [`Shared`](Self::Shared), of a message that came compressed.
    Inflated(Bytes),
}

impl Payload<'_> {
    /// Whether the message came compressed.
    // wire-rules 31
    #[inline]
    pub fn was_compressed(&self) -> bool {
        matches!(self, Self::Inflated(_))
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether the message is empty, which is legal.
    // wire-rules 30
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// The bytes, wherever they are.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) | Self::Inflated(bytes) => bytes,
        }
    }

    /// The same message in a buffer of its own.
    pub fn into_owned(self) -> Payload<'static> {
        match self {
            Self::Inflated(bytes) => Payload::Inflated(bytes),
            other => Payload::Shared(other.into_bytes()),
        }
    }

    /// The bytes as an owned buffer: copied if borrowed, shared if not.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) | Self::Inflated(bytes) => bytes,
        }
    }
}

/// Bounds a decoder keeps against hostile messages. The size limit is not one of them: it is checked at the prefix,
/// before any decoder runs.
// wire-rules 42
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeLimits {
    /// Depth of nested messages. Default 100, as in every protobuf runtime.
    pub recursion: u32,
    /// Fields that the message's type does not know, for codecs that keep them. Default 1,000,000: one takes two bytes
    /// on the wire and some forty in memory.
    pub unknown_fields: usize,
    /// Memory of the elements of repeated fields and maps, without what they point at, in bytes. Default 32 MiB: an
    /// empty message in a list takes two bytes on the wire and its whole size in memory.
    pub element_memory: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { recursion: 100, unknown_fields: 1_000_000, element_memory: 32 * 1024 * 1024 }
    }
}

/// The codec of raw messages: what arrives is the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytesCodec;

impl Codec<Bytes> for BytesCodec {
    fn encode<E: EncodeTarget>(value: &Bytes, target: &mut E) -> Result<(), EncodeError> {
        target.begin(value.len())?.put_shared(value.clone());
        Ok(())
    }

    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
        Ok(body.into_bytes())
    }
}

/// Why a message could not be sent.
#[derive(Clone, Debug)]
pub struct EncodeError {
    kind: EncodeErrorKind,
}

/// The sorts of [`EncodeError`], by who is to blame.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// The caller's message is over the send limit; both in bytes (44).
    TooLarge {
        /// Encoded size of the message.
        size: usize,
        /// The limit it is over.
        limit: usize,
    },
    /// The codec wrote another number of bytes than it announced (Z3).
    SizeMismatch {
        /// Bytes asked for in [`EncodeTarget::begin`].
        announced: usize,
        /// Bytes that came.
        written: usize,
    },
    /// The codec could not represent the value.
    Codec {
        /// What it said.
        message: Cow<'static, str>,
        /// Its own error, if it has one.
        source: Option<Arc<dyn Error + Send + Sync>>,
    },
    /// The call had ended when the message came.
    Closed,
}

impl EncodeError {
    /// The message of `size` bytes is over `limit`.
    pub fn too_large(size: usize, limit: usize) -> Self {
        Self { kind: EncodeErrorKind::TooLarge { size, limit } }
    }

    /// The codec announced one size and wrote another.
    pub fn size_mismatch(announced: usize, written: usize) -> Self {
        Self { kind: EncodeErrorKind::SizeMismatch { announced, written } }
    }

    /// The codec cannot represent the value.
    pub fn codec(message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: EncodeErrorKind::Codec { message: message.into(), source: None } }
    }

    /// The codec failed with an error of its own.
    pub fn from_source(source: impl Error + Send + Sync + 'static) -> Self {
        let message = source.to_string().into();
        Self { kind: EncodeErrorKind::Codec { message, source: Some(Arc::new(source)) } }
    }

    /// The call had ended.
    pub fn closed() -> Self {
        Self { kind: EncodeErrorKind::Closed }
    }

    /// What went wrong.
    pub fn kind(&self) -> &EncodeErrorKind {
        &self.kind
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            EncodeErrorKind::TooLarge { size, limit } => {
                write!(f, "message of {size} bytes is over the send limit of {limit} bytes")
            }
            EncodeErrorKind::SizeMismatch { announced, written } => {
                write!(f, "codec announced a message of {announced} bytes and wrote {written}")
            }
            EncodeErrorKind::Codec { message, .. } => write!(f, "message cannot be encoded: {message}"),
            EncodeErrorKind::Closed => f.write_str("call has ended, nothing more can be sent"),
        }
    }
}

impl Error for EncodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            EncodeErrorKind::Codec { source: Some(source), .. } => Some(&**source),
            _ => None,
        }
    }
}

/// Why bytes are not a message: the peer's fault, INTERNAL.
// wire-rules 46
#[derive(Clone, Debug)]
pub struct DecodeError {
    message: Cow<'static, str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl DecodeError {
    /// With the codec's words.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// The codec failed with an error of its own.
    pub fn from_source(source: impl Error + Send + Sync + 'static) -> Self {
        Self { message: source.to_string().into(), source: Some(Arc::new(source)) }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message cannot be decoded: {}", self.message)
    }
}

impl Error for DecodeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::FrameBuf;

    // wire-rules B6: what the raw codec writes is what it was given.
    #[test]
    fn the_bytes_codec_passes_messages_through() {
        let message = Bytes::from_static(b"\0any\xff");
        let mut buf = FrameBuf::new();
        buf.encode::<BytesCodec, _>(&message, 100).unwrap();
        let wire: Vec<u8> = buf.chunks().flatten().copied().collect();
        assert_eq!(wire, [&[0, 0, 0, 0, 5][..], &message].concat());
        let decoded = BytesCodec::decode(Payload::Borrowed(&wire[5..]), &DecodeLimits::default());
        assert_eq!(decoded.unwrap(), message);
    }

    #[test]
    fn a_shared_payload_is_not_copied() {
        let bytes = Bytes::from(vec![1; 100]);
        let at = bytes.as_ptr();
        let payload = Payload::Shared(bytes);
        assert_eq!((payload.len(), payload.is_empty()), (100, false));
        assert_eq!(payload.into_bytes().as_ptr(), at);
        assert!(Payload::Borrowed(&[]).is_empty());
        assert_eq!(Payload::Borrowed(b"ab").into_bytes(), b"ab"[..]);
    }

    #[test]
    fn errors_keep_the_codecs_own() {
        let cause = || std::io::Error::other("varint too long");
        let decode = DecodeError::from_source(cause());
        assert_eq!(decode.to_string(), "message cannot be decoded: varint too long");
        assert_eq!(decode.source().unwrap().to_string(), "varint too long");
        let encode = EncodeError::from_source(cause());
        assert_eq!(encode.source().unwrap().to_string(), "varint too long");
        assert!(EncodeError::closed().source().is_none());
        assert!(DecodeError::new("x").source().is_none());
    }
}
