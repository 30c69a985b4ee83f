//! The `peregrine` command from outside: real processes against real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic, its helpers too")]

mod bad_input;
mod bad_peers;
mod call;
mod demo;
mod r#gen;
mod inspect;
mod process;
mod server;
mod tls;
