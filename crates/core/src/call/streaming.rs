//! Incoming messages of a streaming call.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::call::SharedInbox;
use crate::call::inbox::{End, Fetched};
use crate::call::watch::StreamWatch;
use crate::codec::{Codec, DecodeError, DecodeLimits, Payload};
use crate::format::{Transcode, rewritten};
use crate::message::{Deframer, PREFIX_LEN, truncated};
use crate::metadata::MetadataMap;
use crate::observe::MessageSize;
use crate::status::Status;

/// How a [`Streaming`] decodes: a codec's `decode` as a plain function, so that
/// the codec does not show in the type.
pub type DecodeFn<T> = fn(Payload<'_>, &DecodeLimits) -> Result<T, DecodeError>;

/// Messages as they arrive.
///
/// Read with [`message`](Self::message) or as a [`Stream`]. All messages that
/// arrived come before the status the call ended with. Dropped before its end,
/// it cancels what is left of the call.
///
/// Not reading holds the peer back: it may send what the stream's receive
/// window allows, and no more.
pub struct Streaming<T> {
    inbox: Arc<SharedInbox>,
    decode: DecodeFn<T>,
    /// Set if the messages are in a format that is not the codec's own.
    transcode: Option<Arc<dyn Transcode>>,
    limits: DecodeLimits,
    /// Bytes fetched from the inbox and not decoded yet.
    local: Deframer,
    /// Bytes of the messages decoded, and how many of them the inbox knows of.
    taken: u64,
    reported: u64,
    /// Of the message decoded last.
    compressed: bool,
    headers: Option<MetadataMap>,
    /// `Some` once the stream has ended.
    trailers: Option<MetadataMap>,
    /// Who looks on. The lock is never taken: it only lets hooks that must not be shared live here.
    watch: Option<Box<Mutex<Watch<T>>>>,
}

/// A [`StreamWatch`] of messages of a type, or, with none set, that of the inbox's observer alone.
struct Watch<T> {
    watch: StreamWatch,
    show: Option<ShowFn<T>>,
}

/// Shows a message, of so many bytes, to those who look on.
type ShowFn<T> = fn(&mut StreamWatch, &T, usize) -> Result<(), Status>;

impl<T> Streaming<T> {
    /// Reads `inbox` with codec `C`.
    pub fn new<C: Codec<T>>(inbox: Arc<SharedInbox>, limits: DecodeLimits) -> Self {
        Self::with_decode(inbox, C::decode, limits)
    }

    /// Reads `inbox` with a function.
    pub fn with_decode(inbox: Arc<SharedInbox>, decode: DecodeFn<T>, limits: DecodeLimits) -> Self {
        let local = Deframer::new(inbox.config().encoding, inbox.config().max_message);
        let observed = || Box::new(Mutex::new(Watch { watch: StreamWatch::default(), show: None }));
        let watch = inbox.observer().map(|_| observed());
        Self {
            inbox,
            decode,
            transcode: None,
            limits,
            local,
            taken: 0,
            reported: 0,
            compressed: false,
            headers: None,
            trailers: None,
            watch,
        }
    }

    /// The same stream, whose messages are rewritten before the codec reads them.
    #[must_use]
    pub fn transcoded(mut self, transcode: Option<Arc<dyn Transcode>>) -> Self {
        self.transcode = transcode;
        self
    }

    /// Has somebody look on; done by the server and the client.
    pub fn set_watch(&mut self, watch: StreamWatch)
    where
        T: 'static,
    {
        if watch.is_needed() {
            self.watch =
                Some(Box::new(Mutex::new(Watch { watch, show: Some(StreamWatch::on_message::<T>) })));
        }
    }

    /// The next message; `None` at the end.
    ///
    /// Safe to drop while it waits: no message is lost.
    ///
    /// # Errors
    /// The status that ended the call; the stream is over then.
    pub async fn message(&mut self) -> Result<Option<T>, Status> {
        poll_fn(|cx| match self.take_small() {
            Some(taken) => Poll::Ready(taken.map(Some)),
            None => self.poll_any(cx).map(Option::transpose),
        })
        .await
    }

    /// [`message`](Self::message) as a poll function.
    #[inline]
    pub fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Status>>> {
        match self.take_small() {
            Some(taken) => Poll::Ready(Some(taken)),
            None => self.poll_any(cx),
        }
    }

    /// Decodes a message that was fetched before, is small, and that nothing is done to and nobody looks at. `None` if
    /// [`poll_any`](Self::poll_any) has to look what there is.
    #[inline]
    fn take_small(&mut self) -> Option<Result<T, Status>> {
        if self.watch.is_some() || self.transcode.is_some() {
            return None;
        }
        let payload = Payload::Borrowed(self.local.next_small()?);
        let decoded = (self.decode)(payload, &self.limits);
        self.compressed = false;
        self.taken += self.local.last_len() as u64;
        Some(match decoded {
            Ok(message) => {
                self.report_taken();
                Ok(message)
            }
            Err(error) => Err(self.on_broken(error.into())),
        })
    }

    #[inline(never)]
    fn poll_any(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Status>>> {
        if self.trailers.is_some() {
            return Poll::Ready(None);
        }
        if let Some(watch) = self.watch()
            && let Poll::Ready(status) = watch.watch.poll_bound(cx)
        {
            return Poll::Ready(Some(Err(self.on_local_failure(status))));
        }
        if !self.local.unread().is_empty()
            && let Some(outcome) = self.decode_next()
        {
            return Poll::Ready(Some(outcome));
        }
        self.reported = self.taken;
        match self.inbox.fetch(&mut self.local, self.taken, cx) {
            Fetched::More => Poll::Ready(self.take_small().or_else(|| self.decode_next())),
            Fetched::Waiting => Poll::Pending,
            Fetched::Ended(end) => Poll::Ready(self.on_end(end)),
        }
    }

    /// Whether the message that was read last came compressed.
    // wire-rules 31
    pub fn was_compressed(&self) -> bool {
        self.compressed
    }

    /// On a client: the initial metadata, as soon as the peer's headers are here; empty if the call ended without
    /// any.
    ///
    /// # Errors
    /// The call failed before any headers; [`message`](Self::message) will say the same.
    // wire-rules 97
    pub async fn headers(&mut self) -> Result<&MetadataMap, Status> {
        poll_fn(|cx| self.poll_headers(cx)).await?;
        Ok(self.headers.get_or_insert_default())
    }

    /// On a client: the trailing metadata, once the stream has ended, be it in an error.
    // wire-rules 97
    pub fn trailers(&self) -> Option<&MetadataMap> {
        self.trailers.as_ref()
    }

    /// Decodes the next message that is whole in `local`.
    fn decode_next(&mut self) -> Option<Result<T, Status>> {
        let outcome = match self.local.next_message() {
            Ok(None) => return None,
            Ok(Some(payload)) => {
                let len = payload.len();
                self.compressed = payload.was_compressed();
                let native = match &self.transcode {
                    None => Ok(payload),
                    Some(transcode) => rewritten(&payload, &**transcode, &self.limits),
                };
                let decoded =
                    native.and_then(|native| (self.decode)(native, &self.limits)).map_err(Status::from);
                if self.watch.is_some() {
                    self.observe(len);
                    decoded.and_then(|message| self.show(message, len))
                } else {
                    decoded
                }
            }
            Err(status) => Err(status),
        };
        // As it came: windows count compressed bytes.
        self.taken += self.local.last_len() as u64;
        Some(match outcome {
            Ok(message) => {
                self.report_taken();
                Ok(message)
            }
            Err(status) => Err(self.on_broken(status)),
        })
    }

    /// Shows a message to who looks on, before the reader has it.
    #[cold]
    fn show(&mut self, message: T, len: usize) -> Result<T, Status> {
        match self.watch() {
            Some(Watch { watch, show: Some(show) }) => show(watch, &message, len).map(|()| message),
            _ => Ok(message),
        }
    }

    /// Tells the observer of the message that was taken out last, of `len` bytes once inflated.
    #[cold]
    fn observe(&self, len: usize) {
        if let Some(observer) = self.inbox.observer() {
            let encoding = self.compressed.then(|| self.local.encoding());
            observer.received(MessageSize::received(len, self.local.last_len() - PREFIX_LEN, encoding));
        }
    }

    fn watch(&mut self) -> Option<&mut Watch<T>> {
        // A hook that panicked has taken its reader along; whoever still reads is told what there is to tell.
        self.watch.as_mut().map(|watch| watch.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives credit back in the midst of a long run of messages.
    #[inline]
    fn report_taken(&mut self) {
        if self.taken - self.reported >= self.inbox.credit_step() {
            self.reported = self.taken;
            self.inbox.set_taken(self.taken);
        }
    }

    /// What came is no message.
    #[cold]
    fn on_broken(&mut self, status: Status) -> Status {
        // Explained while the inbox still belongs to a call.
        let status = self.inbox.explain(status);
        self.on_local_failure(status)
    }

    /// The peer's bytes are wrong or too many, or nobody wants them: nothing after them can be read.
    fn on_local_failure(&mut self, status: Status) -> Status {
        self.keep_headers();
        self.trailers = Some(MetadataMap::new());
        self.local.discard();
        self.inbox.abandon();
        match self.tell_end(Err(status)) {
            Err(status) => status,
            Ok(_) => Status::internal("a failed stream was said to have succeeded"),
        }
    }

    /// What those who look on make of the end.
    fn tell_end(&mut self, result: Result<MetadataMap, Status>) -> Result<MetadataMap, Status> {
        match self.watch() {
            Some(watch) => watch.watch.on_end(result),
            None => result,
        }
    }

    fn on_end(&mut self, end: End) -> Option<Result<T, Status>> {
        self.keep_headers();
        let (kept, result) = match end {
            End::Clean(trailers) if self.local.unread().is_empty() => (None, Ok(trailers)),
            End::Clean(trailers) => (Some(trailers), Err(self.inbox.explain(truncated()))),
            End::Failed(status) => (None, Err(status)),
        };
        let (trailers, failure) = match self.tell_end(result) {
            Ok(trailers) => (trailers, None),
            Err(status) => (kept.unwrap_or_else(|| status.metadata().clone()), Some(status)),
        };
        self.trailers = Some(trailers);
        self.local.discard();
        failure.map(Err)
    }

    fn keep_headers(&mut self) {
        if self.headers.is_none() {
            self.headers = self.inbox.take_headers();
        }
    }

    fn poll_headers(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        if self.headers.is_some() || self.trailers.is_some() {
            return Poll::Ready(Ok(()));
        }
        let fetched = match self.inbox.fetch_headers(cx) {
            Some(fetched) => Poll::Ready(fetched),
            None => Poll::Pending,
        };
        match ready!(fetched) {
            Ok(headers) => {
                self.headers = Some(headers);
                Poll::Ready(Ok(()))
            }
            Err(None) => Poll::Ready(Ok(())),
            Err(Some(status)) => Poll::Ready(Err(status)),
        }
    }
}

impl<T> Stream for Streaming<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_message(cx)
    }
}

impl<T> Drop for Streaming<T> {
    fn drop(&mut self) {
        if self.trailers.is_none() {
            self.inbox.abandon();
        }
    }
}

impl<T> fmt::Debug for Streaming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
