//! Sources of messages: streams made from what a user has at hand.
//!
//! | to make a stream of | use |
//! |---|---|
//! | items that are there | [`iter()`] |
//! | a state and an async step | [`unfold()`] |
//! | an async block that sends | [`channel()`] |
//! | another task that sends | [`pipe`] |

mod channel;
mod flush;
mod iter;
mod unfold;

pub use futures_core::Stream;

pub use crate::stream::channel::{Channel, Receiver, Sender, channel, pipe};
pub use crate::stream::flush::{is_flush_requested, take_flush_request};
pub use crate::stream::iter::{Iter, iter};
pub use crate::stream::unfold::{Unfold, unfold};

/// Bytes of a stream that is always ready after which what was encoded leaves, so that the peer works on it while the
/// rest is made. A message is never split for it.
// wire-rules B1
pub const DEFAULT_BATCH_SIZE: usize = 32 * 1024;

#[cfg(test)]
pub(crate) mod tests {
    //! Polling by hand, shared by the tests of this crate.

    use std::pin::{Pin, pin};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread::Thread;

    use super::*;

    /// Counts wake-ups.
    #[derive(Default)]
    pub(crate) struct Wakes(AtomicUsize);

    impl Wakes {
        pub(crate) fn waker(self: &Arc<Self>) -> Waker {
            Waker::from(Arc::clone(self))
        }

        /// Wake-ups since the last time this was asked.
        pub(crate) fn take(&self) -> usize {
            self.0.swap(0, Ordering::Relaxed)
        }
    }

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>, wakes: &Arc<Wakes>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(&wakes.waker()))
    }

    pub(crate) fn next<S: Stream>(stream: Pin<&mut S>, wakes: &Arc<Wakes>) -> Poll<Option<S::Item>> {
        stream.poll_next(&mut Context::from_waker(&wakes.waker()))
    }

    /// Unparks a thread.
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// Runs a future on this thread.
    pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    /// All items of a stream that never waits.
    pub(crate) fn collect<S: Stream>(stream: S) -> Vec<S::Item> {
        let mut stream = pin!(stream);
        let mut items = Vec::new();
        let wakes = Arc::default();
        loop {
            match next(stream.as_mut(), &wakes) {
                Poll::Ready(Some(item)) => items.push(item),
                Poll::Ready(None) => return items,
                Poll::Pending => assert!(wakes.take() > 0, "the stream waits for nothing"),
            }
        }
    }

    // wire-rules B1: an iterator is no source that waits.
    #[test]
    fn iter_is_always_ready() {
        let mut stream = pin!(iter(0..10_000));
        assert_eq!(stream.size_hint(), (10_000, Some(10_000)));
        let wakes = Arc::default();
        for n in 0..10_000 {
            assert_eq!(next(stream.as_mut(), &wakes), Poll::Ready(Some(n)));
        }
        assert_eq!(next(stream.as_mut(), &wakes), Poll::Ready(None));
        assert_eq!(wakes.take(), 0);
    }

    #[test]
    fn unfold_runs_its_step_until_it_says_none() {
        let stream = unfold(0, |n| async move { (n < 3).then_some((n * 10, n + 1)) });
        assert_eq!(collect(stream), [0, 10, 20]);
    }

    #[test]
    fn unfold_waits_in_its_step_and_stays_ended() {
        let (sender, receiver) = pipe::<u8>(1);
        let mut stream = pin!(unfold(Box::pin(receiver), |mut receiver| async move {
            let item = std::future::poll_fn(|cx| receiver.as_mut().poll_next(cx)).await?;
            Some((item, receiver))
        }));
        let wakes = Arc::default();
        assert!(next(stream.as_mut(), &wakes).is_pending());
        assert!(poll_once(pin!(sender.send(7)), &wakes).is_ready());
        assert_eq!(wakes.take(), 1);
        assert_eq!(next(stream.as_mut(), &wakes), Poll::Ready(Some(7)));
        drop(sender);
        assert_eq!(next(stream.as_mut(), &wakes), Poll::Ready(None));
        assert_eq!(next(stream.as_mut(), &wakes), Poll::Ready(None));
    }
}
