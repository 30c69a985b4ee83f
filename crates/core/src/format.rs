//! Message formats beside the codec's own.
//!
//! A codec writes protobuf, and the content type `application/grpc` means just that. A peer may ask for another
//! format by a content subtype, `application/grpc+json`. Such messages are rewritten on their way in and out, by
//! schema: a [`Transcode`] turns JSON into what the codec reads, and what the codec wrote into JSON. So every codec
//! speaks every format, generated code needs nothing for it, and the usual call pays one branch.
//!
//! Where transcoders come from is behind [`MessageFormat`], which the crate of a format implements; the server and
//! the client know this seam only.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::call::MethodDescriptor;
use crate::codec::{Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, Payload};
use crate::message::{FrameBuf, PREFIX_LEN};
use crate::status::Status;

/// How the messages of a call look on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// What the codec writes: protobuf, `application/grpc`.
    #[default]
    Proto,
    /// Canonical protobuf JSON, `application/grpc+json`.
    Json,
}

impl Format {
    /// How many there are, for tables indexed by [`index`](Self::index).
    pub const COUNT: usize = 2;

    /// The `content-type` of requests and responses.
    #[inline]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Proto => "application/grpc",
            Self::Json => "application/grpc+json",
        }
    }

    /// Its place in a table with one entry a format.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The format that a content subtype names, what stands behind the `+`, whatever its case (wire-rules N1, N2).
    pub fn from_subtype(subtype: &[u8]) -> Option<Self> {
        if subtype.eq_ignore_ascii_case(b"proto") {
            Some(Self::Proto)
        } else if subtype.eq_ignore_ascii_case(b"json") {
            Some(Self::Json)
        } else {
            None
        }
    }
}

/// A format and where it takes the schemas of methods from: what servers and channels are given.
pub trait MessageFormat: Send + Sync + fmt::Debug {
    /// Which format it is.
    fn format(&self) -> Format;

    /// How the messages of `method` are rewritten. Asked once a method, not once a call.
    ///
    /// # Errors
    /// UNIMPLEMENTED, with the reason, when the method's types are not known.
    fn method(&self, method: &MethodDescriptor<'_>) -> Result<MethodFormat, Status>;
}

/// The messages of one method in a format that is not the codec's own.
#[derive(Clone, Debug)]
pub struct MethodFormat {
    /// The format.
    pub format: Format,
    /// Of request messages.
    pub request: Arc<dyn Transcode>,
    /// Of response messages.
    pub response: Arc<dyn Transcode>,
}

/// Rewrites messages of one type.
pub trait Transcode: Send + Sync + fmt::Debug {
    /// What the codec reads, from a message of the format.
    ///
    /// # Errors
    /// The bytes are no message of this type in this format, or break one of `limits` (wire-rules 46).
    fn read(&self, body: &[u8], limits: &DecodeLimits) -> Result<Vec<u8>, DecodeError>;

    /// A message of the format, from what the codec wrote.
    ///
    /// # Errors
    /// The format cannot express the message.
    fn write(&self, message: &[u8]) -> Result<Vec<u8>, EncodeError>;
}

/// Encodes `value` into `target`: as the codec writes it, or rewritten by `transcode`.
///
/// # Errors
/// As [`Codec::encode`], or the format cannot express the message. A send limit counts the bytes that leave.
#[inline]
pub fn encode<C: Codec<T>, T, E: EncodeTarget>(
    value: &T,
    transcode: Option<&dyn Transcode>,
    target: &mut E,
) -> Result<(), EncodeError> {
    match transcode {
        None => C::encode(value, target),
        Some(transcode) => encode_rewritten::<C, T, E>(value, transcode, target),
    }
}

/// Decodes `body`: as the codec reads it, or rewritten by `transcode`.
///
/// # Errors
/// As [`Codec::decode`], or the body is no message of the format.
#[inline]
pub fn decode<C: Codec<T>, T>(
    body: Payload<'_>,
    transcode: Option<&dyn Transcode>,
    limits: &DecodeLimits,
) -> Result<T, DecodeError> {
    match transcode {
        None => C::decode(body, limits),
        Some(transcode) => C::decode(rewritten(&body, transcode, limits)?, limits),
    }
}

/// `body` as the codec reads it.
#[cold]
pub(crate) fn rewritten(
    body: &Payload<'_>,
    transcode: &dyn Transcode,
    limits: &DecodeLimits,
) -> Result<Payload<'static>, DecodeError> {
    Ok(Payload::Shared(transcode.read(body.as_slice(), limits)?.into()))
}

