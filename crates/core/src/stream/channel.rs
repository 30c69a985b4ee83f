//! Streams that are written into: [`channel()`] for a handler's response,
//! [`pipe`] for the requests of a `*_sender` call.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use pin_project_lite::pin_project;

use crate::compression::{set_wish, take_wish};
use crate::status::Status;
use crate::stream::flush::request_flush;

/// The writing end of a [`channel()`] or [`pipe`]. Clones write into the same one.
pub struct Sender<T> {
    shared: Arc<Mutex<Queue<T>>>,
}

/// The reading end of a [`pipe`]; ends when all senders are gone.
pub struct Receiver<T> {
    shared: Arc<Mutex<Queue<T>>>,
}

pin_project! {
    /// A stream written by a future; see [`channel()`].
    #[derive(Debug)]
    pub struct Channel<T, Fut> {
        receiver: Receiver<T>,
        #[pin]
        producer: Option<Fut>,
        // What the producer said of its next message before it waited (wire-rules P2).
        said: Option<bool>,
        // The error the producer ended with, to come after its messages.
        failure: Option<Status>,
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
/// borrow the service. It is at most 16 messages ahead of the connection. An
/// error it returns ends the stream with that status, after the messages sent
/// before. When the call is cancelled, the producer is dropped where it waits.
pub fn channel<T, F, Fut>(producer: F) -> Channel<T, Fut>
where
    F: FnOnce(Sender<T>) -> Fut,
    Fut: Future<Output = Result<(), Status>>,
{
    let (sender, receiver) = pipe(CHANNEL_CAPACITY);
    Channel { receiver, producer: Some(producer(sender)), said: None, failure: None }
}

/// A bounded queue between two tasks; `capacity` is in messages, at least 1.
pub fn pipe<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Queue {
        items: VecDeque::new(),
        capacity: capacity.max(1),
        senders: 1,
        reading: true,
        flush: false,
        reader: None,
        writers: Vec::new(),
    };
    let shared = Arc::new(Mutex::new(queue));
    (Sender { shared: Arc::clone(&shared) }, Receiver { shared })
}

/// What both ends share. Wakers are called with the lock released.
struct Queue<T> {
    /// Each with what its sender said of its compression.
    items: VecDeque<(T, Option<bool>)>,
    capacity: usize,
    senders: usize,
    /// Whether the receiver is alive.
    reading: bool,
    /// A sender waits for the queue to be empty and its content on the wire.
    flush: bool,
    reader: Option<Waker>,
    /// Senders that wait for room or for a flush.
    writers: Vec<Waker>,
}

impl<T> Sender<T> {
    /// Sends a message, waiting while the reader is behind. What
    /// [`compress_next`](crate::compression::compress_next) said before goes
    /// with it.
    ///
    /// # Errors
    /// CANCELLED if nobody reads any more; the call's own result says why.
    pub async fn send(&self, message: T) -> Result<(), Status> {
        let mut message = Some((message, take_wish()));
        poll_fn(|cx| self.poll_send(cx, &mut message)).await
    }

    /// Waits until all that was sent has been taken, and asks for it to leave at once instead of sharing a frame with
    /// what follows. Not needed before waiting for something else: a stream that waits is flushed anyway.
    ///
    /// # Errors
    /// CANCELLED if nobody reads any more.
    // wire-rules B2
    pub async fn flush(&self) -> Result<(), Status> {
        let mut asked = false;
        poll_fn(|cx| self.poll_flush(cx, &mut asked)).await
    }

    /// Whether nobody reads any more.
    pub fn is_closed(&self) -> bool {
        !lock(&self.shared).reading
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        message: &mut Option<(T, Option<bool>)>,
    ) -> Poll<Result<(), Status>> {
        let mut queue = lock(&self.shared);
        if !queue.reading {
            return Poll::Ready(Err(closed()));
        }
        if queue.items.len() >= queue.capacity {
            queue.wait_for_room(cx);
            return Poll::Pending;
        }
        queue.items.extend(message.take());
        let reader = queue.reader.take();
        drop(queue);
        wake(reader);
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&self, cx: &mut Context<'_>, asked: &mut bool) -> Poll<Result<(), Status>> {
        let mut queue = lock(&self.shared);
        if !queue.reading {
            return Poll::Ready(Err(closed()));
        }
        if *asked && !queue.flush {
            return Poll::Ready(Ok(()));
        }
        *asked = true;
        queue.flush = true;
        queue.wait_for_room(cx);
        let reader = queue.reader.take();
        drop(queue);
        wake(reader);
        Poll::Pending
    }
}

impl<T> Queue<T> {
    fn wait_for_room(&mut self, cx: &Context<'_>) {
        if !self.writers.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.writers.push(cx.waker().clone());
        }
    }

    /// Takes the next message; with it the senders to wake, now that there is
    /// room or a flush is done.
    fn take(&mut self) -> (Option<T>, Vec<Waker>) {
        let was_full = self.items.len() >= self.capacity;
        let item = self.items.pop_front().map(|(item, wish)| {
            set_wish(wish);
            item
        });
        let flushed = self.flush && self.items.is_empty();
        if flushed {
            self.flush = false;
            request_flush();
        }
        let writers = if was_full || flushed { std::mem::take(&mut self.writers) } else { Vec::new() };
        (item, writers)
    }
}

