//! Where a codec writes a request message: straight into the connection's output.
//!
//! Made under the connection's lock, for the only message of a call, or to open the stream of one whose messages come
//! later. A stream is opened when the size of the message is known to be within the limit: a call that fails here sends
//! nothing.

use std::collections::VecDeque;

use bytes::Bytes;
use peregrine_core::codec::{EncodeError, EncodeErrorKind, EncodeTarget};
use peregrine_core::compression::{Packed, Written};
use peregrine_core::message::{EncodeBuf, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix};
use peregrine_core::{Code, Status};
use peregrine_http2::{Connection, DataWrite, OpenError, StreamError, StreamKey};

use super::request_head::{HeadBlocks, RequestHead};
use crate::call_error::hinted;

/// The [`EncodeTarget`] of requests that are one message. Dropped before it is finished, by a codec that panics, it resets the stream that
/// it has opened.
#[derive(Debug)]
pub(crate) struct MessageTarget<'c> {
    /// `None` as soon as the write has it.
    engine: Option<&'c mut Connection>,
    /// What opens the stream, once the message's size is known.
    opening: Option<(&'c mut HeadBlocks, &'c RequestHead<'c>)>,
    /// The stream, if it was opened for messages that come later: it is no fault that nothing was written.
    stream: Option<StreamKey>,
    /// The prefix is written, the codec writes behind it.
    write: Option<DataWrite<'c>>,
    /// The engine would not.
    refusal: Option<Refusal>,
    limit: usize,
    /// The message, once the codec has said how long it is.
    written: Written,
}

#[derive(Debug)]
enum Refusal {
    Open(OpenError),
    Stream(StreamError),
}

/// Why a message was not written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// The connection takes no new streams: use another one.
    Gone,
    /// The call fails with this status. If its stream is open already, it has to be reset.
    Failed(Status),
}

impl<'c> MessageTarget<'c> {
    /// Opens a stream with `head` first.
    #[inline]
    pub(super) fn opening(
        engine: &'c mut Connection,
        blocks: &'c mut HeadBlocks,
        head: &'c RequestHead<'c>,
        limit: usize,
    ) -> Self {
        Self {
            engine: Some(engine),
            opening: Some((blocks, head)),
            stream: None,
            write: None,
            refusal: None,
            limit,
            written: Written::default(),
        }
    }

    /// Opens the stream without a message, for calls whose messages come later.
    ///
    /// # Errors
    /// The engine refused; [`Self::finish`] tells why.
    pub(crate) fn open(&mut self) -> Result<(), EncodeError> {
        if let (Some(engine), Some((blocks, head))) = (&mut self.engine, self.opening.take()) {
            match head.open(engine, blocks) {
                Ok(stream) => self.stream = Some(stream),
                Err(error) => return Err(self.refuse(Refusal::Open(error))),
            }
        }
        Ok(())
    }

    /// Writes a message that was made ready before.
    ///
    /// # Errors
    /// The engine refused; [`Self::finish`] tells why.
    #[cold]
    pub(crate) fn put(&mut self, packed: Packed) -> Result<(), EncodeError> {
        self.written = packed.written();
        let (bytes, links) = self.room(packed.wire_len())?;
        packed.write_to(bytes, links);
        Ok(())
    }

    /// Commits what the codec wrote; `encoded` is what it returned. Answers which stream was written to, and with what
    /// message, unless that comes later.
    #[inline]
    pub(super) fn finish(
        self,
        encoded: Result<(), EncodeError>,
    ) -> Result<(StreamKey, Option<Written>), WriteError> {
        match self.write {
            Some(write) if encoded.is_ok() => {
                let stream = write.stream();
                write.commit().map_err(Refusal::Stream)?;
                Ok((stream, Some(self.written)))
            }
            Some(_) | None => self.nothing_written(encoded),
        }
    }

    /// What there is to say if there is nothing to commit.
    #[cold]
    fn nothing_written(
        self,
        encoded: Result<(), EncodeError>,
    ) -> Result<(StreamKey, Option<Written>), WriteError> {
        match (self.refusal, encoded, self.stream) {
            (Some(refusal), _, _) => Err(refusal.into()),
            (None, Err(error), _) => Err(WriteError::Failed(not_encoded(error))),
            (None, Ok(()), Some(stream)) => Ok((stream, None)),
            (None, Ok(()), None) => Err(no_message()),
        }
    }
}

/// The codec broke its contract.
#[cold]
fn no_message() -> WriteError {
    WriteError::Failed(Status::internal("the codec wrote no message and reported no error"))
}

/// The status of a message that cannot be sent.
#[cold]
pub(crate) fn not_encoded(error: EncodeError) -> Status {
    match error.kind() {
        EncodeErrorKind::TooLarge { .. } => hinted(error.into(), "allow more with Request::max_request_size"),
        _ => error.into(),
    }
}

/// The octets that are copied, and those that are linked.
type Buffers<'b> = (&'b mut Vec<u8>, &'b mut VecDeque<(usize, Bytes)>);

impl MessageTarget<'_> {
    /// Opens the stream and makes room for prefix and message, which is all of it.
    #[inline]
    fn room(&mut self, len: usize) -> Result<Buffers<'_>, EncodeError> {
        let Some(engine) = self.engine.take() else {
            return Err(EncodeError::codec("the codec asked for room twice"));
        };
        let Some((blocks, head)) = self.opening.take() else { return Err(EncodeError::closed()) };
        let stream = match head.open(engine, blocks) {
            Ok(stream) => stream,
            Err(error) => return Err(self.refuse(Refusal::Open(error))),
        };
        match engine.write_only_data(stream, len) {
            Ok(write) => Ok(self.write.insert(write).buffers()),
            Err(error) => Err(self.refuse(Refusal::Stream(error))),
        }
    }

    #[cold]
    fn refuse(&mut self, refusal: Refusal) -> EncodeError {
        self.refusal = Some(refusal);
        EncodeError::closed()
    }
}

impl EncodeTarget for MessageTarget<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        let limit = self.limit.min(MAX_MESSAGE_LEN);
        if len > limit {
            // wire-rules 44
            return Err(EncodeError::too_large(len, limit));
        }
        self.written.raw_len = len;
        let (bytes, links) = self.room(PREFIX_LEN + len)?;
        // Bounded by MAX_MESSAGE_LEN above.
        write_prefix(bytes, len as u32);
        Ok(EncodeBuf::new(bytes, links))
    }
}

impl From<Refusal> for WriteError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Open(OpenError::GoingAway | OpenError::IdsExhausted) => Self::Gone,
            // wire-rules 27 as settled: both numbers, locally, no retry.
            Refusal::Open(error @ OpenError::HeaderListTooLarge { .. }) => {
                let status = Status::resource_exhausted(error.to_string()).with_source(error);
                Self::Failed(hinted(status, "send less metadata, or let the server allow more"))
            }
            Refusal::Open(error) => Self::Failed(Status::internal(error.to_string()).with_source(error)),
            Refusal::Stream(StreamError::LengthMismatch { announced, written }) => {
                // wire-rules Z3; the prefix is ours.
                let announced = announced.saturating_sub(PREFIX_LEN);
                let error = EncodeError::size_mismatch(announced, written.saturating_sub(PREFIX_LEN));
                Self::Failed(error.into())
            }
            Refusal::Stream(error) => {
                let error = Status::new(Code::Cancelled, "the call has ended").with_source(error);
                Self::Failed(error)
            }
        }
    }
}
