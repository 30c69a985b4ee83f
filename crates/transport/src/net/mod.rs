//! Addresses and byte streams, the same for both roles.
//!
//! The client parses a [`Target`] and calls [`connect()`]; the server binds a [`Listener`] and accepts. Both get a
//! [`Stream`] and the [`PeerAddr`] of the other side.

mod connect;
mod listener;
mod stream;
mod target;

pub use peregrine_core::PeerAddr;

pub use self::connect::{ConnectError, ConnectErrorKind, connect};
pub use self::listener::{AcceptError, Listener};
pub use self::stream::Stream;
pub use self::target::{IntoTarget, Security, Target, TargetError};
