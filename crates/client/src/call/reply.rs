//! The one response of a call: waited for, then decoded.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use peregrine_core::message::PREFIX_LEN;
use peregrine_core::observe::{MessageObserver, MessageSize};
use peregrine_core::{Codec, DecodeLimits, MethodFormat, Response, Status, format};
use peregrine_http2::Head;

use crate::connection::{Body, CallId, Reply, SharedConnection, give_back, metadata, too_large_hint};

/// Waits for the reply of a call; cancels the call if dropped before.
pub(super) struct PendingReply {
    connection: Arc<SharedConnection>,
    id: CallId,
    /// The start of the call left this task's waker with the connection a moment ago.
    is_registered: bool,
    is_done: bool,
}

impl PendingReply {
    #[inline]
    pub(super) fn new(connection: Arc<SharedConnection>, id: CallId) -> Self {
        Self { connection, id, is_registered: true, is_done: false }
    }

    pub(super) fn connection(&self) -> &SharedConnection {
        &self.connection
    }

    /// As [`new`](Self::new), for whoever does not poll it where it was made but leaves that for the next time.
    #[inline]
    pub(super) fn polled_next_time(connection: Arc<SharedConnection>, id: CallId) -> Self {
        Self { connection, id, is_registered: false, is_done: false }
    }
}

impl Future for PendingReply {
    type Output = Reply;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        if std::mem::take(&mut self.is_registered) {
            return Poll::Pending;
        }
        let reply = self.connection.poll_reply(self.id, cx);
        self.is_done = reply.is_ready();
        reply
    }
}

impl Drop for PendingReply {
    #[inline]
    fn drop(&mut self) {
        if !self.is_done {
            self.connection.cancel(self.id);
        }
    }
}

/// The response of a successful call; `observer` is told of its message.
#[inline]
pub(super) fn decode<C: Codec<B>, B>(
    format: Option<&Arc<MethodFormat>>,
    observer: Option<&MessageObserver>,
    mut body: Box<Body>,
    head: Option<Arc<Head>>,
    trailers: Option<Arc<Head>>,
) -> Result<Response<B>, Status> {
    let transcode = format.map(|format| &*format.response);
    let (received, encoding) = (body.received(), body.encoding());
    let payload = body.finish().map_err(too_large_hint)?;
    let compressed = payload.was_compressed();
    if let Some(observer) = observer {
        let wire_len = received.saturating_sub(PREFIX_LEN);
        observer.received(MessageSize::received(payload.len(), wire_len, compressed.then_some(encoding)));
    }
    let message = format::decode::<C, B>(payload, transcode, &DecodeLimits::default())?;
    give_back(body);
    let mut response = Response::new(message);
    if compressed {
        response.set_compressed(true);
    }
    if let Some(head) = head {
        *response.metadata_mut() = metadata(&head)?;
    }
    if let Some(trailers) = trailers {
        *response.trailers_mut() = metadata(&trailers)?;
    }
    Ok(response)
}
