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
//! | `setting` | [`Compression`], what users say |
//! | `packer` | one direction of a method: whether a message is tried, and how |
//! | `next` | what a source says of its next message |
//! | `staged` | where a message lies between its codec and its compression |
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
mod next;
mod packer;
mod setting;
#[cfg(feature = "snappy")]
mod snappy;
mod staged;
#[cfg(any(feature = "gzip", feature = "deflate"))]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(test)]
mod tests;

pub use self::encoding_set::EncodingSet;
pub(crate) use self::inflate::inflate;
pub use self::next::{compress_next, set_wish, take_wish};
pub use self::packer::{Packer, Packing, Written};
pub use self::setting::{Compression, DEFAULT_THRESHOLD, InvalidCompression};
pub use self::staged::{Packed, Staged};
