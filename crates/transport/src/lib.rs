//! Where Peregrine meets the operating system: sockets and addresses ([`net`]), and
//! the loop that drives a connection over one ([`driver`]).
//!
//! The protocol crates below know no sockets and no clock; the client and the server above know no system calls.
//! Supported are the platforms with Unix sockets.

pub mod driver;
pub mod net;
