//! HPACK (RFC 7541): header compression, both directions. Called by the connection only.
//!
//! One [`Decoder`] reads what the peer's encoder writes and one [`Encoder`] writes what the peer's decoder
//! reads; each pair shares a table whose content follows from the bytes alone, so every block must pass
//! through, in order, whatever becomes of its stream.
//!
//! ```
//! use peregrine_http2::hpack::{Decoder, Encoder, Field};
//!
//! let (mut encoder, mut decoder) = (Encoder::new(7), Decoder::new(4096));
//! let mut block = Vec::new();
//! encoder.encode_block([Field::new(b":method", b"POST"), Field::new(b"te", b"trailers")], &mut block);
//! let mut names = Vec::new();
//! decoder.decode(&block, &mut |field| names.push(field.name.to_vec()))?;
//! assert_eq!(names, [&b":method"[..], b"te"]);
//! # Ok::<(), peregrine_http2::hpack::HpackError>(())
//! ```

mod cached_block;
mod decoder;
mod dynamic_table;
mod encoder;
mod error;
mod field;
pub(crate) mod hash;
mod huffman;
mod integer;
mod seen_once;
mod static_table;

pub use self::{
    cached_block::CachedBlock, decoder::Decoder, encoder::Encoder, error::HpackError, field::Field,
};

/// Both tables begin with this limit, before any SETTINGS (RFC 9113, 6.5.2).
pub const DEFAULT_TABLE_SIZE: usize = 4096;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use self::tests::Random;