impl<T> Receiver<T> {
    /// The next message, if one is there. The reader is running, so senders
    /// have no one to wake until it waits again.
    fn take_ready(&self) -> Option<T> {
        let mut queue = lock(&self.shared);
        queue.reader = None;
        let (item, writers) = queue.take();
        drop(queue);
        writers.into_iter().for_each(Waker::wake);
        item
    }

    fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut queue = lock(&self.shared);
        let (item, writers) = queue.take();
        let outcome = match item {
            Some(item) => Poll::Ready(Some(item)),
            None if queue.senders == 0 => Poll::Ready(None),
            None => {
                queue.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        };
        drop(queue);
        writers.into_iter().for_each(Waker::wake);
        outcome
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_take(cx)
    }
}

impl<T, Fut: Future<Output = Result<(), Status>>> Stream for Channel<T, Fut> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if let Some(item) = this.receiver.take_ready() {
            return Poll::Ready(Some(Ok(item)));
        }
        if let Some(producer) = this.producer.as_mut().as_pin_mut() {
            set_wish(this.said.take());
            let polled = producer.poll(cx);
            *this.said = take_wish();
            if let Poll::Ready(outcome) = polled {
                *this.failure = outcome.err();
                this.producer.set(None);
            }
        }
        if this.failure.is_some() {
            // Senders may live on elsewhere, but what they send now comes too late.
            if let Some(item) = this.receiver.take_ready() {
                return Poll::Ready(Some(Ok(item)));
            }
            this.receiver.close();
            return Poll::Ready(this.failure.take().map(Err));
        }
        this.receiver.poll_take(cx).map(|item| item.map(Ok))
    }
}

impl<T> Receiver<T> {
    /// Ends the stream for both sides.
    fn close(&self) {
        let mut queue = lock(&self.shared);
        queue.reading = false;
        queue.senders = 0;
        let items = std::mem::take(&mut queue.items);
        let writers = std::mem::take(&mut queue.writers);
        drop(queue);
        // Messages may own anything, so they too are dropped unlocked.
        drop(items);
        writers.into_iter().for_each(Waker::wake);
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let mut queue = lock(&self.shared);
        queue.senders = queue.senders.saturating_add(1);
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut queue = lock(&self.shared);
        queue.senders = queue.senders.saturating_sub(1);
        let reader = if queue.senders == 0 { queue.reader.take() } else { None };
        drop(queue);
        wake(reader);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("queued", &lock(&self.shared).items.len()).finish()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("queued", &lock(&self.shared).items.len()).finish()
    }
}

/// A panic elsewhere cannot leave the queue half changed.
fn lock<T>(shared: &Mutex<Queue<T>>) -> MutexGuard<'_, Queue<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cold]
fn closed() -> Status {
    Status::cancelled("the call has ended, nobody takes this message")
}

/// Messages a handler may be ahead of the connection.
const CHANNEL_CAPACITY: usize = 16;

#[cfg(test)]
mod tests;
