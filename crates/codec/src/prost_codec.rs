//! Messages of the prost runtime.

use std::borrow::Cow;

use peregrine_core::message::LINK_THRESHOLD;
use peregrine_core::{Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, NamedCodec, Payload};
use prost::{Message, Name};

use crate::sharing::{Copying, Sharing};

/// Reads and writes [`prost::Message`]s.
///
/// Prost's own recursion limit of 100 holds; it cannot be changed at run time. Unknown fields are dropped. Large
/// `bytes` fields leave by reference and arrive as shares of the message's own buffer, small ones are copied (wire-rules
/// B5, Z1).
#[derive(Clone, Copy, Debug, Default)]
pub struct ProstCodec;

impl<M: Message + Default + 'static> Codec<M> for ProstCodec {
    #[inline]
    fn encode<E: EncodeTarget>(message: &M, target: &mut E) -> Result<(), EncodeError> {
        let mut room = target.begin(message.encoded_len())?;
        message.encode_raw(&mut room);
        Ok(())
    }

    #[inline]
    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<M, DecodeError> {
        match body {
            Payload::Shared(bytes) | Payload::Inflated(bytes) if bytes.len() >= LINK_THRESHOLD => {
                M::decode(Sharing::new(bytes))
            }
            body => M::decode(Copying(body.as_slice())),
        }
        .map_err(DecodeError::from_source)
    }
}

impl<M: Message + Name + Default + 'static> NamedCodec<M> for ProstCodec {
    fn message_name() -> Cow<'static, str> {
        M::full_name().into()
    }
}
