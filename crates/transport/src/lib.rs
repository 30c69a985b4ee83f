//! Where Peregrine meets the operating system: sockets and addresses ([`net`]), TLS over them (`tls`, a feature), and
//! the loop that drives a connection over either ([`driver`]). [`sniff`] tells what a client speaks, [`farewell`] how a
//! connection ends whose last words shall be read.
//!
//! The protocol crates below know no sockets and no clock; the client and the server above know no system calls.
//! Supported are the platforms with Unix sockets.

pub mod driver;
pub mod farewell;
pub mod net;
pub mod sniff;
#[cfg(feature = "_tls")]
pub mod tls;
