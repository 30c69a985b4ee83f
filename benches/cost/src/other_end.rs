//! The end that is not measured.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Everything that its future does is left out of the count of instructions.
pub(crate) struct OtherEnd<F>(Pin<Box<F>>);

impl<F: Future> OtherEnd<F> {
    pub(crate) fn new(future: F) -> Self {
        Self(Box::pin(future))
    }
}

impl<F: Future> Future for OtherEnd<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        other_end_poll(self.0.as_mut(), cx)
    }
}

/// Callgrind stops collecting when it enters this function and goes on when it leaves it, by its name.
#[inline(never)]
fn other_end_poll<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    future.poll(cx)
}
