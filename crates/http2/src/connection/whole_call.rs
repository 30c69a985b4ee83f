//! Short ways of a server for calls that are whole: a request that lies in the input with its data, a response that is
//! written from its head to its trailers at once.
//!
//! Both do what `input`, `headers` and `data_read`, or `commands` and `data_write`, do frame by frame, with one look at
//! the connection instead of one for each frame. Whatever is not as usual they leave to those, by doing nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::goaway::Shutdown;
use super::ids::is_late;
use super::whole::complete_block;
use super::{Connection, Phase};
use crate::error::StreamError;
use crate::frame::{FRAME_HEADER_LEN, Flags, FrameHeader, FrameType};
use crate::memo::BlockKind;
use crate::output::LINK_FROM;
use crate::stream::{RecvHalf, SendHalf};
use crate::{CachedBlock, Head, StreamId, StreamKey};

/// A request that lies in the input as a whole, found by [`Connection::peek_request`].
#[derive(Clone, Copy, Debug)]
pub struct WholeRequest<'c, 'a> {
    /// The stream it would open.
    pub stream: StreamId,
    /// Its head.
    pub head: &'c Arc<Head>,
    /// The octets of its one DATA frame; may be empty.
    pub data: &'a [u8],
    /// Octets of both frames.
    pub len: usize,
}

/// A response being written, made by [`Connection::write_response`]: fill the [`buffers`](Self::buffers), then
/// [`commit`](Self::commit). Dropped without that, it is as if it had never been.
#[derive(Debug)]
#[must_use = "without commit() nothing is sent"]
pub struct ResponseWrite<'c> {
    connection: &'c mut Connection,
    key: StreamKey,
    trailers: &'c [u8],
    len: usize,
    /// Where the data begins; the header of its frame stands before it.
    start: usize,
    /// Lengths of the output's buffers before the response.
    undo: (usize, usize),
    is_committed: bool,
}

impl ResponseWrite<'_> {
    /// Where the octets of the data go, as for [`DataWrite::buffers`](super::DataWrite::buffers).
    #[inline]
    pub fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        self.connection.output.buffers()
    }

    /// Sends the response; the stream is gone then. To be called once.
    ///
    /// # Errors
    /// [`StreamError::LengthMismatch`] if what was written is not as long as was announced; nothing is sent then.
    #[inline(always)]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
    pub fn commit(&mut self) -> Result<(), StreamError> {
        let Connection { output, send_window, .. } = &mut *self.connection;
        let (bytes, links) = output.mark();
        let plain = bytes.saturating_sub(self.start);
        let linked = if links <= self.undo.1 { 0 } else { output.linked_from(self.undo.1) };
        let written = plain + linked;
        if written != self.len {
            return Err(StreamError::LengthMismatch { announced: self.len, written });
        }
        self.is_committed = true;
        output.note_linked(linked);
        send_window.spend(self.len);
        let out = output.frames();
        out.extend_from_slice(self.trailers);
        if let Some(frame) = out.get_mut(bytes..) {
            complete_block(frame, self.key.id(), Flags::END_HEADERS.with(Flags::END_STREAM, true));
        }
        self.connection.on_whole_response(self.key);
        Ok(())
    }
}

impl Drop for ResponseWrite<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_committed {
            self.connection.output.roll_back(self.undo);
        }
    }
}

impl Connection {
    /// Server: the request at the front of `input`, if all of it is there in two frames and its header block is the one
    /// decoded last. Changes nothing: [`accept_request`](Self::accept_request) does, or
    /// [`handle_input`](Self::handle_input) takes the frames one by one. Only with
    /// [`Config::whole_requests`](super::Config::whole_requests).
    // wire-rules M3
    #[inline(always)]
    pub fn peek_request<'c, 'a>(&'c self, input: &'a [u8]) -> Option<WholeRequest<'c, 'a>> {
        let head = self.peek_frame(input, FrameType::Headers, Flags::END_HEADERS)?;
        let data = self.peek_frame(head.rest, FrameType::Data, Flags::END_STREAM)?;
        let id = head.stream;
        let is_usual = data.stream == id
            && self.config.whole_requests
            && self.phase == Phase::Ready
            && self.partial.is_none()
            && !self.decoder.update_due()
            && self.ids.is_new(id)
            && !is_late(id)
            && self.shutdown != Shutdown::Final
            && self.config.max_concurrent_streams.is_none_or(|limit| self.streams.len() < limit as usize)
            && data.payload.len() <= self.recv_window_size as usize
            && data.payload.len() <= self.recv_window.available();
        if !is_usual {
            return None;
        }
        let generation = self.decoder.table_generation();
        let found = self.memo.latest(BlockKind::Request, head.payload, generation)?;
        // What a head promises of its data is for the long way to keep.
        found.content_length().is_none().then_some(WholeRequest {
            stream: id,
            head: found,
            data: data.payload,
            len: input.len().saturating_sub(data.rest.len()),
        })
    }

