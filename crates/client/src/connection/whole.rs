//! Calls that are whole: a request written in one go, a response that came in one piece. Most are.
//!
//! Both do in one step what `message_target`, or `response`, do step by step, and leave whatever is not as usual to
//! those.

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use peregrine_core::codec::{EncodeError, EncodeTarget};
use peregrine_core::compression::{EncodingSet, Packer};
use peregrine_core::message::{EncodeBuf, Encoding, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix};
use peregrine_core::{Code, Codec, Format};
use peregrine_http2::{CachedBlock, Connection, ConnectionError, Head, RequestWrite, WholeResponse};

use super::call::{SingleSink, Sink};
use super::effects::Effects;
use super::response::Stage;
use super::response_head::ResponseHead;
use super::state::State;
use super::{CallId, MessageTarget, NewCall, NewSink, Outgoing};

/// The request of a unary call.
pub(crate) struct WholeRequest<'a, C, A> {
    message: &'a A,
    /// Longest response, in bytes.
    max_response: usize,
    /// How the message is compressed if that is worth a try: it goes another way then.
    packer: Option<&'a Packer>,
    codec: PhantomData<fn() -> C>,
}

impl<'a, C, A> WholeRequest<'a, C, A> {
    #[inline]
    pub(crate) fn new(message: &'a A, max_response: usize, packer: Option<&'a Packer>) -> Self {
        Self { message, max_response, packer, codec: PhantomData }
    }

    /// Whether the message leaves as its codec writes it, whatever its length.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.packer.is_none()
    }
}

/// The way step by step, for messages that are not compressed.
impl<C: Codec<A>, A> Outgoing for WholeRequest<'_, C, A> {
    fn write(&mut self, target: &mut MessageTarget<'_>) -> Result<(), EncodeError> {
        C::encode(self.message, target)
    }

    fn sink(&mut self) -> NewSink {
        NewSink::Single { max_response: self.max_response }
    }
}

impl State {
    /// Starts a call whose request can be written at once, with a head that is encoded already. `None` if that is not
    /// so, or the message is to be compressed, or cannot be encoded: nothing has been done then.
    #[inline]
    pub(super) fn start_whole<C: Codec<A>, A>(
        &mut self,
        call: &NewCall<'_>,
        request: &WholeRequest<'_, C, A>,
        waker: &Waker,
    ) -> Option<CallId> {
        let stream = {
            let block = call.head.recurring_block(&mut self.blocks)?;
            let engine = Some(&mut self.engine);
            let limit = call.max_request.min(MAX_MESSAGE_LEN);
            let mut target = WholeTarget { engine, block, limit, packer: request.packer, write: None };
            C::encode(request.message, &mut target).ok()?;
            target.write.as_mut()?.commit()?
        };
        Some(self.add_call(stream, call, NewSink::Single { max_response: request.max_response }, waker))
    }

    /// Takes the response that lies whole at the front of `input`, if it is a usual success for a caller that waits for
    /// all of it. Answers how many octets that were; 0 if it is not so.
    ///
    /// # Errors
    /// The engine's: the connection is over.
    #[inline]
    pub(super) fn take_whole(
        &mut self,
        input: &[u8],
        now: Instant,
        effects: &mut Effects,
    ) -> Result<usize, ConnectionError> {
        let Some(response) = self.engine.peek_response(input) else { return Ok(0) };
        let WholeResponse { stream, data, len, .. } = response;
        let Some((_, call)) = self.calls.of_stream_mut(stream) else { return Ok(0) };
        let (Stage::Head(format), Sink::Single(single)) = (&call.stage, &mut call.sink) else { return Ok(0) };
        let SingleSink { caller, body: Some(body), head, result: result @ None } = single else {
            return Ok(0);
        };
        let usual = match &mut self.usual {
            Some(usual) if usual.is(&response, *format) => usual,
            usual => match Usual::of(&response, *format) {
                Some(new) => usual.insert(new),
                None => return Ok(0),
            },
        };
        if let Some(accepts) = usual.accepts {
            self.packers.learn(accepts);
        }
        // A message that breaks a rule breaks it again when it comes the other way.
        if !body.take_whole(data) {
            return Ok(0);
        }
        *head = usual.has_metadata.0.then(|| Arc::clone(&usual.head));
        *result = Some(Ok(usual.has_metadata.1.then(|| Arc::clone(&usual.trailers))));
        effects.wake(caller.take());
        effects.wake(call.pump.take());
        self.has_answered = true;
        self.calls.detach(stream);
        self.engine.accept_response(stream, data.len(), now)?;
        effects.wake(self.queue.call_next());
        Ok(len)
    }
}

/// Head and trailers of the last success without compression: most responses of a connection have the same, and the memo hands out
/// the same for the same.
#[derive(Debug)]
pub(super) struct Usual {
    head: Arc<Head>,
    trailers: Arc<Head>,
    /// What was asked for.
    format: Format,
    /// What the head says of encodings.
    accepts: Option<EncodingSet>,
    /// Of the user's, in the head and in the trailers.
    has_metadata: (bool, bool),
}

impl Usual {
    /// Those of `response`, if it is such a success in the `format` that was asked for.
    fn of(response: &WholeResponse<'_, '_>, format: Format) -> Option<Self> {
        let (head, trailers) = (ResponseHead::of(response.head), ResponseHead::of(response.trailers));
        let is_plain = head.is_grpc
            && head.format == Some(format)
            && head.encoding == Ok(Encoding::Identity)
            && trailers.code == Some(Code::Ok);
        let accepts = head.accepts;
        let has_metadata = (head.has_metadata(), trailers.has_metadata());
        let (head, trailers) = (Arc::clone(response.head), Arc::clone(response.trailers));
        is_plain.then_some(Self { head, trailers, format, accepts, has_metadata })
    }

    #[inline]
    fn is(&self, response: &WholeResponse<'_, '_>, format: Format) -> bool {
        Arc::ptr_eq(&self.head, response.head)
            && Arc::ptr_eq(&self.trailers, response.trailers)
            && self.format == format
    }
}

/// Where the codec writes a request that goes out whole.
struct WholeTarget<'c> {
    /// `None` as soon as the write has it.
    engine: Option<&'c mut Connection>,
    block: &'c CachedBlock,
    /// Longest message, in bytes.
    limit: usize,
    packer: Option<&'c Packer>,
    write: Option<RequestWrite<'c>>,
}

impl EncodeTarget for WholeTarget<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        // wire-rules 44, T1
        if len > self.limit || self.packer.is_some_and(|packer| packer.wants(len)) {
            return Err(EncodeError::closed());
        }
        let write = self.engine.take().and_then(|engine| engine.open_whole(self.block, PREFIX_LEN + len));
        let write = self.write.insert(write.ok_or_else(EncodeError::closed)?);
        let (bytes, links) = write.buffers();
        // Bounded by MAX_MESSAGE_LEN above.
        write_prefix(bytes, len as u32);
        Ok(EncodeBuf::new(bytes, links))
    }
}
