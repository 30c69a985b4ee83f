//! Writing a reply into the engine: head, messages, trailers.
//!
//! [`Wire`] is the server's side of one connection as far as replies go: the engine and the blocks that are
//! encoded once per connection. It is what a call's future finds in its port when it is polled in place.

use peregrine_core::compression::{Compression, Packed, Packing, Staged, Written};
use peregrine_core::message::{EncodeBuf, FrameBuf, PREFIX_LEN, write_prefix};
use peregrine_core::observe::MessageSize;
use peregrine_core::{Codec, EncodeError, EncodeTarget, Format, MetadataMap, Status, Transcode, format};
use peregrine_http2::{CachedBlock, Connection, DataWrite, ErrorCode, Field, StreamError, StreamKey};

use super::batch::Room;
use super::fields::{metadata_fields, status_fields};
use super::port::Watch;
use super::reply_head::{Reply, ReplyHead, ReplyHeads};
use super::reply_target::{Apart, ReplyTarget};
use crate::service::CallResult;

/// An engine, and what the server keeps with it to answer cheaply.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) connection: Connection,
    reply_heads: ReplyHeads,
    /// `grpc-status: 0` alone, encoded.
    ok_trailers: CachedBlock,
    /// Takes what metadata and statuses need encoded, call after call (wire-rules H1).
    scratch: Vec<u8>,
    /// That of the call that is polled in place.
    pub(crate) reply: Option<Reply>,
    /// What interceptors want with it.
    pub(super) watch: Option<Box<Watch>>,
    /// Bytes that one poll of a response stream makes before they leave (wire-rules B1).
    pub(super) batch_size: usize,
    /// The messages that the call which is polled has sent, if somebody wants to know.
    pub(crate) sent: Option<Vec<MessageSize>>,
}

impl Wire {
    pub(crate) fn new(connection: Connection, batch_size: usize, is_observed: bool) -> Self {
        Self {
            connection,
            reply_heads: ReplyHeads::default(),
            ok_trailers: CachedBlock::default(),
            scratch: Vec::new(),
            reply: None,
            watch: None,
            batch_size,
            sent: is_observed.then(Vec::new),
        }
    }

    /// Sends the head of the polled call's reply, once.
    ///
    /// # Errors
    /// As [`send_head`](Self::send_head).
    pub(super) fn open_reply(
        &mut self,
        compression: Option<&Compression>,
        metadata: &MetadataMap,
    ) -> Result<(), Status> {
        let Some(reply) = &mut self.reply else { return Ok(()) };
        if reply.head_sent {
            return Ok(());
        }
        if let Some(compression) = compression {
            reply.compress(compression)?;
        }
        let (key, head) = (reply.key, reply.plan().head);
        self.send_head(key, head, metadata)?;
        if let Some(reply) = &mut self.reply {
            reply.head_sent = true;
        }
        Ok(())
    }

    /// Sends the response head, with the user's metadata (wire-rules 49).
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when the peer does not accept that much metadata (wire-rules 27); nothing was sent.
    #[inline]
    pub(crate) fn send_head(
        &mut self,
        key: StreamKey,
        head: ReplyHead,
        metadata: &MetadataMap,
    ) -> Result<(), Status> {
        let sent = if metadata.is_empty() {
            let block = self.reply_heads.block(head);
            self.connection.send_cached_headers(key, block, || head.fields(), false)
        } else {
            let user = metadata_fields(metadata, reused(&mut self.scratch));
            self.connection.send_headers(key, head.fields().chain(user), false)
        };
        match sent {
            Err(StreamError::HeaderListTooLarge { size, limit }) => Err(too_large("initial", size, limit)),
            // The stream may be gone: the peer reset it, and the event that says so is on its way to the call.
            _ => Ok(()),
        }
    }

    /// What may be gathered of the polled call's messages, if the engine has room for any; if not, it says when.
    pub(super) fn poll_room(&mut self) -> Option<Room> {
        let reply = self.reply.as_ref()?;
        let bytes = self.connection.poll_room(reply.key)?;
        let is_plain = self.sent.is_none() && reply.plan().packer().is_none();
        let room = Room { bytes, frame: bytes, limit: reply.request.max_send };
        Some(if is_plain { room } else { Room::default() })
    }

