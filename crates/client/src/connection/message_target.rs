//! Where a codec writes a request message: straight into the connection's output.
//!
//! Made under the connection's lock, for one message. For the only message of a call it opens the stream too, but
//! not before the size of the message is known to be within the limit: a call that fails here sends nothing.

use peregrine_core::codec::{EncodeError, EncodeErrorKind, EncodeTarget};
use peregrine_core::compression::{Packing, Staged};
use peregrine_core::message::{EncodeBuf, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix};
use peregrine_core::{Code, Status};
use peregrine_http2::{Connection, DataWrite, OpenError, StreamError, StreamKey};

use super::request_head::{HeadBlocks, RequestHead};
use crate::call_error::hinted;

/// The [`EncodeTarget`] of the client.
#[derive(Debug)]
pub(crate) struct MessageTarget<'c> {
    stage: Stage<'c>,
    /// The stream, once it is open.
    stream: Option<StreamKey>,
    /// Whether it is no fault that nothing was written: a call that is opened for messages that come later.
    may_be_none: bool,
    limit: usize,
    /// Bytes of the message, once the codec has said so.
    len: usize,
    packing: Option<Packing<'c>>,
    /// The message, if it is to be compressed. The stage stays as it is meanwhile.
    staged: Option<Staged>,
}

#[derive(Debug)]
enum Stage<'c> {
    /// The stream is opened when the message's size is known.
    Unopened { engine: &'c mut Connection, blocks: &'c mut HeadBlocks, head: &'c RequestHead<'c> },
    /// Nothing of the message is written yet.
    Ready { engine: &'c mut Connection, stream: StreamKey },
    /// The prefix is written, the codec writes behind it.
    Writing(DataWrite<'c>),
    /// The engine would not.
    Refused(Refusal),
    /// A codec went on after an error, or called twice.
    Spent,
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
    pub(super) fn opening(
        engine: &'c mut Connection,
        blocks: &'c mut HeadBlocks,
        head: &'c RequestHead<'c>,
        limit: usize,
        packing: Option<Packing<'c>>,
    ) -> Self {
        let stage = Stage::Unopened { engine, blocks, head };
        Self { stage, stream: None, may_be_none: true, limit, len: 0, packing, staged: None }
    }

    /// Writes to a stream that is open.
    pub(super) fn on_stream(
        engine: &'c mut Connection,
        stream: StreamKey,
        limit: usize,
        packing: Option<Packing<'c>>,
    ) -> Self {
        let stage = Stage::Ready { engine, stream };
        Self { stage, stream: Some(stream), may_be_none: false, limit, len: 0, packing, staged: None }
    }

    /// Opens the stream without a message, for calls whose messages come later.
    ///
    /// # Errors
    /// The engine refused; [`Self::finish`] tells why.
    pub(crate) fn open(&mut self) -> Result<(), EncodeError> {
        match std::mem::replace(&mut self.stage, Stage::Spent) {
            Stage::Unopened { engine, blocks, head } => match head.open(engine, blocks) {
                Ok(stream) => {
                    self.stream = Some(stream);
                    self.stage = Stage::Ready { engine, stream };
                    Ok(())
                }
                Err(error) => {
                    self.stage = Stage::Refused(Refusal::Open(error));
                    Err(EncodeError::closed())
                }
            },
            stage => {
                self.stage = stage;
                Ok(())
            }
        }
    }

    /// Bytes of the message that the codec has begun.
    pub(crate) fn message_len(&self) -> usize {
        self.len
    }

    /// Commits what the codec wrote; `encoded` is what it returned. The first value is the stream, if it is open.
    pub(super) fn finish(
        mut self,
        encoded: Result<(), EncodeError>,
    ) -> (Option<StreamKey>, Result<(), WriteError>) {
        let encoded = match (self.staged.take(), self.packing, encoded) {
            (Some(staged), Some(packing), Ok(())) => self.write_packed(staged, packing),
            (_, _, encoded) => encoded,
        };
        let result = match (self.stage, encoded) {
            (Stage::Refused(refusal), _) => Err(refusal.into()),
            (_, Err(error)) => Err(WriteError::Failed(not_encoded(error))),
            (Stage::Writing(write), Ok(())) => write.commit().map_err(|error| Refusal::Stream(error).into()),
            // A call whose messages come later.
            (Stage::Ready { .. }, Ok(())) if self.may_be_none => Ok(()),
            (Stage::Unopened { .. } | Stage::Ready { .. } | Stage::Spent, Ok(())) => {
                Err(WriteError::Failed(Status::internal("the codec wrote no message and reported no error")))
            }
        };
        (self.stream, result)
    }
}

/// The status of a message that cannot be sent.
#[cold]
fn not_encoded(error: EncodeError) -> Status {
    match error.kind() {
        EncodeErrorKind::TooLarge { .. } => hinted(error.into(), "allow more with Request::max_request_size"),
        _ => error.into(),
    }
}

impl<'c> MessageTarget<'c> {
    /// Compresses what the codec wrote, and sends it.
    #[cold]
    fn write_packed(&mut self, staged: Staged, packing: Packing<'_>) -> Result<(), EncodeError> {
        let packed = staged.pack(packing)?;
        let (bytes, links) = self.room(packed.wire_len())?.buffers();
        packed.write_to(bytes, links);
        Ok(())
    }

    /// Opens the stream if that is still to be done, and makes room for prefix and message.
    fn room(&mut self, len: usize) -> Result<&mut DataWrite<'c>, EncodeError> {
        self.open()?;
        match std::mem::replace(&mut self.stage, Stage::Spent) {
            Stage::Ready { engine, stream } => match engine.write_data(stream, len) {
                Ok(write) => self.stage = Stage::Writing(write),
                Err(error) => {
                    self.stage = Stage::Refused(Refusal::Stream(error));
                    return Err(EncodeError::closed());
                }
            },
            Stage::Writing(_) => return Err(EncodeError::codec("the codec asked for room twice")),
            stage => {
                self.stage = stage;
                return Err(EncodeError::closed());
            }
        }
        let Stage::Writing(write) = &mut self.stage else { return Err(EncodeError::closed()) };
        Ok(write)
    }
}

impl EncodeTarget for MessageTarget<'_> {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        let limit = self.limit.min(MAX_MESSAGE_LEN);
        if len > limit {
            // wire-rules 44
            return Err(EncodeError::too_large(len, limit));
        }
        self.len = len;
        if self.staged.is_some() {
            return Err(EncodeError::codec("the codec asked for room twice"));
        }
        if let Some(packing) = self.packing
            && packing.wants(len)
        {
            return Ok(self.staged.insert(Staged::new(len)).buffer());
        }
        let (bytes, links) = self.room(PREFIX_LEN + len)?.buffers();
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
