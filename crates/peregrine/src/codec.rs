//! The codecs of generated messages, by name for those who need one, and what an implementation of
//! [`Codec`](crate::Codec) is written with, for messages that are not protobuf.
//!
//! ```
//! use peregrine::codec::{DecodeError, EncodeError, EncodeTarget, Payload};
//! use peregrine::{Codec, DecodeLimits};
//!
//! /// Messages that are plain text.
//! struct TextCodec;
//!
//! impl Codec<String> for TextCodec {
//!     fn encode<E: EncodeTarget>(value: &String, target: &mut E) -> Result<(), EncodeError> {
//!         target.begin(value.len())?.put_slice(value.as_bytes());
//!         Ok(())
//!     }
//!
//!     fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<String, DecodeError> {
//!         String::from_utf8(body.into_bytes().into()).map_err(DecodeError::from_source)
//!     }
//! }
//!
//! let text = TextCodec::decode(Payload::Borrowed(b"hello"), &DecodeLimits::default()).unwrap();
//! assert_eq!(text, "hello");
//! ```

#[cfg(feature = "buffa")]
pub use peregrine_codec::BuffaCodec;
#[cfg(feature = "prost")]
pub use peregrine_codec::ProstCodec;
pub use peregrine_core::{DecodeError, EncodeBuf, EncodeError, EncodeTarget, Payload};