    /// Sends what was gathered where there was `room`: it all goes into one frame, but for the last message.
    pub(super) fn send_gathered(&mut self, messages: &mut FrameBuf, room: usize) {
        let Some(key) = self.reply.as_ref().map(|reply| reply.key) else { return };
        let before = if messages.len() > room { messages.len_before_last() } else { 0 };
        if before > 0 {
            self.send_part(key, before, messages, FrameBuf::drain_before_last_into);
        }
        self.send_encoded(key, messages);
        // Of a stream that is gone; its call learns that by being dropped.
        messages.clear();
    }

    /// Encodes one message of the polled call behind its prefix, straight into the output where windows allow
    /// (wire-rules Z2, B5). `wish`: what its source said of its compression.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED over the send limit, INTERNAL when the codec fails; nothing of the message was sent.
    pub(super) fn send_message<C: Codec<T>, T>(
        &mut self,
        message: &T,
        transcode: Option<&dyn Transcode>,
        wish: Option<bool>,
    ) -> Result<(), Status> {
        let Some(reply) = &self.reply else { return Err(no_call()) };
        let mut target = WireTarget {
            connection: Some(&mut self.connection),
            key: reply.key,
            limit: reply.request().max_send,
            write: None,
            packing: Packing::of(reply.plan().packer(), wish),
            staged: None,
            written: Written::default(),
        };
        match format::encode::<C, T, _>(message, transcode, &mut target) {
            Ok(()) => target.commit(self.sent.as_mut()),
            Err(error) => Err(error.into()),
        }
    }

    /// Where a codec writes the one message of the polled call's reply, of which nothing is out. Head and trailers go with
    /// it (wire-rules 49, 50).
    ///
    /// # Errors
    /// No call is polled.
    #[inline(always)]
    pub(crate) fn reply_target<'a, 'c>(
        &'c mut self,
        apart: &'a mut Apart<'c>,
    ) -> Result<ReplyTarget<'a, 'c>, Status> {
        let Some(reply) = &mut self.reply else { return Err(no_call()) };
        let block = self.reply_heads.block(reply.plan().head);
        Ok(ReplyTarget::new(&mut self.connection, reply, block, &self.ok_trailers, apart))
    }

    /// What the polled call ends with whose reply came to `sent`. The head is out before an error (wire-rules E3).
    #[inline]
    pub(crate) fn settle(&mut self, sent: Result<(), Status>) -> CallResult {
        if sent.is_err() {
            self.open_reply(None, &MetadataMap::new())?;
        }
        sent.map(|()| MetadataMap::new())
    }

    /// Whether all of the polled call's reply is out; it is let go then.
    #[inline(always)]
    pub(crate) fn drop_ended_reply(&mut self) -> bool {
        let is_ended = self.reply.as_ref().is_some_and(|reply| reply.is_ended);
        if is_ended {
            self.reply = None;
        }
        is_ended
    }

    /// Sends messages that were encoded elsewhere, prefixes included.
    pub(crate) fn send_encoded(&mut self, key: StreamKey, messages: &mut FrameBuf) {
        self.send_part(key, messages.len(), messages, FrameBuf::drain_into);
    }

