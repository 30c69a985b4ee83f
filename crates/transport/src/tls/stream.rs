//! An encrypted connection, of either role.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use peregrine_core::PeerIdentity;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::first_bytes::FirstBytes;

/// A byte stream over TLS, as [`ServerTls::accept`](super::ServerTls::accept) and
/// [`ClientTls::connect`](super::ClientTls::connect) make them.
///
/// A write may leave encrypted bytes behind that the socket did not take; `poll_flush` writes them. A peer that closes
/// the socket without TLS's own goodbye (`close_notify`) is read as an orderly end: HTTP/2 marks the end of every
/// stream itself, so a cut cannot pass for one (bug-reports 67).
pub struct TlsStream<IO> {
    inner: tokio_rustls::TlsStream<FirstBytes<IO>>,
}

impl<IO> TlsStream<IO> {
    pub(super) fn new(inner: tokio_rustls::TlsStream<FirstBytes<IO>>) -> Self {
        let mut inner = inner;
        inner.get_mut().0.forget();
        Self { inner }
    }

    /// The certificates that the peer has shown and proven its own, if it was asked for any.
    pub fn peer_identity(&self) -> Option<PeerIdentity> {
        let chain = self.inner.get_ref().1.peer_certificates()?;
        Some(PeerIdentity::from_certificates(chain.iter().map(|certificate| certificate.to_vec())))
    }

    /// The version of the protocol and the cipher suite that were agreed on, for people: `TLSv1_3`.
    pub fn protocol_version(&self) -> Option<&'static str> {
        self.inner.get_ref().1.protocol_version().and_then(|version| version.as_str())
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.inner).poll_read(cx, buffer)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<IO> fmt::Debug for TlsStream<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream").field("version", &self.protocol_version()).finish_non_exhaustive()
    }
}
