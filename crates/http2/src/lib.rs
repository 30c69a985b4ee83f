//! A sans-IO HTTP/2 engine.
#![expect(clippy::todo, dead_code, reason = "the bodies of the connection follow")]

pub mod error_code;
pub mod frame;
pub mod hpack;
pub mod stream_id;

mod connection;
mod error;
mod head;
mod stream;

pub use self::{
    connection::{Config, Connection, DataWrite, Event, Initiator, LimitConfig, Progress, Rate, Role},
    error::{Blame, ConnectionError, OpenError, StreamError},
    error_code::ErrorCode,
    head::Head,
    hpack::{CachedBlock, Field},
    stream::StreamKey,
    stream_id::StreamId,
};