#[cold]
#[inline(never)]
fn encode_rewritten<C: Codec<T>, T, E: EncodeTarget>(
    value: &T,
    transcode: &dyn Transcode,
    target: &mut E,
) -> Result<(), EncodeError> {
    let mut native = FrameBuf::new();
    native.encode::<C, T>(value, usize::MAX)?;
    let mut bytes = Vec::with_capacity(native.len());
    native.chunks().for_each(|chunk| bytes.extend_from_slice(chunk));
    let message = transcode.write(&bytes[PREFIX_LEN..])?;
    target.begin(message.len())?.put_shared(Bytes::from(message));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::BytesCodec;

    /// A format whose messages are the codec's backwards; an empty one it cannot express.
    #[derive(Debug)]
    struct Backwards;

    impl Transcode for Backwards {
        fn read(&self, body: &[u8], _limits: &DecodeLimits) -> Result<Vec<u8>, DecodeError> {
            if body.is_empty() {
                return Err(DecodeError::new("nothing to turn around"));
            }
            Ok(body.iter().rev().copied().collect())
        }

        fn write(&self, message: &[u8]) -> Result<Vec<u8>, EncodeError> {
            if message.is_empty() {
                return Err(EncodeError::codec("nothing to turn around"));
            }
            Ok(message.iter().rev().copied().collect())
        }
    }

    /// A target with a limit, as servers and clients have it.
    struct Target {
        bytes: Vec<u8>,
        links: std::collections::VecDeque<(usize, Bytes)>,
    }

    impl EncodeTarget for Target {
        fn begin(&mut self, len: usize) -> Result<crate::message::EncodeBuf<'_>, EncodeError> {
            if len > 5 {
                return Err(EncodeError::too_large(len, 5));
            }
            Ok(crate::message::EncodeBuf::new(&mut self.bytes, &mut self.links))
        }
    }

    fn encoded(text: &'static str, transcode: Option<&dyn Transcode>) -> Result<Vec<u8>, EncodeError> {
        let mut target = Target { bytes: Vec::new(), links: std::collections::VecDeque::new() };
        encode::<BytesCodec, _, _>(&Bytes::from(text), transcode, &mut target)?;
        Ok(target.bytes)
    }

    fn decoded(bytes: &[u8], transcode: Option<&dyn Transcode>) -> Result<Bytes, DecodeError> {
        decode::<BytesCodec, _>(Payload::Borrowed(bytes), transcode, &DecodeLimits::default())
    }

    #[test]
    fn messages_are_rewritten_on_their_way_in_and_out() {
        assert_eq!(encoded("abc", None).unwrap(), b"abc");
        assert_eq!(encoded("abc", Some(&Backwards)).unwrap(), b"cba");
        assert_eq!(decoded(b"abc", None).unwrap(), "abc");
        assert_eq!(decoded(b"abc", Some(&Backwards)).unwrap(), "cba");
    }

    // wire-rules 44, 46
    #[test]
    fn what_cannot_be_rewritten_or_is_too_large_then_is_an_error() {
        assert!(encoded("", Some(&Backwards)).is_err());
        assert!(encoded("123456", Some(&Backwards)).is_err());
        assert!(decoded(b"", Some(&Backwards)).is_err());
    }

    #[test]
    fn formats_are_told_apart_by_subtype() {
        assert_eq!(Format::from_subtype(b"JSON"), Some(Format::Json));
        assert_eq!(Format::from_subtype(b"proto"), Some(Format::Proto));
        assert_eq!(Format::from_subtype(b"jsonx"), None);
        for (index, format) in [Format::Proto, Format::Json].into_iter().enumerate() {
            assert_eq!((format.index(), index < Format::COUNT), (index, true));
        }
    }
}
