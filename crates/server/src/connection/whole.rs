//! The short way in of a call whose request lies in the input as a whole, with a head that has come before: what most
//! calls of a busy client are. What it does is what `events` does with the request's frames (wire-rules M3); whatever is
//! not as usual it leaves to that.

use std::sync::Arc;
use std::time::Instant;

use peregrine_core::message::single_message;

use super::Serving;
use crate::call::request_head::RequestHead;

impl Serving {
    /// Takes the request at the front of `input`, and runs its call. Answers how many bytes it took, 0 for none.
    #[inline]
    pub(super) fn take_request(&mut self, input: &[u8], now: Instant) -> usize {
        let Some(whole) = self.wire.as_ref().and_then(|wire| wire.connection.peek_request(input)) else {
            return 0;
        };
        let request = match RequestHead::of(whole.head, &self.shared.router, &self.shared.options.secure) {
            Ok(request) if !request.client_streaming && !self.has_orphans() => Arc::clone(request),
            _ => return 0,
        };
        let (stream, data, len) = (whole.stream, whole.data, whole.len);
        let key = self.wire().connection.accept_request(stream, data.len(), now);
        let (encoding, max_receive) = (request.encoding, request.max_receive);
        let Some(call) = self.begin_call(key, request, now) else { return len };
        if self.wire().connection.is_congested() || self.shared.observes_messages {
            self.start_unary(call, data);
            return len;
        }
        match single_message(data, encoding, max_receive) {
            Ok(message) => self.start_now(call, message, None),
            Err(status) => self.refuse_body(call, data, status),
        }
        len
    }
}
