//! A stream of what is there already.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

/// A stream that is always ready; see [`iter()`].
#[derive(Clone, Debug)]
pub struct Iter<I> {
    items: I,
}

/// A stream of the items of an iterator. It never yields in between, so that
/// the items share DATA frames (wire-rules B1).
pub fn iter<I: IntoIterator>(items: I) -> Iter<I::IntoIter> {
    Iter { items: items.into_iter() }
}

// The iterator is never pinned.
impl<I> Unpin for Iter<I> {}

impl<I: Iterator> Stream for Iter<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.items.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}
