//! Messages that are read in place.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use buffa::bytes::Bytes;
use buffa::view::{HasMessageView, OwnedView};
use buffa::{DecodeOptions, MessageName};
use peregrine_core::{Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, NamedCodec, Payload};

use crate::BuffaCodec;

/// A message of type `M` that was checked but not taken apart: its strings, `bytes` and lists are read where they
/// arrived, without an allocation for each.
///
/// It owns the message's bytes, and derefs to what the generator made for `M` (`MOwnedView`), with a method for each
/// field: `request.name()` is a `&str`. `to_owned_message()` makes an `M` of it, `bytes()` is the message as it
/// came. Sent again, it leaves as those bytes, so that a proxy changes nothing.
///
/// The generator's option `view_requests` gives handlers a `Request<View<M>>`. The bytes are a buffer of their own:
/// a view that is kept keeps no read buffer of its connection alive.
// wire-rules Z1
pub struct View<M: HasMessageView> {
    message: M::ViewHandle,
}

impl<M: HasMessageView> View<M> {
    /// Reads `message` in the form that it has on the wire, within the default limits.
    ///
    /// # Errors
    /// The bytes are no message of this type.
    pub fn decode(message: Bytes) -> Result<Self, DecodeError> {
        Self::decode_within(message, &DecodeLimits::default())
    }

    fn decode_within(message: Bytes, limits: &DecodeLimits) -> Result<Self, DecodeError> {
        let options = DecodeOptions::new()
            .with_recursion_limit(limits.recursion)
            .with_unknown_field_limit(limits.unknown_fields)
            .with_element_memory_limit(limits.element_memory);
        let message =
            M::decode_view_handle_with_options(message, &options).map_err(DecodeError::from_source)?;
        Ok(Self { message })
    }

    fn wire(&self) -> &OwnedView<M::View<'static>> {
        self.message.as_ref()
    }
}

impl<M: HasMessageView> Deref for View<M> {
    type Target = M::ViewHandle;

    fn deref(&self) -> &Self::Target {
        &self.message
    }
}

impl<M: HasMessageView> fmt::Debug for View<M>
where
    M::ViewHandle: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl<M: HasMessageView> Clone for View<M>
where
    M::ViewHandle: Clone,
{
    fn clone(&self) -> Self {
        Self { message: self.message.clone() }
    }
}

impl<M: HasMessageView + 'static> Codec<View<M>> for BuffaCodec {
    fn encode<E: EncodeTarget>(message: &View<M>, target: &mut E) -> Result<(), EncodeError> {
        let wire = message.wire().bytes();
        target.begin(wire.len())?.put_shared(wire.clone());
        Ok(())
    }

    fn decode(body: Payload<'_>, limits: &DecodeLimits) -> Result<View<M>, DecodeError> {
        View::decode_within(body.into_bytes(), limits)
    }
}

impl<M: HasMessageView + MessageName + 'static> NamedCodec<View<M>> for BuffaCodec {
    fn message_name() -> Cow<'static, str> {
        M::FULL_NAME.into()
    }
}
