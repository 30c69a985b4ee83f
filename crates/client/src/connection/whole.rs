//! Calls that are whole: a request written in one go, a response that came in one piece. Most are.
//!
//! Both do in one step what `message_target`, or `response`, do step by step, and leave whatever is not as usual to
//! those.

use std::marker::PhantomData;
use std::task::Waker;
use std::time::Instant;

use peregrine_core::codec::{EncodeError, EncodeTarget};
use peregrine_core::message::{EncodeBuf, Encoding, MAX_MESSAGE_LEN, PREFIX_LEN, write_prefix};
use peregrine_core::{Code, Codec};
use peregrine_http2::{CachedBlock, Connection, ConnectionError, RequestWrite, WholeResponse};

use super::call::{Call, Sink};
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
    codec: PhantomData<fn() -> C>,
}

impl<'a, C, A> WholeRequest<'a, C, A> {
    #[inline]
    pub(crate) fn new(message: &'a A, max_response: usize) -> Self {
        Self { message, max_response, codec: PhantomData }
    }
}

/// The way step by step.
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
    /// so, or the message cannot be encoded: nothing has been done then.
    #[inline]
    pub(super) fn start_whole<C: Codec<A>, A>(
        &mut self,
        call: &NewCall<'_>,
        request: &WholeRequest<'_, C, A>,
        waker: &Waker,
    ) -> Option<CallId> {
        if call.packer.is_some() {
            return None;
        }
        let stream = {
            let block = call.head.recurring_block(&mut self.blocks)?;
            let engine = Some(&mut self.engine);
            let mut target = WholeTarget { engine, block, limit: call.max_request, write: None };
            C::encode(request.message, &mut target).ok()?;
            target.write?.commit()?
        };
        Some(self.add_call(stream, call, NewSink::Single { max_response: request.max_response }, waker))
    }

    /// Takes the response that lies whole at the front of `input`, if it is a plain success for a caller that waits for
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
        let head = ResponseHead::of(response.head);
        let trailers = ResponseHead::of(response.trailers);
        if !call.take_whole(head, trailers, data, effects) {
            return Ok(0);
        }
        if let Some(accepts) = head.accepts {
            self.packers.learn(accepts);
        }
        self.has_answered = true;
        self.calls.detach(stream);
        self.engine.accept_response(stream, data.len(), now)?;
        effects.wake(self.queue.call_next());
        Ok(len)
    }
}

impl Call {
    /// Takes a plain success, if it is one.
    #[inline]
    fn take_whole(
        &mut self,
        head: &ResponseHead,
        trailers: &ResponseHead,
        data: &[u8],
        effects: &mut Effects,
    ) -> bool {
        let (Stage::Head(format), Sink::Single(single)) = (&self.stage, &mut self.sink) else { return false };
        let is_plain = head.is_grpc
            && head.format == Some(*format)
            && head.encoding == Ok(Encoding::Identity)
            && !head.has_metadata()
            && trailers.code == Some(Code::Ok)
            && !trailers.has_metadata();
        // A message that breaks a rule breaks it again when it comes the other way.
        if !is_plain || single.body.push(data).is_err() {
            return false;
        }
        single.result = Some(Ok(None));
        effects.wake(single.caller.take());
        effects.wake(self.pump.take());
        true
    }
}

/// Where the codec writes a request that goes out whole.
struct WholeTarget<'c> {
    /// `None` as soon as the write has it.
    engine: Option<&'c mut Connection>,
    block: &'c CachedBlock,
    limit: usize,
    write: Option<RequestWrite<'c>>,
}

impl EncodeTarget for WholeTarget<'_> {
    #[inline]
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        // wire-rules 44
        if len > self.limit.min(MAX_MESSAGE_LEN) {
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
