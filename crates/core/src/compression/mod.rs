//! Compressed messages: what `grpc-encoding` names, bounded inflating, and whether and how a message is compressed.
//!
//! Each codec is a cargo feature (`gzip`, `deflate`, `zstd`, `snappy`). What is compiled in is decoded at once,
//! without being asked for; what is sent compressed is the user's choice.
//!
//! | module | holds |
//! |---|---|
//! | `encoding_set` | what a peer accepts (`grpc-accept-encoding`) |
//! | `inflate` | one compressed message in, one bounded buffer out |
//! | `zlib`, `zstd`, `snappy` | the codecs |
//! | `contexts` | codec state that the calls of a thread use in turn |

#[cfg_attr(
    not(all(feature = "gzip", feature = "deflate", feature = "zstd", feature = "snappy")),
    allow(dead_code, unused_mut, reason = "what one codec needs, another one does not")
)]
mod contexts;
mod encoding_set;
#[cfg_attr(
    not(all(feature = "gzip", feature = "deflate", feature = "zstd", feature = "snappy")),
    allow(dead_code, unused_mut, reason = "what one codec needs, another one does not")
)]
mod inflate;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(any(feature = "gzip", feature = "deflate"))]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(test)]
mod tests;

pub use self::encoding_set::EncodingSet;
pub(crate) use self::inflate::inflate;
