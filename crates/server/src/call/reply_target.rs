//! Where a codec writes the one message of a reply: between the reply's head and its trailers, all of which leave at
//! once where nothing is in the way.

use peregrine_core::compression::{Packing, Staged};
use peregrine_core::message::{EncodeBuf, PREFIX_LEN, write_prefix};
use peregrine_core::{EncodeError, EncodeTarget, Status};
use peregrine_http2::{CachedBlock, Connection, DataWrite, ResponseWrite, StreamError};

use super::reply_head::Reply;
use super::wire::{not_sent, too_large, unasked};

/// The [`EncodeTarget`] of a reply that is one message, of which nothing is out, and behind which nothing comes but
/// `grpc-status: 0`. Without a finish nothing of it is sent, but for the head where that had to go by itself.
pub(crate) struct ReplyTarget<'a, 'c> {
    /// Taken by `begin`, which turns it into the room.
    connection: Option<&'c mut Connection>,
    reply: &'c mut Reply,
    head_block: &'c mut CachedBlock,
    trailers: &'c CachedBlock,
    /// Room between head and trailers.
    write: Option<ResponseWrite<'c>>,
    apart: &'a mut Apart<'c>,
}

/// A reply that is not written whole.
#[derive(Default)]
pub(crate) enum Apart<'c> {
    #[default]
    Nothing,
    /// The message is to be compressed.
    Staged(Staged),
    /// Room behind the head, which is out.
    Room(DataWrite<'c>),
    /// The peer does not accept such a head.
    Refused(Status),
}

impl<'a, 'c> ReplyTarget<'a, 'c> {
    #[inline(always)]
    pub(super) fn new(
        connection: &'c mut Connection,
        reply: &'c mut Reply,
        head_block: &'c mut CachedBlock,
        trailers: &'c CachedBlock,
        apart: &'a mut Apart<'c>,
    ) -> Self {
        Self { connection: Some(connection), reply, head_block, trailers, write: None, apart }
    }

    /// Sends the reply; `encoded` is what its codec returned. To be called once.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED over the send limit or the peer's limit for metadata, INTERNAL when the codec failed; nothing of
    /// the message was sent.
    #[inline(always)]
    pub(crate) fn finish(&mut self, encoded: Result<(), EncodeError>) -> Result<(), Status> {
        if let (Some(write), Ok(())) = (&mut self.write, &encoded) {
            write.commit().map_err(not_sent)?;
            self.reply.is_ended = true;
            return Ok(());
        }
        let connection = self.connection.take();
        self.apart.finish(encoded.err(), connection, self.reply, self.head_block, self.trailers)
    }
}

impl EncodeTarget for ReplyTarget<'_, '_> {
    #[inline(always)]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        let limit = self.reply.request.max_send;
        if len > limit {
            return Err(EncodeError::too_large(len, limit));
        }
        if let Some(packing) = Packing::of(self.reply.plan().packer(), None)
            && self.connection.is_some()
            && (self.apart.is_begun() || packing.wants(len))
        {
            return self.apart.stage(len);
        }
        let Some(connection) = self.connection.take() else {
            return Err(self.apart.no_room(self.write.is_some()));
        };
        let framed = PREFIX_LEN + len;
        let (bytes, links) =
            match connection.write_response(self.reply.key, self.head_block, self.trailers, framed) {
                Ok(write) => self.write.insert(write).buffers(),
                Err(connection) => {
                    self.apart.open(connection, self.reply, self.head_block, framed)?.buffers()
                }
            };
        write_prefix(bytes, len as u32);
        Ok(EncodeBuf::new(bytes, links))
    }
}

impl<'c> Apart<'c> {
    /// As [`ReplyTarget::finish`]. `error`: why the codec gave up.
    #[inline(never)]
    fn finish(
        &mut self,
        error: Option<EncodeError>,
        connection: Option<&'c mut Connection>,
        reply: &mut Reply,
        head_block: &mut CachedBlock,
        trailers: &'c CachedBlock,
    ) -> Result<(), Status> {
        match (std::mem::take(self), error) {
            (Self::Refused(status), _) => Err(status),
            (_, Some(error)) => Err(error.into()),
            (Self::Room(write), None) => sent(write.commit()),
            (Self::Staged(staged), None) => match connection {
                Some(connection) => self.send_staged(staged, connection, reply, head_block, trailers),
                None => Ok(()),
            },
            // The codec has asked for nothing, or the stream is gone.
            (Self::Nothing, None) => connection.map_or(Ok(()), |_| Err(unasked().into())),
        }
    }

    fn send_staged(
        &mut self,
        staged: Staged,
        connection: &'c mut Connection,
        reply: &mut Reply,
        head_block: &mut CachedBlock,
        trailers: &'c CachedBlock,
    ) -> Result<(), Status> {
        let Some(packing) = Packing::of(reply.plan().packer(), None) else { return Ok(()) };
        let packed = staged.pack(packing)?;
        let len = packed.wire_len();
        match connection.write_response(reply.key, head_block, trailers, len) {
            Ok(mut write) => {
                let (bytes, links) = write.buffers();
                packed.write_to(bytes, links);
                write.commit().map_err(not_sent)?;
                reply.is_ended = true;
                return Ok(());
            }
            Err(connection) => {
                if let Ok(write) = self.open(connection, reply, head_block, len) {
                    let (bytes, links) = write.buffers();
                    packed.write_to(bytes, links);
                }
            }
        }
        match std::mem::take(self) {
            Self::Room(write) => sent(write.commit()),
            Self::Refused(status) => Err(status),
            // The stream is gone.
            Self::Nothing | Self::Staged(_) => Ok(()),
        }
    }

    /// Sends the head by itself; then makes room for the message.
    #[inline(never)]
    fn open(
        &mut self,
        connection: &'c mut Connection,
        reply: &mut Reply,
        head_block: &mut CachedBlock,
        len: usize,
    ) -> Result<&mut DataWrite<'c>, EncodeError> {
        let head = reply.plan().head;
        let sent = connection.send_cached_headers(reply.key, head_block, || head.fields(), false);
        if let Err(StreamError::HeaderListTooLarge { size, limit }) = sent {
            *self = Self::Refused(too_large("initial", size, limit));
            return Err(EncodeError::closed());
        }
        // The stream may be gone: the peer reset it, and the event that says so is on its way to the call.
        reply.head_sent = true;
        let write = connection.write_data(reply.key, len).map_err(|_| EncodeError::closed())?;
        *self = Self::Room(write);
        match self {
            Self::Room(write) => Ok(write),
            _ => Err(EncodeError::closed()),
        }
    }

    #[inline]
    fn is_begun(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Puts a message of `len` bytes down that is to be compressed.
    #[inline(never)]
    fn stage(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        if self.is_begun() {
            return Err(self.no_room(false));
        }
        *self = Self::Staged(Staged::new(len));
        match self {
            Self::Staged(staged) => Ok(staged.buffer()),
            _ => Err(EncodeError::closed()),
        }
    }

    /// Why a codec gets no room. `is_begun`: it has got some.
    #[cold]
    fn no_room(&self, is_begun: bool) -> EncodeError {
        if !is_begun && matches!(self, Self::Nothing | Self::Refused(_)) {
            return EncodeError::closed();
        }
        // wire-rules Z3
        EncodeError::codec("the codec asked for room twice")
    }
}

/// A stream that is gone takes no data; its call learns that by being dropped.
fn sent(committed: Result<(), StreamError>) -> Result<(), Status> {
    match committed {
        Ok(()) | Err(StreamError::Gone) => Ok(()),
        Err(error) => Err(not_sent(error)),
    }
}
