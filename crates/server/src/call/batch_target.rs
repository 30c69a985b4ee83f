//! Where a codec writes a message that joins the batch before it: straight behind it, in the same DATA frame.

use peregrine_core::message::{EncodeBuf, PREFIX_LEN, write_prefix};
use peregrine_core::{EncodeError, EncodeTarget, Status};
use peregrine_http2::{Connection, DataAppend, StreamError, StreamKey};

use super::wire::unasked;

/// The [`EncodeTarget`] of a stream's messages behind its first one (wire-rules B1, Z2). It takes what fits into the
/// frame at the end of the output and turns everything else away, for [`WireTarget`](super::wire) to take. Without a
/// finish nothing of the message is left (B3).
pub(super) struct BatchTarget<'c> {
    limit: usize,
    state: State<'c>,
}

enum State<'c> {
    Idle(&'c mut Connection, StreamKey),
    Begun(DataAppend<'c>),
    /// The message does not fit.
    TurnedAway,
    Failed,
}

impl<'c> BatchTarget<'c> {
    #[inline]
    pub(super) fn new(connection: &'c mut Connection, key: StreamKey, limit: usize) -> Self {
        Self { limit, state: State::Idle(connection, key) }
    }

    /// Sends the message; `encoded` is what its codec returned. Answers whether it did: if not, the message has to go
    /// another way.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED over the send limit, INTERNAL when the codec failed; nothing of the message was sent.
    #[inline]
    pub(super) fn finish(self, encoded: Result<(), EncodeError>) -> Result<bool, Status> {
        match (self.state, encoded) {
            (State::Begun(append), Ok(())) => match append.commit() {
                Ok(()) => Ok(true),
                Err(error) => Err(not_sent(error)),
            },
            (State::TurnedAway, _) => Ok(false),
            (_, Err(error)) => Err(error.into()),
            (State::Idle(..) | State::Failed, Ok(())) => Err(unasked().into()),
        }
    }
}

impl EncodeTarget for BatchTarget<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        if len > self.limit {
            return Err(EncodeError::too_large(len, self.limit));
        }
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Idle(connection, key) => match connection.append_data(key, PREFIX_LEN + len) {
                Some(append) => self.state = State::Begun(append),
                None => self.state = State::TurnedAway,
            },
            // wire-rules Z3
            State::Begun(_) | State::Failed => {
                return Err(EncodeError::codec("the codec asked for room twice"));
            }
            State::TurnedAway => self.state = State::TurnedAway,
        }
        let State::Begun(append) = &mut self.state else { return Err(EncodeError::closed()) };
        let (bytes, links) = append.buffers();
        write_prefix(bytes, len as u32);
        Ok(EncodeBuf::new(bytes, links))
    }
}

#[cold]
fn not_sent(error: StreamError) -> Status {
    Status::internal(format!("message not sent: {error}"))
}
