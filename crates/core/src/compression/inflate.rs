//! One compressed message in, one buffer out, whatever the peer sent (wire-rules 38, 43).
//!
//! Called where a message with flag 1 is taken out of a body, by [`Deframer`](crate::message::Deframer) and
//! [`single_message`](crate::message::single_message).

use std::borrow::Cow;

use bytes::Bytes;

use crate::message::Encoding;
use crate::status::Status;

/// Inflates one message of at most `max` bytes.
///
/// No bytes at all are an empty message: some peers' codecs write nothing for nothing (wire-rules 40).
///
/// # Errors
/// INTERNAL if the bytes are not exactly one message of `encoding` (38). RESOURCE_EXHAUSTED as soon as it inflates
/// past `max`; no more than that was held then (43).
#[inline(never)]
pub(crate) fn inflate(encoding: Encoding, packed: &[u8], max: usize) -> Result<Bytes, Status> {
    if packed.is_empty() {
        return Ok(Bytes::new());
    }
    let mut output = Output::new(max);
    let inflated = match encoding {
        #[cfg(feature = "gzip")]
        Encoding::Gzip => super::zlib::inflate_gzip(packed, &mut output),
        #[cfg(feature = "deflate")]
        Encoding::Deflate => super::zlib::inflate_zlib(packed, &mut output),
        #[cfg(feature = "zstd")]
        Encoding::Zstd => super::zstd::inflate(packed, &mut output),
        #[cfg(feature = "snappy")]
        Encoding::Snappy => super::snappy::inflate(packed, &mut output),
        // Prefixes with flag 1 are refused for identity, heads that name anything else are refused whole.
        _ => Err(Fault::Corrupt("this encoding is not compiled in".into())),
    };
    match inflated {
        Ok(()) => Ok(output.into_bytes()),
        Err(Fault::Corrupt(what)) => Err(corrupt(encoding, &what)),
        Err(Fault::TooLarge) => Err(too_large(max)),
    }
}

/// Why a message does not inflate.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not exactly one message of its encoding.
    Corrupt(Cow<'static, str>),
    /// It is longer than it may be.
    TooLarge,
}

impl Fault {
    /// Bytes are missing.
    pub(super) const TRUNCATED: Self = Self::Corrupt(Cow::Borrowed("it ends too early"));
    /// Bytes are too many.
    pub(super) const TRAILING: Self = Self::Corrupt(Cow::Borrowed("there are bytes behind its end"));
}

/// The inflated message so far. Its buffer grows with what is written, to one byte more than the limit and no
/// further: that byte tells a message that is too long from one that just fits.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    max: usize,
}

/// Memory that a peer's claim of a size is believed without having been written to, in bytes.
const TRUSTED_CLAIM: u64 = 64 * 1024;

impl Output {
    fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), max }
    }

    /// Room for what the peer says will come, as far as that is believed.
    pub(super) fn expect(&mut self, claim: u64) {
        let believed = claim.min(TRUSTED_CLAIM) as usize;
        self.bytes.reserve_exact(believed.min(self.max.saturating_add(1)));
    }

    /// Room for more: twice as much as there is, as far as the limit allows.
    ///
    /// # Errors
    /// The message is too long already.
    pub(super) fn grow(&mut self) -> Result<(), Fault> {
        self.check()?;
        let len = self.bytes.len();
        let target = len.saturating_mul(2).max(MIN_ROOM).min(self.max.saturating_add(1));
        // The length is at most `max`, so the target is above it.
        self.bytes.reserve_exact(target - len);
        Ok(())
    }

    /// Whether there is room without growing.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() < self.bytes.capacity()
    }

    /// # Errors
    /// The message is too long.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.bytes.len() > self.max { Err(Fault::TooLarge) } else { Ok(()) }
    }

    /// How many more bytes the message may have.
    pub(super) fn allowed(&self) -> usize {
        self.max.saturating_sub(self.bytes.len())
    }

    fn into_bytes(mut self) -> Bytes {
        // A decoder may keep shares of the buffer: what is not used is given back first.
        if self.bytes.capacity() - self.bytes.len() > self.bytes.len() / 4 {
            self.bytes.shrink_to_fit();
        }
        self.bytes.into()
    }
}

/// First step of a buffer that grows, in bytes.
const MIN_ROOM: usize = 512;

#[cold]
fn corrupt(encoding: Encoding, what: &str) -> Status {
    Status::internal(format!("received a message that is not valid {encoding}: {what}"))
}

#[cold]
fn too_large(max: usize) -> Status {
    Status::resource_exhausted(format!(
        "received message inflates to more than the receive limit of {max} bytes"
    ))
}
