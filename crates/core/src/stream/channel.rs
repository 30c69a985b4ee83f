//! Streams that are written into: [`channel`] for a handler's response,
//! [`pipe`] for the requests of a `*_sender` call.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use pin_project_lite::pin_project;

use crate::status::Status;

/// The writing end.
#[derive(Debug)]
pub struct Sender<T> {
    _todo: PhantomData<fn(T)>,
}

/// The reading end of a [`pipe`].
#[derive(Debug)]
pub struct Receiver<T> {
    _todo: PhantomData<fn() -> T>,
}

pin_project! {
    /// A stream written by a future; see [`channel`].
    #[derive(Debug)]
    pub struct Channel<T, Fut> {
        receiver: Receiver<T>,
        #[pin]
        producer: Option<Fut>,
    }
}

/// A stream of what `producer` sends, for server-streaming handlers:
///
/// ```
/// # use peregrine_core::{channel, Response, Status, Stream};
/// fn numbers() -> Response<impl Stream<Item = Result<u32, Status>> + Send> {
///     Response::new(channel(|tx| async move {
///         for n in 0..3 {
///             tx.send(n).await?;
///         }
///         Ok(())
///     }))
/// }
/// ```
///
/// The producer runs inside the stream, in the call's own task, so it may
/// borrow the service; an error it returns ends the stream with that status.
pub fn channel<T, F, Fut>(producer: F) -> Channel<T, Fut>
where
    F: FnOnce(Sender<T>) -> Fut,
    Fut: Future<Output = Result<(), Status>>,
{
    let (sender, receiver) = pipe(CHANNEL_CAPACITY);
    Channel { receiver, producer: Some(producer(sender)) }
}

/// A bounded queue between two tasks; `capacity` is in messages.
pub fn pipe<T>(_capacity: usize) -> (Sender<T>, Receiver<T>) {
    todo!()
}

/// Whether a [`Sender::flush`] on this thread asks for what was sent to leave
/// at once, since the last time this was asked. Read by the driver after it
/// polled a call.
pub fn take_flush_request() -> bool {
    todo!()
}

impl<T> Sender<T> {
    /// Sends a message, waiting while the reader is behind.
    ///
    /// # Errors
    /// CANCELLED if nobody reads any more; the call's own result says why.
    pub async fn send(&self, _message: T) -> Result<(), Status> {
        todo!()
    }

    /// Waits until all that was sent has been taken, and asks for it to leave
    /// at once instead of sharing a frame with what follows (wire-rules B2).
    ///
    /// # Errors
    /// CANCELLED if nobody reads any more.
    pub async fn flush(&self) -> Result<(), Status> {
        todo!()
    }

    /// Whether nobody reads any more.
    pub fn is_closed(&self) -> bool {
        todo!()
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<T>> {
        todo!()
    }
}

impl<T, Fut: Future<Output = Result<(), Status>>> Stream for Channel<T, Fut> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let _ = (this.receiver, this.producer);
        todo!()
    }
}

/// Messages a handler may be ahead of the connection.
const CHANNEL_CAPACITY: usize = 16;
