//! Request messages that take work before they can be written: those that are rewritten in another format, and those
//! that are compressed.
//!
//! The work is done before the connection is locked, so that no other call has to wait for it. A plain message needs
//! none: its codec writes it in place.

use peregrine_core::codec::{EncodeError, EncodeTarget};
use peregrine_core::compression::{Packed, Packing, Staged};
use peregrine_core::message::{EncodeBuf, MAX_MESSAGE_LEN};
use peregrine_core::{Codec, MethodFormat, format};

use crate::connection::MessageTarget;

/// `message` as it leaves, if there is work to do for that; `None` if its codec can write it in place.
///
/// # Errors
/// The codec's; the message is longer than `limit`; the format cannot express it.
#[inline]
pub(super) fn prepare<C: Codec<A>, A>(
    message: &A,
    format: Option<&MethodFormat>,
    packing: Option<Packing<'_>>,
    limit: usize,
) -> Result<Option<Packed>, EncodeError> {
    if format.is_none() && packing.is_none() {
        return Ok(None);
    }
    prepare_aside::<C, A>(message, format, packing, limit)
}

/// Writes a message as [`prepare`] has left it.
///
/// # Errors
/// The codec's, or the target's.
#[inline]
pub(super) fn write<C: Codec<A>, A>(
    message: &A,
    ready: Option<Packed>,
    target: &mut MessageTarget<'_>,
) -> Result<(), EncodeError> {
    match ready {
        None => C::encode(message, target),
        Some(packed) => target.put(packed),
    }
}

#[cold]
fn prepare_aside<C: Codec<A>, A>(
    message: &A,
    format: Option<&MethodFormat>,
    packing: Option<Packing<'_>>,
    limit: usize,
) -> Result<Option<Packed>, EncodeError> {
    let mut aside = Aside { packing, limit, staged: None };
    let transcode = format.map(|format| &*format.request);
    format::encode::<C, _, _>(message, transcode, &mut aside)?;
    let Some(staged) = aside.staged else {
        return Err(EncodeError::codec("the codec wrote no message and reported no error"));
    };
    let packed = match aside.packing {
        Some(packing) => staged.pack(packing),
        // It is here already: the codec is not asked for it again (wire-rules Z3).
        None => staged.seal(),
    };
    packed.map(Some)
}

/// Where a codec, or a format, writes a message that is not to be written in place.
struct Aside<'p> {
    /// `None` as soon as it is known that the message is not compressed.
    packing: Option<Packing<'p>>,
    limit: usize,
    staged: Option<Staged>,
}

impl EncodeTarget for Aside<'_> {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        let limit = self.limit.min(MAX_MESSAGE_LEN);
        if len > limit {
            // wire-rules 44
            return Err(EncodeError::too_large(len, limit));
        }
        if self.staged.is_some() {
            return Err(EncodeError::codec("the codec asked for room twice"));
        }
        self.packing = self.packing.filter(|packing| packing.wants(len));
        Ok(self.staged.insert(Staged::new(len)).buffer())
    }
}
