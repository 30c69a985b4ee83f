//! A codec that goes wrong in the middle of a stream, as the message says.

use std::cell::Cell;

use bytes::Bytes;
use peregrine_core::{Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, Payload};

thread_local! {
    static ENCODED: Cell<usize> = const { Cell::new(0) };
}

/// The first byte says what goes wrong; capitals are linked, anything else is copied.
#[derive(Debug)]
pub struct Moody;

impl Codec<Bytes> for Moody {
    fn encode<E: EncodeTarget>(value: &Bytes, target: &mut E) -> Result<(), EncodeError> {
        ENCODED.set(ENCODED.get() + 1);
        let half = &value[..value.len() / 2];
        match value.first() {
            Some(b'!') => {
                target.begin(value.len())?.put_slice(half);
                panic!("secret: in the middle of a message");
            }
            Some(b'?') => {
                target.begin(value.len())?.put_slice(half);
                return Err(EncodeError::codec("no further"));
            }
            Some(b'+') => target.begin(value.len() - 1)?.put_slice(value),
            Some(b'-') => target.begin(value.len())?.put_slice(half),
            Some(b'2') => {
                target.begin(value.len())?.put_slice(value);
                target.begin(value.len())?.put_slice(value);
            }
            Some(b'0') => {}
            Some(b'A'..=b'Z') => target.begin(value.len())?.put_shared(value.clone()),
            _ => target.begin(value.len())?.put_slice(value),
        }
        Ok(())
    }

    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
        Ok(body.into_bytes())
    }
}

impl Moody {
    /// How often it was asked to encode on this thread since this was last called.
    pub fn take_encoded() -> usize {
        ENCODED.take()
    }

    /// A message of each length with nothing wrong, by turns copied and linked.
    pub fn messages(lengths: &[usize]) -> Vec<Bytes> {
        let byte = |index: usize| if index % 3 == 1 { b'A' } else { b'a' } + (index % 20) as u8;
        lengths.iter().enumerate().map(|(index, &len)| Bytes::from(vec![byte(index); len])).collect()
    }
}
