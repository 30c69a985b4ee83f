//! What the upper layer may ask for beside sending data: heads, trailers, resets, PING.

use super::goaway::Shutdown;
use super::{Connection, Phase, Role};
use crate::error::{OpenError, StreamError};
use crate::frame::{FRAME_HEADER_LEN, Ping, append_whole_block, seal_block};
use crate::hpack::Encoder;
use crate::stream::{RecvHalf, SendHalf, Stream};
use crate::{CachedBlock, ErrorCode, Field, Head, StreamId, StreamKey};

impl Connection {
    /// Client: whether [`open`](Self::open) would succeed now (for a header list the peer accepts).
    pub fn can_open(&self) -> bool {
        self.check_open().is_ok()
    }

    /// Client: opens a stream with the head of a request.
    ///
    /// # Errors
    /// As [`OpenError`] says; nothing is sent then.
    pub fn open<'f, I>(&mut self, fields: I, end_stream: bool) -> Result<StreamKey, OpenError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let id = self.check_open()?;
        if let Some((size, limit)) = self.too_large(&fields) {
            return Err(OpenError::HeaderListTooLarge { size, limit });
        }
        let bodiless = is_head(fields.clone());
        self.write_block(id, end_stream, |encoder, out| encoder.encode_block(fields, out));
        Ok(self.on_opened(id, end_stream, bodiless))
    }

    /// Like [`open`](Self::open), for a head that is sent again and again: `block` keeps it encoded, `fields`
    /// is only asked when the compression table has changed since. Not for HEAD requests.
    ///
    /// # Errors
    /// As [`OpenError`] says; nothing is sent then.
    pub fn open_cached<'f, I>(
        &mut self,
        block: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        end_stream: bool,
    ) -> Result<StreamKey, OpenError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let id = self.check_open()?;
        self.write_cached(id, block, fields, end_stream)
            .map_err(|(size, limit)| OpenError::HeaderListTooLarge { size, limit })?;
        Ok(self.on_opened(id, end_stream, false))
    }

    /// Sends a head or, after the head, trailers (`end_stream` must be set). Trailers wait behind queued
    /// data.
    ///
    /// # Errors
    /// As [`StreamError`] says; nothing is sent then.
    pub fn send_headers<'f, I>(
        &mut self,
        key: StreamKey,
        fields: I,
        end_stream: bool,
    ) -> Result<(), StreamError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let waits = self.check_headers(key, end_stream)?;
        if let Some((size, limit)) = self.too_large(&fields) {
            return Err(StreamError::HeaderListTooLarge { size, limit });
        }
        if waits {
            self.queue_trailers(key, Head::from_fields(fields));
        } else {
            self.write_block(key.id(), end_stream, |encoder, out| encoder.encode_block(fields, out));
            self.on_headers_sent(key, end_stream);
        }
        Ok(())
    }

    /// Like [`send_headers`](Self::send_headers), for a block that is sent again and again: `block` keeps it
    /// encoded, `fields` is only asked when the compression table has changed since.
    ///
    /// # Errors
    /// As [`StreamError`] says; nothing is sent then.
    #[inline]
    pub fn send_cached_headers<'f, I>(
        &mut self,
        key: StreamKey,
        block: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        end_stream: bool,
    ) -> Result<(), StreamError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        let Some(stream) = self.streams.get_mut(key) else { return Err(StreamError::Gone) };
        let is_next = match stream.send {
            SendHalf::HeadDue => true,
            SendHalf::Open => end_stream && stream.reset_after.is_none() && stream.queue.is_empty(),
            SendHalf::Ending | SendHalf::Ended => false,
        };
        if is_next
            && !self.peer.measures_lists()
            && let Some(block) = self.encoder.cached(block)
            && block.len() <= self.peer.max_frame_size as usize
        {
            append_whole_block(self.output.frames(), key.id(), block, end_stream);
            self.limits.on_progress();
            self.pings.on_progress();
            stream.send = if end_stream { SendHalf::Ended } else { SendHalf::Open };
            if stream.is_closed() {
                self.close(key);
            }
            return Ok(());
        }
        self.send_uncached_headers(key, block, fields, end_stream)
    }

    /// The general way of [`send_cached_headers`](Self::send_cached_headers).
    #[inline(never)]
    fn send_uncached_headers<'f, I>(
        &mut self,
        key: StreamKey,
        block: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        end_stream: bool,
    ) -> Result<(), StreamError>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        if self.check_headers(key, end_stream)? {
            return self.send_headers(key, fields(), end_stream);
        }
        self.write_cached(key.id(), block, fields, end_stream)
            .map_err(|(size, limit)| StreamError::HeaderListTooLarge { size, limit })?;
        self.on_headers_sent(key, end_stream);
        Ok(())
    }

    /// Drops what is queued and sends RST_STREAM now, whatever the windows.
    pub fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        if self.streams.get(key).is_some() {
            self.write_reset(key.id(), code);
            self.streams.remove(key);
        }
    }

    /// Sends RST_STREAM once everything queued is in the output, if the peer has not ended its side by then.
    /// What the peer sends on the stream meanwhile is dropped and credited; nothing more can be written to
    /// it.
    // wire-rules 63
    // [9113-8.1-3]
    #[inline]
    pub fn reset_when_sent(&mut self, key: StreamKey, code: ErrorCode) {
        if self.streams.get(key).is_some() {
            self.reset_unended(key, code);
        }
    }

    fn reset_unended(&mut self, key: StreamKey, code: ErrorCode) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.queue.is_empty() {
            self.reset(key, code);
            return;
        }
        stream.reset_after = Some(code);
        // What has arrived and was not released will never be.
        let held = stream.recv_window.held();
        self.release(key, held);
    }

    /// Sends PING; [`Event::Pong`](crate::Event::Pong) brings the answer. The payloads `draining`, `alive?!?` and
    /// `how wide` are the connection's own.
    pub fn ping(&mut self, payload: [u8; 8]) {
        if self.phase != Phase::Over {
            Ping { ack: false, payload }.encode(self.output.frames());
        }
    }

    /// Whether the peer has ended its side, or the stream is gone.
    pub fn is_remote_ended(&self, key: StreamKey) -> bool {
        self.streams.get(key).is_none_or(|stream| stream.recv == RecvHalf::Ended)
    }

    /// Whether the stream is still there.
    pub fn is_open(&self, key: StreamKey) -> bool {
        self.streams.get(key).is_some()
    }

    /// Streams that are not gone.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// The peer's SETTINGS_MAX_HEADER_LIST_SIZE, if it sent one.
    pub fn peer_max_header_list_size(&self) -> Option<u32> {
        self.peer.max_header_list_size
    }

    /// Which rule the peer broke when the engine reset a stream last: read it on
    /// [`Event::Reset`](crate::Event::Reset) by the engine.
    pub fn last_fault(&self) -> &'static str {
        self.last_fault
    }

    /// The id of the next stream, if one may be opened.
    #[inline]
    pub(super) fn check_open(&self) -> Result<StreamId, OpenError> {
        if self.role == Role::Server {
            return Err(OpenError::NotAClient);
        }
        // [9113-6.8-1]
        if self.shutdown != Shutdown::Serving || self.peer_last_stream.is_some() || self.phase == Phase::Over
        {
            return Err(OpenError::GoingAway);
        }
        // [9113-5.1.1-3]
        let id = self.ids.next().ok_or(OpenError::IdsExhausted)?;
        // wire-rules 82
        match self.peer.max_concurrent_streams {
            // [9113-5.1.2-1]
            Some(limit) if self.streams.len() >= limit as usize => Err(OpenError::StreamLimit { limit }),
            _ => Ok(id),
        }
    }

    fn on_opened(&mut self, id: StreamId, end_stream: bool, bodiless: bool) -> StreamKey {
        self.ids.on_opened();
        if self.asleep {
            self.wake();
        }
        let send = if end_stream { SendHalf::Ended } else { SendHalf::Open };
        let (send_window, recv_window) = (self.peer.initial_window_size, self.recv_window_size);
        let key = self.streams.insert(id, (send, RecvHalf::HeadDue), send_window, recv_window);
        if bodiless && let Some(stream) = self.streams.get_mut(key) {
            stream.bodiless = true;
        }
        key
    }

    /// Whether a block may be sent now, and whether it must wait behind queued data.
    fn check_headers(&self, key: StreamKey, end_stream: bool) -> Result<bool, StreamError> {
        let stream = self.streams.get(key).ok_or(StreamError::Gone)?;
        match stream.send {
            SendHalf::HeadDue => Ok(false),
            // [9113-5.1-3]
            SendHalf::Ending | SendHalf::Ended => Err(StreamError::Ended),
            SendHalf::Open if stream.reset_after.is_some() => Err(StreamError::Ended),
            SendHalf::Open if !end_stream => Err(StreamError::OutOfOrder),
            SendHalf::Open => Ok(!stream.queue.is_empty()),
        }
    }

    fn queue_trailers(&mut self, key: StreamKey, trailers: Head) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.trailers = Some(Box::new(trailers));
            stream.send = SendHalf::Ending;
        }
    }

    #[inline]
    fn on_headers_sent(&mut self, key: StreamKey, end_stream: bool) {
        if end_stream {
            self.on_send_ended(key);
        } else if let Some(stream) = self.streams.get_mut(key) {
            stream.send = SendHalf::Open;
        }
    }

    /// END_STREAM is in the output.
    #[inline]
    pub(super) fn on_send_ended(&mut self, key: StreamKey) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        stream.send = SendHalf::Ended;
        if stream.is_closed() {
            self.close(key);
        }
    }

    /// Frees the stream if both its halves have ended.
    pub(super) fn remove_if_closed(&mut self, key: StreamKey) {
        if self.streams.get(key).is_some_and(Stream::is_closed) {
            self.close(key);
        }
    }

    /// Frees a stream both of whose halves have ended.
    #[inline]
    pub(super) fn close(&mut self, key: StreamKey) {
        self.streams.remove(key);
        self.limits.on_stream_completed();
    }

    /// Encodes a block straight into the output, behind a header that is filled in afterwards.
    #[inline]
    pub(super) fn write_block(
        &mut self,
        id: StreamId,
        end_stream: bool,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) {
        let out = self.output.frames();
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_HEADER_LEN]);
        encode(&mut self.encoder, out);
        seal_block(out, start, id, end_stream, self.peer.max_frame_size);
        self.on_progress();
    }

    /// Size and limit, if the peer does not accept the list.
    fn write_cached<'f, I>(
        &mut self,
        id: StreamId,
        block: &mut CachedBlock,
        fields: impl FnOnce() -> I,
        end_stream: bool,
    ) -> Result<(), (usize, u32)>
    where
        I: Iterator<Item = Field<'f>> + Clone,
    {
        if self.peer.measures_lists() {
            let fields = fields();
            if let Some(exceeded) = self.too_large(&fields) {
                return Err(exceeded);
            }
            self.write_block(id, end_stream, |encoder, out| encoder.encode_cached(block, || fields, out));
            return Ok(());
        }
        match self.encoder.cached(block) {
            Some(block) if block.len() <= self.peer.max_frame_size as usize => {
                append_whole_block(self.output.frames(), id, block, end_stream);
                self.on_progress();
            }
            _ => self.write_block(id, end_stream, |encoder, out| encoder.encode_cached(block, fields, out)),
        }
        Ok(())
    }

    /// HEADERS or DATA are in the output.
    #[inline]
    pub(super) fn on_progress(&mut self) {
        self.limits.on_progress();
        self.pings.on_progress();
    }

    /// Size of the list and the peer's limit, if it exceeds it (10.5.1).
    // wire-rules 27
    fn too_large<'f>(&self, fields: &(impl Iterator<Item = Field<'f>> + Clone)) -> Option<(usize, u32)> {
        let limit = self.peer.max_header_list_size?;
        let size: usize = fields.clone().map(|field| field.size()).sum();
        (size > limit as usize).then_some((size, limit))
    }
}

fn is_head<'f>(mut fields: impl Iterator<Item = Field<'f>>) -> bool {
    fields.find(|field| field.name == b":method").is_some_and(|method| method.value == b"HEAD")
}