    /// Sends the first `len` bytes of `messages`, which `drain` moves.
    fn send_part(
        &mut self,
        key: StreamKey,
        len: usize,
        messages: &mut FrameBuf,
        drain: fn(&mut FrameBuf, &mut EncodeBuf<'_>),
    ) {
        let Ok(mut write) = self.connection.write_data(key, len) else { return };
        // wire-rules 73: a deadline has to know whether it cuts a message.
        let lengths: Vec<usize> =
            if write.is_queued() { messages.message_lengths().collect() } else { Vec::new() };
        let (bytes, links) = write.buffers();
        drain(messages, &mut EncodeBuf::new(bytes, links));
        // As above: a stream that is gone needs nothing more.
        let _ = write.commit_parts(lengths);
    }

    /// Ends the call: trailers, or one block that is head and trailers when no head was sent (wire-rules 49, 50).
    ///
    /// A peer that is still sending learns by RST_STREAM(NO_ERROR) that nobody reads on (wire-rules 63).
    pub(crate) fn finish(&mut self, reply: &Reply, result: Result<&MetadataMap, &Status>) {
        let key = reply.key;
        let head = head_unless(reply.head_sent, reply.plan().head.format);
        let sent = match result {
            Ok(trailers) => self.send_ok(key, head, trailers),
            Err(status) => self.send_status(key, head, status),
        };
        if sent.is_ok() {
            self.connection.reset_when_sent(key, ErrorCode::NO_ERROR);
        }
    }

    /// Answers without a call: an HTTP status beside a gRPC status, in one block (wire-rules 2, 10, 14, 27).
    pub(crate) fn refuse(
        &mut self,
        key: StreamKey,
        format: Format,
        http_status: u16,
        status: &Status,
        accepted: Option<&str>,
    ) {
        let digits = [
            b'0' + (http_status / 100 % 10) as u8,
            b'0' + (http_status / 10 % 10) as u8,
            b'0' + (http_status % 10) as u8,
        ];
        let head = [
            Field::new(b":status", &digits),
            Field::new(b"content-type", format.content_type().as_bytes()),
            Field::new(b"grpc-accept-encoding", accepted.unwrap_or_default().as_bytes()),
        ];
        let head = if accepted.is_some() { &head[..] } else { &head[..2] };
        let sent = self.send_status(key, head, status);
        if sent.is_ok() {
            self.connection.reset_when_sent(key, ErrorCode::NO_ERROR);
        }
    }

    fn send_ok(
        &mut self,
        key: StreamKey,
        head: &[Field<'_>],
        trailers: &MetadataMap,
    ) -> Result<(), StreamError> {
        let sent = if head.is_empty() && trailers.is_empty() {
            self.connection.send_cached_headers(key, &mut self.ok_trailers, ok_fields, true)
        } else {
            let user = metadata_fields(trailers, reused(&mut self.scratch));
            let fields = head.iter().copied().chain(ok_fields()).chain(user);
            self.connection.send_headers(key, fields, true)
        };
        let Err(StreamError::HeaderListTooLarge { size, limit }) = sent else { return sent };
        self.send_status(key, head, &too_large("trailing", size, limit))
    }

    /// Ends the stream with `head` and a status, whatever the peer's limit.
    fn send_status(
        &mut self,
        key: StreamKey,
        head: &[Field<'_>],
        status: &Status,
    ) -> Result<(), StreamError> {
        let head = head.iter().copied();
        let fields = head.clone().chain(status_fields(status, reused(&mut self.scratch)));
        let sent = self.connection.send_headers(key, fields, true);
        let Err(StreamError::HeaderListTooLarge { limit, .. }) = sent else { return sent };
        // The code has to arrive whatever the peer's limit (http2-abuse 41): the text is cut, the rest left out.
        let bare = shortened(status, limit as usize);
        let fields = head.chain(status_fields(&bare, reused(&mut self.scratch)));
        let sent = self.connection.send_headers(key, fields, true);
        if sent.is_err() {
            // Not even that fits: the peer refuses every answer (bug-reports 75).
            self.connection.reset(key, ErrorCode::INTERNAL_ERROR);
        }
        sent
    }
}

/// wire-rules Z3
#[cold]
pub(super) fn unasked() -> EncodeError {
    EncodeError::codec("the codec asked for no room")
}

#[cold]
pub(super) fn not_sent(error: StreamError) -> Status {
    Status::internal(format!("message not sent: {error}"))
}

#[cold]
fn no_call() -> Status {
    Status::internal("no call is polled")
}

/// The buffer, unless an unusually large block has left it unusually large: connections are many and live long.
fn reused(scratch: &mut Vec<u8>) -> &mut Vec<u8> {
    const KEPT: usize = 16 * 1024;

    if scratch.capacity() > KEPT {
        *scratch = Vec::new();
    }
    scratch
}

/// wire-rules 27: what is over the peer's limit fails here, with both numbers.
pub(super) fn too_large(which: &str, size: usize, limit: u32) -> Status {
    Status::resource_exhausted(format!(
        "{which} metadata makes a header list of {size} bytes; the client accepts {limit} bytes"
    ))
}

/// The status without details and metadata, its text cut to what a header list of `limit` bytes has room for.
fn shortened(status: &Status, limit: usize) -> Status {
    // Head, grpc-status and the text's own 32 + name; each byte of text may take three when encoded.
    const FIXED: usize = 256;
    let mut end = (limit.saturating_sub(FIXED) / 3).min(status.message().len());
    while !status.message().is_char_boundary(end) {
        end -= 1;
    }
    Status::new(status.code(), status.message()[..end].to_owned())
}

/// The fields of the head of a reply that has no messages.
fn reply_head(format: Format) -> &'static [Field<'static>; 2] {
    const fn head(format: Format) -> [Field<'static>; 2] {
        let content_type = format.content_type().as_bytes();
        [Field::new(b":status", b"200"), Field::new(b"content-type", content_type)]
    }

    const PROTO: [Field<'static>; 2] = head(Format::Proto);
    const JSON: [Field<'static>; 2] = head(Format::Json);
    if format == Format::Json { &JSON } else { &PROTO }
}

/// The fields of the head, for a block that has to bring it along.
fn head_unless(head_sent: bool, format: Format) -> &'static [Field<'static>] {
    if head_sent { &[] } else { reply_head(format) }
}

fn ok_fields<'a>() -> impl Iterator<Item = Field<'a>> + Clone {
    std::iter::once(Field::new(b"grpc-status", b"0"))
}

/// Room for one message in a stream's data. Without a commit the engine takes everything back, so that a
/// message whose encoding failed leaves nothing behind (wire-rules B3).
struct WireTarget<'c> {
    /// Taken by `begin`, which turns it into the write.
    connection: Option<&'c mut Connection>,
    key: StreamKey,
    limit: usize,
    write: Option<DataWrite<'c>>,
    packing: Option<Packing<'c>>,
    /// The message, if it is to be compressed.
    staged: Option<Staged>,
    written: Written,
}

impl WireTarget<'_> {
    /// Sends the message, and adds it to `sent` if somebody wants to know.
    #[inline]
    fn commit(&mut self, sent: Option<&mut Vec<MessageSize>>) -> Result<(), Status> {
        if self.staged.is_some() {
            self.write_staged()?;
        }
        match self.write.take() {
            // A stream that is gone takes no data; its call learns that by being dropped.
            Some(write) => match write.commit() {
                Ok(()) => {
                    if let Some(sent) = sent {
                        sent.push(self.written.size(self.packing));
                    }
                    Ok(())
                }
                Err(StreamError::Gone) => Ok(()),
                Err(error) => Err(not_sent(error)),
            },
            None if self.connection.is_none() => Ok(()),
            None => Err(unasked().into()),
        }
    }

    /// Whether the message is to be compressed, and so put down for now.
    #[cold]
    fn stages(&mut self, len: usize) -> Result<bool, EncodeError> {
        if self.staged.is_some() {
            return Err(self.no_room());
        }
        let stages = self.connection.is_some() && self.packing.is_some_and(|packing| packing.wants(len));
        Ok(stages)
    }

    /// Why a codec gets no room.
    #[cold]
    fn no_room(&self) -> EncodeError {
        if self.write.is_none() && self.staged.is_none() {
            return EncodeError::closed();
        }
        // wire-rules Z3
        EncodeError::codec("the codec asked for room twice")
    }

    #[cold]
    fn write_staged(&mut self) -> Result<(), Status> {
        let (Some(staged), Some(packing)) = (self.staged.take(), self.packing) else { return Ok(()) };
        let packed: Packed = staged.pack(packing)?;
        self.written = packed.written();
        // A stream that is gone takes no data, as in `commit`.
        if let Some(connection) = self.connection.take()
            && let Ok(write) = connection.write_data(self.key, packed.wire_len())
        {
            let (bytes, links) = self.write.insert(write).buffers();
            packed.write_to(bytes, links);
        }
        Ok(())
    }
}

impl EncodeTarget for WireTarget<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        if len > self.limit {
            return Err(EncodeError::too_large(len, self.limit));
        }
        self.written.raw_len = len;
        if self.packing.is_some() && self.stages(len)? {
            return Ok(self.staged.insert(Staged::new(len)).buffer());
        }
        let Some(connection) = self.connection.take() else { return Err(self.no_room()) };
        let write = connection.write_data(self.key, PREFIX_LEN + len).map_err(|_| EncodeError::closed())?;
        let write = self.write.insert(write);
        let (bytes, links) = write.buffers();
        write_prefix(bytes, len as u32);
        Ok(EncodeBuf::new(bytes, links))
    }
}
