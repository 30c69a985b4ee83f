//! A message's buffer as both runtimes read it: large `bytes` fields become shares of it, small ones copies.

use bytes::{Buf, Bytes};

/// Reads a message out of memory that it does not own. What a slice does as well, but for `bytes` fields: those are
/// copied in one go.
#[derive(Debug)]
pub(crate) struct Copying<'a>(pub(crate) &'a [u8]);

impl Buf for Copying<'_> {
    #[inline]
    fn remaining(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        self.0
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        self.0 = &self.0[count..];
    }

    #[inline]
    fn copy_to_slice(&mut self, target: &mut [u8]) {
        self.0.copy_to_slice(target);
    }

    #[inline]
    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        let (field, rest) = self.0.split_at(len);
        self.0 = rest;
        // What `Bytes::copy_from_slice` does, but for a look at a capacity.
        Bytes::from(Box::<[u8]>::from(field))
    }
}

/// Reads like the [`Bytes`] inside, except that a field becomes a share only if it makes up a good part of the whole:
/// a share of a few bytes would keep the whole buffer alive for as long as the field is kept (wire-rules Z1).
#[derive(Debug)]
pub(crate) struct Sharing {
    rest: Bytes,
    /// The least length in bytes that is shared.
    worth_sharing: usize,
}

impl Sharing {
    pub(crate) fn new(message: Bytes) -> Self {
        Self { worth_sharing: message.len() / PINNED_AT_MOST, rest: message }
    }
}

impl Buf for Sharing {
    #[inline]
    fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    fn chunk(&self) -> &[u8] {
        &self.rest
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        self.rest.advance(count);
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        if len >= self.worth_sharing {
            return self.rest.split_to(len);
        }
        let copy = Bytes::copy_from_slice(&self.rest[..len]);
        self.rest.advance(len);
        copy
    }
}

/// A field may keep a buffer alive that is this many times its own size.
const PINNED_AT_MOST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules Z1
    #[test]
    fn small_fields_pin_no_large_message() {
        let message = Bytes::from(vec![7; 4_000]);
        let mut sharing = Sharing::new(message.clone());
        let small = sharing.copy_to_bytes(999);
        let large = sharing.copy_to_bytes(1_000);
        assert_eq!((small.len(), large.len(), sharing.remaining()), (999, 1_000, 2_001));
        assert_ne!(small.as_ptr(), message.as_ptr());
        assert_eq!(large.as_ptr(), message[999..].as_ptr());
    }
}
