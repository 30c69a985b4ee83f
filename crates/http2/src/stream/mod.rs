//! Streams: their keys, states, queues and the slab that holds them. What happens to them is decided in
//! `connection`.

mod id_map;
mod key;
mod send;
mod state;
mod store;

pub use self::key::StreamKey;
pub(crate) use self::send::SendQueue;
pub(crate) use self::state::{RecvHalf, SendHalf};
pub(crate) use self::store::{Store, Stream, UNKNOWN_LENGTH, Waiting};
