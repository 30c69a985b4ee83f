//! A sans-IO HTTP/2 engine.

pub mod error_code;
pub mod frame;
pub mod hpack;
pub mod stream_id;

pub use self::{
    error_code::ErrorCode,
    hpack::{CachedBlock, Field},
    stream_id::StreamId,
};
