//! A sans-IO HTTP/2 engine (RFC 9113): octets, commands and the time go in; events and octets come out.
//!
//! [`Connection`] is the whole protocol for one connection, either end. It does no I/O, reads no clock, draws
//! no random numbers and holds no waker, so one owner drives it, in a runtime or in a test. It knows nothing
//! of gRPC.
//!
//! | module | what |
//! |---|---|
//! | `connection` | the machine: what arrives, what is asked for, settings, shutdown, timers |
//! | `stream` | states, queues and the slab of streams |
//! | `schedule` | which stream sends next |
//! | `output` | what the socket gets, gathered for one vectored write |
//! | [`frame`] | the frame types as they are on the wire |
//! | [`hpack`] | header compression |
//! | `memo` | decoded header blocks by their octets |
//! | `flow` | windows |
//! | `budget` | how far windows may grow |
//! | `limits` | how much work a peer can cause |
// What a peer sends must never panic: each item that could has its proof beside it, and `cargo xtask check panics`
// sees that none is without.
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used,
    )
)]

pub mod error_code;
pub mod frame;
pub mod hpack;
pub mod stream_id;

mod budget;
mod connection;
mod error;
mod flow;
mod head;
mod limit_config;
mod limits;
mod memo;
mod output;
mod schedule;
mod stream;

pub use self::{
    budget::WindowBudget,
    connection::{
        AdaptiveWindows, Config, Connection, Counters, DataWrite, Event, Initiator, Keepalive, PingPolicy,
        Progress, RequestWrite, ResponseWrite, Role, WholeRequest, WholeResponse,
    },
    error::{Blame, ConnectionError, OpenError, StreamError},
    error_code::ErrorCode,
    head::Head,
    hpack::{CachedBlock, Field},
    limit_config::{LimitConfig, Rate},
    stream::StreamKey,
    stream_id::StreamId,
};
