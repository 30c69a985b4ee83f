//! Stream data that leaves: the direct way into the output, the queue, and the frames made from queues.

use std::collections::VecDeque;

use bytes::Bytes;

use super::{Connection, Event};
use crate::error::StreamError;
use crate::stream::{SendHalf, Stream, Waiting};
use crate::{ErrorCode, StreamKey};

/// Room for an exact number of octets of stream data, made by [`Connection::write_data`] or
/// [`Connection::write_only_data`]: fill the [`buffers`](Self::buffers), then [`commit`](Self::commit). Dropped without
/// that, nothing is sent.
#[derive(Debug)]
#[must_use = "without commit() nothing is sent"]
pub struct DataWrite<'c> {
    connection: &'c mut Connection,
    key: StreamKey,
    len: usize,
    place: Place,
    /// Lengths of the buffers before the data.
    start: (usize, usize),
    /// The data is all that the stream has: it ends with it, or is reset without it.
    is_all: bool,
}

/// Where the octets go.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Into a DATA frame at the end of the output, whose header is here, and was begun for this write or before.
    Output { header_at: usize, is_begun: bool },
    /// Into the stream's queue.
    Queue,
    /// Nowhere any more: committed or rolled back.
    Done,
}

impl DataWrite<'_> {
    /// Where the octets go: append to both at will, touch nothing that is already there.
    ///
    /// The stream of octets is the vector with each linked `(at, bytes)` spliced in before `vector[at]`; `at`
    /// counts from the start of the vector, what was in it before included, and never decreases. Linked
    /// `bytes` must not be empty.
    #[inline]
    pub fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        if matches!(self.place, Place::Output { .. }) {
            return self.connection.output.buffers();
        }
        match self.connection.streams.get_mut(self.key) {
            Some(stream) => stream.queue.buffers(),
            // Cannot happen while this value holds the connection; the output would be rolled back.
            None => self.connection.output.buffers(),
        }
    }

    /// The stream that is written to.
    #[inline]
    pub fn stream(&self) -> StreamKey {
        self.key
    }

    /// Whether what is written has to wait for a window or its turn.
    #[inline]
    pub fn is_queued(&self) -> bool {
        matches!(self.place, Place::Queue)
    }

    /// Sends what was written.
    ///
    /// # Errors
    /// [`StreamError::LengthMismatch`] if it is not exactly the announced length; nothing is sent then.
    #[inline]
    pub fn commit(self) -> Result<(), StreamError> {
        let len = self.len;
        self.commit_parts(std::iter::once(len))
    }

    /// Like [`commit`](Self::commit), for several messages in one write: dropping the queue between two of these parts,
    /// which must add up, cuts neither ([`Connection::discard_queued_data`]).
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
    pub fn commit_parts(mut self, parts: impl IntoIterator<Item = usize>) -> Result<(), StreamError> {
        let start = self.start;
        let (bytes, links) = self.buffers();
        let plain = bytes.len().saturating_sub(start.0);
        // Most data has no links at all.
        let linked =
            if links.len() <= start.1 { 0 } else { links.range(start.1..).map(|(_, link)| link.len()).sum() };
        let written = plain + linked;
        if written != self.len {
            return Err(StreamError::LengthMismatch { announced: self.len, written });
        }
        if written == 0 {
            // An empty frame would only cost the peer's patience; dropping takes the header back.
            return Ok(());
        }
        let place = std::mem::replace(&mut self.place, Place::Done);
        let (key, len, is_all) = (self.key, self.len, self.is_all);
        let connection = &mut *self.connection;
        let Some(stream) = connection.streams.get_mut(key) else { return Err(StreamError::Gone) };
        if let Place::Output { header_at, .. } = place {
            stream.send_window.spend(len);
            connection.send_window.spend(len);
            connection.limits.on_progress();
            connection.pings.on_progress();
            if is_all {
                stream.send = SendHalf::Ended;
                connection.output.seal_last_data(header_at, key.id(), len, linked);
                connection.remove_if_closed(key);
            } else {
                connection.output.seal_data(header_at, key.id(), len, linked);
            }
        } else {
            let mut rest = len;
            // Nothing is counted for an empty part: the queue would take itself to be empty.
            for part in parts {
                let part = part.min(rest);
                rest -= part;
                if part > 0 {
                    stream.queue.on_written(part);
                }
            }
            if rest > 0 {
                stream.queue.on_written(rest);
            }
            if is_all {
                stream.send = SendHalf::Ending;
            }
            connection.schedule.push_if_ready(key, stream);
            connection.watch_streams();
        }
        Ok(())
    }
}

impl Drop for DataWrite<'_> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.place, Place::Done) {
            self.roll_back();
        }
    }
}

impl DataWrite<'_> {
    #[cold]
    fn roll_back(&mut self) {
        match self.place {
            Place::Output { header_at, is_begun } => {
                let bytes = if is_begun { header_at } else { self.start.0 };
                self.connection.output.roll_back((bytes, self.start.1));
            }
            Place::Queue => {
                if let Some(stream) = self.connection.streams.get_mut(self.key) {
                    stream.queue.roll_back(self.start);
                }
            }
            Place::Done => return,
        }
        if self.is_all {
            self.connection.reset(self.key, ErrorCode::CANCEL);
        }
    }
}

