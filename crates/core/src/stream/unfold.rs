//! A stream from a state and an async step.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use pin_project_lite::pin_project;

pin_project! {
    /// A stream from a state and a step; see [`unfold()`].
    #[derive(Debug)]
    pub struct Unfold<S, F, Fut> {
        // `None` while a step runs and after the end.
        state: Option<S>,
        step: F,
        #[pin]
        running: Option<Fut>,
    }
}

/// A stream whose items come from `step`: it takes the state and returns an
/// item and the next state, or `None` at the end.
pub fn unfold<S, T, F, Fut>(state: S, step: F) -> Unfold<S, F, Fut>
where
    F: FnMut(S) -> Fut,
    Fut: Future<Output = Option<(T, S)>>,
{
    Unfold { state: Some(state), step, running: None }
}

impl<S, T, F, Fut> Stream for Unfold<S, F, Fut>
where
    F: FnMut(S) -> Fut,
    Fut: Future<Output = Option<(T, S)>>,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut this = self.project();
        if let Some(state) = this.state.take() {
            this.running.set(Some((this.step)(state)));
        }
        let Some(running) = this.running.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let Poll::Ready(outcome) = running.poll(cx) else { return Poll::Pending };
        this.running.set(None);
        Poll::Ready(outcome.map(|(item, state)| {
            *this.state = Some(state);
            item
        }))
    }
}