    /// Takes a request that [`peek_request`](Self::peek_request) has found just now: the stream is open, and the peer's
    /// side has ended. Drop [`WholeRequest::len`] octets of input.
    #[inline(always)]
    pub fn accept_request(&mut self, stream: StreamId, data_len: usize, now: Instant) -> StreamKey {
        self.received_at = now;
        if self.asleep {
            self.wake();
        }
        self.ids.on_peer_opened(stream);
        self.ids.on_accepted();
        let (send_window, recv_window) = (self.peer.initial_window_size, self.recv_window_size);
        let halves = (SendHalf::HeadDue, RecvHalf::Ended);
        let key = self.streams.insert(stream, halves, send_window, recv_window);
        let is_received = self.on_connection_received(data_len).is_ok();
        debug_assert!(is_received, "the window was asked");
        key
    }

    /// Server: writes a response whole, head, `len` octets of data and trailers, if both blocks are encoded already, the
    /// peer's side has ended, and nothing is in its way.
    ///
    /// # Errors
    /// The connection, if something is: nothing has been done then.
    /// [`send_cached_headers`](Self::send_cached_headers) and [`write_data`](Self::write_data) do it, or say why it
    /// cannot be done.
    #[inline(always)]
    pub fn write_response<'c>(
        &'c mut self,
        key: StreamKey,
        head: &CachedBlock,
        trailers: &'c CachedBlock,
        len: usize,
    ) -> Result<ResponseWrite<'c>, &'c mut Self> {
        let Some((head, trailers)) = self.response_blocks(head, trailers) else { return Err(self) };
        if !self.fits_response(key, len) {
            return Err(self);
        }
        let undo = self.output.mark();
        let out = self.output.frames();
        let room = head.len().saturating_add(trailers.len()).saturating_add(len.min(LINK_FROM));
        out.reserve(room);
        out.extend_from_slice(head);
        let start = out.len();
        let data =
            FrameHeader { len: len as u32, kind: FrameType::Data, flags: Flags::NONE, stream: key.id() };
        if let Some(room) = out.last_chunk_mut() {
            *room = data.to_bytes();
        }
        if let Some(frame) = out.get_mut(undo.0..) {
            complete_block(frame, key.id(), Flags::END_HEADERS);
        }
        Ok(ResponseWrite { connection: self, key, trailers, len, start, undo, is_committed: false })
    }

    /// The blocks as they are encoded: the head with room for the headers of its own frame and of the one behind it, the
    /// trailers with room for their own. `None` if they have to be encoded anew, or are too long for a frame.
    #[inline(always)]
    fn response_blocks<'h, 't>(
        &self,
        head: &'h CachedBlock,
        trailers: &'t CachedBlock,
    ) -> Option<(&'h [u8], &'t [u8])> {
        let (head, trailers) = (self.encoder.recall(head)?, self.encoder.recall(trailers)?);
        let max_frame = self.peer.max_frame_size as usize;
        let fits = head.len() <= max_frame && trailers.len() <= max_frame && !self.peer.measures_lists();
        let trailers = trailers.get(..trailers.len().checked_sub(FRAME_HEADER_LEN)?)?;
        fits.then_some((head, trailers))
    }

    /// Whether `len` octets, which are some, may go into the output now, with all that a response has around them.
    // [9113-6.9.1-1]
    #[inline(always)]
    fn fits_response(&self, key: StreamKey, len: usize) -> bool {
        let Some(stream) = self.streams.get(key) else { return false };
        let room =
            self.max_data_frame().min(stream.send_window.available()).min(self.send_window.available());
        stream.send == SendHalf::HeadDue
            && stream.recv == RecvHalf::Ended
            && len != 0
            && len <= room
            && self.schedule.is_empty()
            && self.output.len() < self.config.write_buffer_high_water
    }

    #[inline(always)]
    fn on_whole_response(&mut self, key: StreamKey) {
        self.limits.on_whole_response();
        self.pings.on_progress();
        self.streams.remove_now(key);
        self.limits.on_stream_completed();
    }
}
