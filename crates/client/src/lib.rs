//! Peregrine's client half: a [`Channel`] and the four call shapes on it.
//!
//! Generated clients and the command line call [`unary`], [`server_streaming`], [`client_streaming`] and [`bidi`];
//! users see them through the `peregrine` crate. Nothing in here knows a protobuf crate: each call names its
//! [`Codec`](peregrine_core::Codec).
//!
//! How a call travels, without a task, a queue or a one-shot of its own:
//!
//! 1. the channel hands out its connection, opening one first if there is none (`channel/subchannel.rs`);
//! 2. the call locks the connection, writes its HEADERS and its message straight into the connection's output and
//!    leaves a slot behind (`connection/mod.rs`, `connection/message_target.rs`);
//! 3. the connection's driver task writes what all calls have left there in one system call, reads the answers,
//!    puts them into the slots and wakes the callers (`connection/driver.rs`, `connection/response.rs`);
//! 4. the call takes its answer out of the slot and decodes it outside of the lock (`call/reply.rs`).
//!
//! Request streams are pumped by the call itself where its future is awaited anyway (client streaming), and by one
//! spawned task where the caller holds a [`Streaming`](peregrine_core::Streaming) instead of a future (bidi); see
//! `call/pump.rs`.

mod call;
mod call_error;
mod channel;
mod connection;
mod error;

pub use peregrine_http2::{AdaptiveWindows, Keepalive, LimitConfig as Limits, Rate, WindowBudget};
pub use peregrine_transport::net::{IntoTarget, Security, Target, TargetError};
#[cfg(feature = "_tls")]
pub use peregrine_transport::tls::{ClientTls, HandshakeError, HandshakeErrorKind, TlsVersion};

pub use crate::call::{
    bidi, bidi_sender, client_streaming, client_streaming_sender, server_streaming, unary,
};
pub use crate::channel::{Channel, ChannelBuilder};
