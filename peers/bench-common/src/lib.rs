//! What the bench servers on other stacks share, so that they differ in their stacks and in nothing else.

use std::error::Error;
use std::future::Future;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use tokio::runtime::Builder;

/// Serves as the command line `PORT [--threads N]` says: on 127.0.0.1, on one current-thread runtime unless told.
pub fn run<F>(serve: impl FnOnce(SocketAddr) -> F) -> Result<(), Box<dyn Error + Send + Sync>>
where
    F: Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (port, threads) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [port] => (port.parse()?, 1),
        [port, "--threads", threads] => (port.parse()?, threads.parse()?),
        _ => return Err("usage: PORT [--threads N]".into()),
    };
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    let runtime = builder.enable_all().build()?;
    let served = serve(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    // On the runtime's own workers: the main thread of a multi-thread runtime is none of them.
    runtime.block_on(async { tokio::spawn(served).await? })
}

/// What a server's streamed messages are cut from.
pub fn blob() -> Bytes {
    Bytes::from(vec![0x5a; 1 << 20])
}

/// Numbered messages, always ready: what is measured is the stack, not a source. `tokio_stream::iter` would hand back
/// the thread every 32 items.
pub struct Numbered<M, E> {
    next: i64,
    last: i64,
    payload: Bytes,
    message: fn(Bytes, i64) -> M,
    error: PhantomData<fn() -> E>,
}

impl<M, E> Numbered<M, E> {
    /// `count` messages with the first `size` bytes of `blob`; `None` if it has less.
    pub fn new(blob: &Bytes, count: i32, size: i32, message: fn(Bytes, i64) -> M) -> Option<Self> {
        let size = usize::try_from(size).ok().filter(|&size| size <= blob.len())?;
        let payload = blob.slice(..size);
        Some(Self { next: 1, last: i64::from(count), payload, message, error: PhantomData })
    }
}

impl<M, E> Stream for Numbered<M, E> {
    type Item = Result<M, E>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.next > self.last {
            return Poll::Ready(None);
        }
        let id = self.next;
        self.next += 1;
        Poll::Ready(Some(Ok((self.message)(self.payload.clone(), id))))
    }
}
