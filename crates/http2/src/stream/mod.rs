//! Streams: their keys, states, queues and the slab that holds them.

mod key;

pub use self::key::StreamKey;
