//! Short ways for calls that are whole: a request written at once, a response that lies in the input from its head to
//! its trailers.
//!
//! Both do what `commands` and `data_write`, or `headers` and `data_read`, do frame by frame, with one look at the
//! stream instead of one for each frame. Whatever is not as usual they leave to those, by doing nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::{Connection, Phase};
use crate::error::ConnectionError;
use crate::frame::{FRAME_HEADER_LEN, Flags, FrameHeader, FrameType};
use crate::memo::BlockKind;
use crate::stream::{RecvHalf, SendHalf};
use crate::{CachedBlock, Head, StreamId, StreamKey};

/// A request being written, made by [`Connection::open_whole`]: fill the [`buffers`](Self::buffers), then
/// [`commit`](Self::commit). Dropped without that, it is as if it had never been.
#[derive(Debug)]
#[must_use = "without commit() nothing is sent"]
pub struct RequestWrite<'c> {
    connection: &'c mut Connection,
    id: StreamId,
    len: usize,
    /// Where the data begins; the header of its frame stands before it.
    start: usize,
    /// Lengths of the output's buffers before the request.
    undo: (usize, usize),
    is_committed: bool,
}

impl RequestWrite<'_> {
    /// Where the octets of the data go, as for [`DataWrite::buffers`](super::DataWrite::buffers).
    #[inline]
    pub fn buffers(&mut self) -> (&mut Vec<u8>, &mut VecDeque<(usize, Bytes)>) {
        self.connection.output.buffers()
    }

    /// Opens the stream and ends our side of it, once. `None` if what was written is not as long as was announced;
    /// nothing is sent then.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "lengths of buffers in memory")]
    pub fn commit(&mut self) -> Option<StreamKey> {
        if self.is_committed {
            return None;
        }
        let Connection { output, send_window, peer, .. } = &mut *self.connection;
        let (bytes, links) = output.mark();
        let plain = bytes.saturating_sub(self.start);
        let linked = if links <= self.undo.1 { 0 } else { output.linked_from(self.undo.1) };
        if plain + linked != self.len {
            return None;
        }
        output.note_linked(linked);
        send_window.spend(self.len);
        let stream_window = peer.initial_window_size.saturating_sub(self.len as u32);
        self.is_committed = true;
        Some(self.connection.on_whole_request(self.id, stream_window))
    }
}

impl Drop for RequestWrite<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_committed {
            self.connection.output.roll_back(self.undo);
        }
    }
}

/// A response that lies in the input as a whole, found by [`Connection::peek_response`].
#[derive(Clone, Copy, Debug)]
pub struct WholeResponse<'c, 'a> {
    /// The stream it is for.
    pub stream: StreamKey,
    /// Its head.
    pub head: &'c Arc<Head>,
    /// The octets of its one DATA frame, which are some.
    pub data: &'a [u8],
    /// Its trailers.
    pub trailers: &'c Arc<Head>,
    /// Octets of the three frames.
    pub len: usize,
}