impl Connection {
    /// Makes room for exactly `len` octets of stream data. Never refuses for lack of window.
    ///
    /// Written straight into the output when nothing waits, the windows allow it and one frame holds it,
    /// growing the stream's previous DATA frame if that is still the end of the output: small messages share
    /// frames. Otherwise into the stream's queue, from where [`poll_output`](Self::poll_output) takes it.
    ///
    /// # Errors
    /// [`StreamError::Gone`], [`StreamError::Ended`], or [`StreamError::OutOfOrder`] before the head.
    #[inline]
    pub fn write_data(&mut self, key: StreamKey, len: usize) -> Result<DataWrite<'_>, StreamError> {
        let stream = self.streams.get(key).ok_or(StreamError::Gone)?;
        check_open(stream)?;
        // [9113-6.9.1-1]
        let direct = stream.queue.is_empty()
            && self.schedule.is_empty()
            && len <= stream.send_window.available()
            && len <= self.send_window.available()
            && len <= self.max_data_frame()
            && self.output.len() < self.config.write_buffer_high_water;
        if !direct {
            let start = stream.queue.mark();
            return Ok(DataWrite { connection: self, key, len, place: Place::Queue, start, is_all: false });
        }
        let growable = self.output.growable(key.id(), len, self.max_data_frame());
        let header_at = growable.unwrap_or_else(|| self.output.reserve_header_for(len));
        let place = Place::Output { header_at, is_begun: growable.is_none() };
        let start = self.output.mark();
        Ok(DataWrite { connection: self, key, len, place, start, is_all: false })
    }

    /// Like [`write_data`](Self::write_data), for the only data of a stream that was just opened: committed, it ends
    /// our side; dropped without that, the stream is reset with CANCEL. `len` is not 0.
    ///
    /// # Errors
    /// As [`write_data`](Self::write_data).
    #[inline]
    pub fn write_only_data(&mut self, key: StreamKey, len: usize) -> Result<DataWrite<'_>, StreamError> {
        let mut write = self.write_data(key, len)?;
        write.is_all = true;
        Ok(write)
    }

    /// Ends our side of the stream, after what is queued: on the last DATA frame if that is still ours to
    /// change.
    ///
    /// # Errors
    /// [`StreamError::Gone`], [`StreamError::Ended`], or [`StreamError::OutOfOrder`] before the head.
    // [9113-6.9.1-1]
    pub fn end_stream(&mut self, key: StreamKey) -> Result<(), StreamError> {
        let stream = self.streams.get_mut(key).ok_or(StreamError::Gone)?;
        check_open(stream)?;
        if stream.queue.is_empty() {
            self.output.end_stream(key.id());
            self.on_send_ended(key);
        } else {
            stream.send = SendHalf::Ending;
        }
        Ok(())
    }

    /// Moves queued stream data to the output, as windows and the high-water mark allow. True if there is
    /// output.
    pub fn poll_output(&mut self) -> bool {
        let streams = &self.streams;
        self.schedule.sweep(streams.len(), |key| streams.get(key).is_some());
        while self.output.len() < self.config.write_buffer_high_water && self.send_window.available() > 0 {
            let Some(key) = self.schedule.pop() else { break };
            self.send_one(key);
        }
        self.note_relief();
        !self.output.is_empty()
    }

    /// One DATA frame from the queue of a stream, with what belongs behind it if the queue is empty then.
    fn send_one(&mut self, key: StreamKey) {
        let max_frame = self.max_data_frame();
        let max = max_frame.min(self.send_window.available());
        let Some(stream) = self.streams.get_mut(key) else { return };
        stream.scheduled = false;
        // [9113-6.9.1-1]
        let len = stream.queue.len().min(max).min(stream.send_window.available());
        if len == 0 {
            return;
        }
        let header_at = match self.output.growable(key.id(), len, max_frame) {
            Some(header_at) => header_at,
            None => self.output.reserve_header(),
        };
        let linked = stream.queue.take_into(len, &mut self.output);
        self.output.seal_data(header_at, key.id(), len, linked);
        if len >= TINY_FRAME || stream.queue.is_empty() {
            self.limits.on_progress();
        }
        self.pings.on_progress();
        stream.unmoved = 0;
        stream.send_window.spend(len);
        self.send_window.spend(len);
        let below_mark = stream.queue.len() < self.config.send_buffer_per_stream;
        self.schedule.push_if_ready(key, stream);
        if stream.queue.is_empty() {
            self.on_queue_sent(key);
        }
        if below_mark {
            self.on_below_mark(key);
        }
    }

    /// Everything queued on the stream is in the output: what was waiting behind it follows.
    pub(super) fn on_queue_sent(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        let reset_after = stream.reset_after;
        if stream.send == SendHalf::Ending {
            match stream.trailers.take() {
                Some(trailers) => self.write_block(key.id(), true, |encoder, out| {
                    encoder.encode_block(trailers.fields(), out);
                }),
                None => self.output.end_stream(key.id()),
            }
            self.on_send_ended(key);
        }
        if let Some(code) = reset_after {
            self.reset(key, code);
        }
    }

    /// False if the stream's queue or the output is above its mark; [`Event::Writable`] comes when it is not.
    /// False without an event for a stream that is gone.
    pub fn poll_writable(&mut self, key: StreamKey) -> bool {
        let Some(stream) = self.streams.get_mut(key) else { return false };
        let room_in_queue = stream.queue.len() < self.config.send_buffer_per_stream;
        let room_in_output = self.output.len() < self.config.write_buffer_high_water;
        if room_in_queue && room_in_output {
            return true;
        }
        if stream.waiting == Waiting::No {
            stream.waiting = Waiting::Queue;
            if room_in_queue {
                stream.waiting = Waiting::Output;
                self.writable_later.push(key);
            }
        }
        false
    }

    /// [`poll_writable`](Self::poll_writable), and if so how many octets a writer of small messages may gather before it
    /// writes them and asks again: what the DATA frame at the end of the output can still take, or a new one, as far as
    /// windows and marks allow; or what the stream's queue has room for. Whoever keeps to that, and writes the message
    /// that went beyond by itself, makes the frames that messages written one by one make.
    #[expect(clippy::arithmetic_side_effects, reason = "both marks were compared")]
    pub fn poll_room(&mut self, key: StreamKey) -> Option<usize> {
        if !self.poll_writable(key) {
            return None;
        }
        let stream = self.streams.get(key)?;
        let in_queue = self.config.send_buffer_per_stream - stream.queue.len();
        // [9113-6.9.1-1]
        let window = stream.send_window.available().min(self.send_window.available());
        if window == 0 || !stream.queue.is_empty() || !self.schedule.is_empty() {
            return Some(in_queue);
        }
        let in_output = self.config.write_buffer_high_water - self.output.len();
        let in_frame = match self.max_data_frame().saturating_sub(self.output.tail_payload(key.id())) {
            0 => self.max_data_frame(),
            rest => rest,
        };
        Some(window.min(in_output).min(in_frame))
    }

    /// The stream's queue has room: tell the upper layer, as soon as the output has room too.
    fn on_below_mark(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.waiting != Waiting::Queue {
            return;
        }
        if self.output.len() < self.config.write_buffer_high_water {
            stream.waiting = Waiting::No;
            self.events.push_back(Event::Writable { stream: key });
        } else {
            stream.waiting = Waiting::Output;
            self.writable_later.push(key);
        }
    }

    /// The output has become shorter: streams that waited for that may go on.
    pub(super) fn on_output_taken(&mut self) {
        if self.writable_later.is_empty() || self.output.len() >= self.config.write_buffer_high_water {
            return;
        }
        for key in self.writable_later.drain(..) {
            let Some(stream) = self.streams.get_mut(key) else { continue };
            if stream.queue.len() < self.config.send_buffer_per_stream {
                stream.waiting = Waiting::No;
                self.events.push_back(Event::Writable { stream: key });
            } else {
                // Filled up since; `send_one` will come across it.
                stream.waiting = Waiting::Queue;
            }
        }
    }

    /// Octets of stream data not yet in the output.
    pub fn queued(&self, key: StreamKey) -> usize {
        self.streams.get(key).map_or(0, |stream| stream.queue.len())
    }

    /// Drops what waits on the stream: data not yet in the output, trailers and the end behind it, a
    /// [`reset_when_sent`](Self::reset_when_sent). The stream is as if that had never been written, so other
    /// trailers can be sent at once (a deadline). True if that cuts a write in two, so that the peer is left
    /// with part of a message.
    pub fn discard_queued_data(&mut self, key: StreamKey) -> bool {
        let Some(stream) = self.streams.get_mut(key) else { return false };
        if stream.send == SendHalf::Ending {
            stream.send = SendHalf::Open;
        }
        stream.trailers = None;
        stream.reset_after = None;
        let cut = stream.queue.discard();
        self.on_below_mark(key);
        cut
    }

    /// The largest DATA frame we send: what the peer takes, but not so much that other streams have to wait
    /// for it.
    #[inline]
    pub(super) fn max_data_frame(&self) -> usize {
        (self.peer.max_frame_size as usize).min(FAIR_FRAME)
    }
}

/// Data may only follow the head and must come before the end.
#[inline]
fn check_open(stream: &Stream) -> Result<(), StreamError> {
    match stream.send {
        SendHalf::HeadDue => Err(StreamError::OutOfOrder),
        SendHalf::Open if stream.reset_after.is_none() => Ok(()),
        SendHalf::Open | SendHalf::Ending | SendHalf::Ended => Err(StreamError::Ended),
    }
}

/// DATA with less than this, from a queue that holds more, makes up for no WINDOW_UPDATE that was received: a peer
/// that dribbles credit would pay for it with the frames that it causes (http2-abuse 15).
const TINY_FRAME: usize = 64;

/// Octets a stream may send before it is another stream's turn.
const FAIR_FRAME: usize = 64 * 1024;
