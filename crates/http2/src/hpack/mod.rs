//! HPACK (RFC 7541): header compression, both directions. Called by the connection only.
//!
//! One [`Decoder`] reads what the peer's encoder writes and one [`Encoder`] writes what the peer's decoder
//! reads; each pair shares a table whose content follows from the bytes alone, so every block must pass
//! through, in order, whatever becomes of its stream.

mod cached_block;
mod decoder;
mod encoder;
mod error;
mod field;

pub use self::{
    cached_block::CachedBlock, decoder::Decoder, encoder::Encoder, error::HpackError, field::Field,
};
