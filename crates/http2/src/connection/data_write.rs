//! Room for stream data, filled in by the upper layer.

use std::collections::VecDeque;

use bytes::Bytes;

use super::Connection;
use crate::error::StreamError;

/// Room for an exact number of octets of stream data, made by [`Connection::write_data`]: fill the
/// [`buffers`](Self::buffers), then [`commit`](Self::commit). Dropped without that, nothing is sent.
#[derive(Debug)]
#[must_use = "without commit() nothing is sent"]
pub struct DataWrite<'c> {
    _connection: &'c mut Connection,
}

impl DataWrite<'_> {
    /// Where the octets go: append to both at will, touch nothing that is already there.
    ///
    /// The stream of octets is the vector with each linked `(at, bytes)` spliced in before `vector[at]`; `at`
    /// counts from the start of the vector, what was in it before included, and never decreases.
    pub fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        todo!()
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// [`StreamError::LengthMismatch`] if it is not exactly the announced length; nothing is sent then.
    pub fn commit(self) -> Result<(), StreamError> {
        todo!()
    }
}
