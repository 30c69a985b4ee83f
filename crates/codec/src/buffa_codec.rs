//! Messages of the buffa runtime.

use std::borrow::Cow;
use std::cell::Cell;

use buffa::bytes::Bytes;
use buffa::{DecodeContext, EncodeSink, Message, MessageName, SizeCache};
use peregrine_core::message::LINK_THRESHOLD;
use peregrine_core::{
    Codec, DecodeError, DecodeLimits, EncodeBuf, EncodeError, EncodeTarget, NamedCodec, Payload,
};

use crate::sharing::{Copying, Sharing};

/// Reads and writes [`buffa::Message`]s.
///
/// The size is computed once, before the first byte is written (wire-rules Z3). Large `bytes` fields leave by
/// reference and arrive as shares of the message's own buffer; small ones are copied, which costs less and pins
/// nothing (wire-rules B5, Z1).
#[derive(Clone, Copy, Debug, Default)]
pub struct BuffaCodec;

impl<M: Message + 'static> Codec<M> for BuffaCodec {
    #[inline]
    fn encode<E: EncodeTarget>(message: &M, target: &mut E) -> Result<(), EncodeError> {
        let mut sizes = SizeCache::new();
        let size = message.compute_size(&mut sizes);
        let size = buffa::checked_encode_size(size).map_err(EncodeError::from_source)? as usize;
        let mut room = target.begin(size)?;
        if size < LINK_THRESHOLD {
            message.write_to(&mut sizes, &mut room);
        } else {
            message.write_to(&mut sizes, &mut Linking(room));
        }
        Ok(())
    }

    #[inline]
    fn decode(body: Payload<'_>, limits: &DecodeLimits) -> Result<M, DecodeError> {
        if body.len() > buffa::MAX_MESSAGE_BYTES as usize {
            return Err(DecodeError::from_source(buffa::DecodeError::MessageTooLarge));
        }
        let (unknown, elements) = (Cell::new(limits.unknown_fields), Cell::new(limits.element_memory));
        let context = DecodeContext::new(limits.recursion, &unknown).with_element_memory(&elements);
        let mut message = M::default();
        let merged = match &body {
            Payload::Shared(bytes) | Payload::Inflated(bytes) if bytes.len() >= LINK_THRESHOLD => {
                merge_shared(&mut message, bytes, context)
            }
            body => message.merge(&mut Copying(body.as_slice()), context),
        };
        match merged {
            Ok(()) => Ok(message),
            Err(error) => Err(DecodeError::from_source(error)),
        }
    }
}

/// Reads a large message in a buffer of its own: its large fields become shares of that.
#[inline(never)]
fn merge_shared<M: Message>(
    message: &mut M,
    bytes: &Bytes,
    context: DecodeContext<'_>,
) -> Result<(), buffa::DecodeError> {
    message.merge(&mut Sharing::new(bytes.clone()), context)
}

impl<M: Message + MessageName + 'static> NamedCodec<M> for BuffaCodec {
    fn message_name() -> Cow<'static, str> {
        M::FULL_NAME.into()
    }
}

/// A sink that links large `bytes` fields instead of copying them. Not a `BufMut`, for which buffa copies.
struct Linking<'a>(EncodeBuf<'a>);

impl EncodeSink for Linking<'_> {
    const IS_SEGMENTED: bool = true;

    fn put_u8(&mut self, value: u8) {
        self.0.put_slice(&[value]);
    }

    fn put_slice(&mut self, slice: &[u8]) {
        self.0.put_slice(slice);
    }

    fn put_u32_le(&mut self, value: u32) {
        self.0.put_slice(&value.to_le_bytes());
    }

    fn put_u64_le(&mut self, value: u64) {
        self.0.put_slice(&value.to_le_bytes());
    }

    fn put_shared(&mut self, bytes: Bytes) {
        self.0.put_shared(bytes);
    }
}
