//! The two protobuf runtimes as codecs, each behind a feature of its name.
//!
//! Generated code names [`BuffaCodec`] or [`ProstCodec`]; nothing else of the stack knows a protobuf crate. They
//! stand in a crate of their own because both the facade and the standard services below it need them.

#[cfg(feature = "buffa")]
mod buffa_codec;
#[cfg(feature = "prost")]
mod prost_codec;
#[cfg(any(feature = "buffa", feature = "prost"))]
mod sharing;
#[cfg(feature = "buffa")]
mod view;

#[cfg(feature = "buffa")]
pub use self::buffa_codec::BuffaCodec;
#[cfg(feature = "prost")]
pub use self::prost_codec::ProstCodec;
#[cfg(feature = "buffa")]
pub use self::view::View;