impl Connection {
    /// Client: writes a request whole, head and `len` octets of data, if its head is encoded already and nothing is in
    /// its way. `None` if not; [`open_cached`](Self::open_cached) and
    /// [`write_only_data`](Self::write_only_data) do it then, or say why it cannot be done.
    #[inline]
    pub fn open_whole(&mut self, block: &CachedBlock, len: usize) -> Option<RequestWrite<'_>> {
        let id = self.check_open().ok()?;
        let framed = self.encoder.recall(block)?;
        let block_len = framed.len().checked_sub(2 * FRAME_HEADER_LEN)?;
        let fits = len <= self.max_data_frame()
            && block_len <= self.peer.max_frame_size as usize
            && !self.peer.measures_lists()
            && len <= self.peer.initial_window_size as usize
            && len <= self.send_window.available()
            && self.schedule.is_empty()
            && self.output.len() < self.config.write_buffer_high_water;
        if !fits {
            return None;
        }
        let undo = self.output.mark();
        let out = self.output.frames();
        out.extend_from_slice(framed);
        complete_block(out.get_mut(undo.0..)?, id, Flags::END_HEADERS);
        let data =
            FrameHeader { len: len as u32, kind: FrameType::Data, flags: Flags::END_STREAM, stream: id };
        *out.last_chunk_mut()? = data.to_bytes();
        let start = out.len();
        Some(RequestWrite { connection: self, id, len, start, undo, is_committed: false })
    }

    #[inline]
    fn on_whole_request(&mut self, id: StreamId, send_window: u32) -> StreamKey {
        self.ids.on_opened();
        if self.asleep {
            self.wake();
        }
        self.limits.on_progress();
        self.pings.on_progress();
        self.streams.insert(id, (SendHalf::Ended, RecvHalf::HeadDue), send_window, self.recv_window_size)
    }

    /// Client: the response at the front of `input`, if all of it is there in three frames, its two header blocks are
    /// the ones decoded last, and its request is out. Changes nothing: [`accept_response`](Self::accept_response) does,
    /// or [`handle_input`](Self::handle_input) takes the frames one by one.
    #[inline]
    pub fn peek_response<'c, 'a>(&'c self, input: &'a [u8]) -> Option<WholeResponse<'c, 'a>> {
        if self.phase != Phase::Ready || self.partial.is_some() || self.decoder.update_due() {
            return None;
        }
        let head = self.peek_frame(input, FrameType::Headers, Flags::END_HEADERS)?;
        let data = self.peek_frame(head.rest, FrameType::Data, Flags::NONE)?;
        let last = Flags::END_HEADERS.with(Flags::END_STREAM, true);
        let trailers = self.peek_frame(data.rest, FrameType::Headers, last)?;
        let id = head.stream;
        if data.stream != id || trailers.stream != id || data.payload.is_empty() {
            return None;
        }
        let key = self.streams.find(id)?;
        let stream = self.streams.get(key)?;
        let generation = self.decoder.table_generation();
        let is_usual = stream.recv == RecvHalf::HeadDue
            && stream.send == SendHalf::Ended
            && !stream.bodiless
            && data.payload.len() <= stream.recv_window.available()
            && data.payload.len() <= self.recv_window.available();
        let response = WholeResponse {
            stream: key,
            head: self.memo.latest(BlockKind::Response, head.payload, generation)?,
            data: data.payload,
            trailers: self.memo.latest(BlockKind::Trailers, trailers.payload, generation)?,
            len: input.len().saturating_sub(trailers.rest.len()),
        };
        // Not one of the statuses without data, and without a promise of how much data there is.
        let has_body = response.head.status() == Some(200) && response.head.content_length().is_none();
        (is_usual && has_body).then_some(response)
    }

    /// Takes a response that [`peek_response`](Self::peek_response) has found just now: the stream ends. Drop
    /// [`WholeResponse::len`] octets of input.
    ///
    /// # Errors
    /// As for [`handle_input`](Self::handle_input).
    #[inline]
    pub fn accept_response(
        &mut self,
        stream: StreamKey,
        data_len: usize,
        now: Instant,
    ) -> Result<(), ConnectionError> {
        self.received_at = now;
        if self.asleep {
            self.wake();
        }
        self.on_connection_received(data_len).map_err(|error| self.fail(error))?;
        self.streams.remove(stream);
        self.limits.on_stream_completed();
        Ok(())
    }

    /// The frame at the front of `input`, if it is there and has exactly this type and these flags.
    #[inline(always)]
    pub(super) fn peek_frame<'a>(
        &self,
        input: &'a [u8],
        kind: FrameType,
        flags: Flags,
    ) -> Option<Peeked<'a>> {
        let &[.., type_octet, flag_octet, _, _, _, _] = input.first_chunk::<FRAME_HEADER_LEN>()?;
        if type_octet != kind.to_wire() || flag_octet != flags.0 {
            return None;
        }
        let header = FrameHeader::parse(input)?;
        if header.len > self.config.max_frame_size {
            return None;
        }
        let (frame, rest) = input.split_at_checked(header.frame_len())?;
        Some(Peeked { stream: header.stream, payload: frame.get(FRAME_HEADER_LEN..)?, rest })
    }
}

/// Fills in what the header of a HEADERS frame lacks that was copied from a [`CachedBlock`].
#[inline(always)]
pub(super) fn complete_block(frame: &mut [u8], stream: StreamId, flags: Flags) {
    if let Some([_, _, _, _, place, id @ ..]) = frame.first_chunk_mut::<FRAME_HEADER_LEN>() {
        *place = flags.0;
        *id = stream.to_be_bytes();
    }
}

/// A frame, and what comes behind it.
pub(super) struct Peeked<'a> {
    pub(super) stream: StreamId,
    pub(super) payload: &'a [u8],
    pub(super) rest: &'a [u8],
}
