//! Where a codec writes a message of a stream that nothing is done to: straight behind the one before it, in the same
//! DATA frame, or into a frame of its own.

use peregrine_core::message::{EncodeBuf, PREFIX_LEN, write_prefix};
use peregrine_core::{EncodeError, EncodeTarget, Status};
use peregrine_http2::{Connection, DataAppend, DataWrite, StreamError, StreamKey};

use super::wire::unasked;

/// The [`EncodeTarget`] of a stream's messages that are neither compressed nor rewritten nor told of (wire-rules B1,
/// Z2). What does not fit into the frame at the end of the output goes elsewhere without the codec being asked again
/// (Z3). Without a finish nothing of the message is left (B3).
pub(super) struct BatchTarget<'c> {
    /// Taken by `begin`, which turns it into the room.
    connection: Option<&'c mut Connection>,
    key: StreamKey,
    limit: usize,
    room: Option<Room<'c>>,
}

enum Room<'c> {
    Behind(DataAppend<'c>),
    Apart(DataWrite<'c>),
}

impl<'c> BatchTarget<'c> {
    #[inline]
    pub(super) fn new(connection: &'c mut Connection, key: StreamKey, limit: usize) -> Self {
        Self { connection: Some(connection), key, limit, room: None }
    }

    /// Sends the message; `encoded` is what its codec returned. Answers whether it joined the one before it.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED over the send limit, INTERNAL when the codec failed; nothing of the message was sent.
    #[inline]
    pub(super) fn finish(self, encoded: Result<(), EncodeError>) -> Result<bool, Status> {
        let (is_behind, committed) = match (self.room, encoded) {
            (Some(Room::Behind(append)), Ok(())) => (true, append.commit()),
            (Some(Room::Apart(write)), Ok(())) => (false, write.commit()),
            (_, Err(error)) => return Err(error.into()),
            (None, Ok(())) if self.connection.is_some() => return Err(unasked().into()),
            // There was no room, since the stream is gone.
            (None, Ok(())) => (false, Ok(())),
        };
        match committed {
            // A stream that is gone takes no data; its call learns that by being dropped.
            Ok(()) | Err(StreamError::Gone) => Ok(is_behind),
            Err(error) => Err(not_sent(error)),
        }
    }
}

impl EncodeTarget for BatchTarget<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        if len > self.limit {
            return Err(EncodeError::too_large(len, self.limit));
        }
        let Some(connection) = self.connection.take() else { return Err(no_room(self.room.is_some())) };
        let (key, framed) = (self.key, PREFIX_LEN + len);
        let room = if connection.can_append(key, framed) {
            connection.append_data(key, framed).map(Room::Behind)
        } else {
            apart(connection, key, framed)
        };
        let Some(room) = room else { return Err(EncodeError::closed()) };
        let (bytes, links) = match self.room.insert(room) {
            Room::Behind(append) => append.buffers(),
            Room::Apart(write) => write.buffers(),
        };
        write_prefix(bytes, len as u32);
        Ok(EncodeBuf::new(bytes, links))
    }
}

/// The way of the first message of a batch, and of those that end a frame.
#[inline(never)]
fn apart(connection: &mut Connection, key: StreamKey, len: usize) -> Option<Room<'_>> {
    connection.write_data(key, len).ok().map(Room::Apart)
}

/// Why a codec gets no room.
#[cold]
fn no_room(is_begun: bool) -> EncodeError {
    // wire-rules Z3
    if is_begun { EncodeError::codec("the codec asked for room twice") } else { EncodeError::closed() }
}

#[cold]
fn not_sent(error: StreamError) -> Status {
    Status::internal(format!("message not sent: {error}"))
}
