//! A socket that remembers what came first, so that a failed handshake can be explained.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes kept.
const KEPT: usize = 128;

/// Wraps a socket under TLS. Once the handshake is over nothing is kept any more.
#[derive(Debug)]
pub(super) struct FirstBytes<IO> {
    io: IO,
    /// `None` when they are of no more interest.
    first: Option<Vec<u8>>,
}

impl<IO> FirstBytes<IO> {
    /// For a handshake in which we want to know.
    pub(super) fn recording(io: IO) -> Self {
        Self { io, first: Some(Vec::new()) }
    }

    /// For a handshake whose first bytes are known already.
    pub(super) fn silent(io: IO) -> Self {
        Self { io, first: None }
    }

    /// The handshake is over.
    pub(super) fn forget(&mut self) {
        self.first = None;
    }

    /// What came first.
    pub(super) fn first(&self) -> &[u8] {
        self.first.as_deref().unwrap_or_default()
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for FirstBytes<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(cx, buffer))?;
        if let Some(first) = &mut this.first {
            let room = KEPT - first.len();
            first.extend(buffer.filled()[before..].iter().take(room));
        }
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for FirstBytes<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
