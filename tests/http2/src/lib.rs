//! HTTP/2 without gRPC: what a public suite needs to see the engine itself.
//!
//! `h2-server` and `h2-client` put [`Replying`] and [`Asking`] on sockets by the transport's own driver, so that the
//! suites judge the code that ships: engine, driver and the way a connection closes. The tests of this package put
//! the same two on scripted peers and judge what the suites leave open, which error is told and how.

mod client;
mod server;

use peregrine_http2::Field;

pub use self::client::{Answer, Asking, PATIENCE};
pub use self::server::{BODY_LEN, MAX_STREAMS, Replying};

/// Fields of `pairs`, as the engine takes them.
fn fields<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = Field<'a>> + Clone {
    pairs.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()))
}
