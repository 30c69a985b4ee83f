//! Stream data that joins the DATA frame at the end of the output: the messages of a batch behind its first one.

use std::collections::VecDeque;

use bytes::Bytes;

use super::Connection;
use crate::StreamKey;
use crate::error::StreamError;
use crate::flow::Window;

/// Room for an exact number of octets behind stream data that was written last, made by [`Connection::append_data`]: the
/// short form of a [`DataWrite`](crate::DataWrite), for streams of small messages. Fill the
/// [`buffers`](Self::buffers), then [`commit`](Self::commit). Dropped without that, nothing is added.
#[derive(Debug)]
#[must_use = "without commit() nothing is sent"]
pub struct DataAppend<'c> {
    connection: &'c mut Connection,
    key: StreamKey,
    len: usize,
    /// Lengths of the buffers before the data.
    start: (usize, usize),
}

impl DataAppend<'_> {
    /// As [`DataWrite::buffers`](crate::DataWrite::buffers).
    #[inline]
    pub fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        self.connection.output.buffers()
    }

    /// The stream that is written to.
    #[inline]
    pub fn stream(&self) -> StreamKey {
        self.key
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// [`StreamError::LengthMismatch`] if it is not exactly the announced length; nothing is sent then.
    #[inline]
    pub fn commit(self) -> Result<(), StreamError> {
        let (written, linked) = self.connection.output.written_since(self.start);
        if written != self.len {
            return Err(StreamError::LengthMismatch { announced: self.len, written });
        }
        let connection = &mut *self.connection;
        let Some(stream) = connection.streams.get_mut(self.key) else { return Err(StreamError::Gone) };
        // [9113-6.9.1-1]
        stream.send_window.spend(written);
        connection.send_window.spend(written);
        connection.output.grow_tail(written, linked);
        // What it says is done; there is nothing to take back.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for DataAppend<'_> {
    #[cold]
    fn drop(&mut self) {
        self.connection.output.roll_back(self.start);
    }
}

impl Connection {
    /// Whether [`append_data`](Self::append_data) would make room for `len` octets.
    #[inline]
    pub fn can_append(&self, key: StreamKey, len: usize) -> bool {
        self.output.has_tail_room(key.id(), len)
    }

    /// Makes room for exactly `len` octets of stream data in the DATA frame at the end of the output, if that is the
    /// stream's, can take them, and nothing has happened on the connection since but commands.
    /// [`write_data`](Self::write_data) would do the same and takes everything else as well; this costs a third, since
    /// all that stands in the way of data was looked at when the frame was written.
    #[inline]
    pub fn append_data(&mut self, key: StreamKey, len: usize) -> Option<DataAppend<'_>> {
        if !self.can_append(key, len) {
            return None;
        }
        self.on_progress();
        let start = self.output.mark();
        Some(DataAppend { connection: self, key, len, start })
    }

    /// Notes how much may be appended to the frame at the end of the output, which is the stream's and was written just
    /// now. It holds until a frame arrives or data is queued; any other frame takes the end of the output over.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "the mark was compared")]
    pub(super) fn open_tail(&mut self, stream_window: Window) {
        let mark = self.config.write_buffer_high_water;
        let room = stream_window.available().min(self.send_window.available());
        self.output.open_tail(room.min(mark - mark.min(self.output.len())), self.max_data_frame());
    }
}
