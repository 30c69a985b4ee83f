//! Incoming messages of a streaming call.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::call::SharedInbox;
use crate::codec::{Codec, DecodeError, DecodeLimits, Payload};
use crate::metadata::MetadataMap;
use crate::status::Status;

/// How a [`Streaming`] decodes: a codec's `decode` as a plain function, so that
/// the codec does not show in the type.
pub type DecodeFn<T> = fn(Payload<'_>, &DecodeLimits) -> Result<T, DecodeError>;

/// Messages as they arrive.
///
/// Read with [`message`](Self::message) or as a [`Stream`]. Dropped before its
/// end it cancels what is left of the call.
pub struct Streaming<T> {
    inbox: Arc<SharedInbox>,
    decode: DecodeFn<T>,
    limits: DecodeLimits,
}

impl<T> Streaming<T> {
    /// Reads `inbox` with codec `C`.
    pub fn new<C: Codec<T>>(inbox: Arc<SharedInbox>, limits: DecodeLimits) -> Self {
        Self { inbox, decode: C::decode, limits }
    }

    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// The status that ended the call; the stream is over then.
    pub async fn message(&mut self) -> Result<Option<T>, Status> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await.transpose()
    }

    /// [`message`](Self::message) as a poll function.
    pub fn poll_message(&mut self, _cx: &mut Context<'_>) -> Poll<Option<Result<T, Status>>> {
        let _ = (&self.inbox, self.decode, self.limits);
        todo!()
    }

    /// On a client: the initial metadata, as soon as the peer's headers are here.
    ///
    /// # Errors
    /// The call failed before any headers; [`message`](Self::message) will say the same.
    pub async fn headers(&mut self) -> Result<&MetadataMap, Status> {
        todo!()
    }

    /// On a client: the trailing metadata, once the stream has ended, be it in
    /// an error (wire-rules 97).
    pub fn trailers(&self) -> Option<&MetadataMap> {
        todo!()
    }
}

impl<T> Stream for Streaming<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_message(cx)
    }
}

impl<T> fmt::Debug for Streaming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}
