//! The start of a connection, before HTTP/2: TLS if the server has it, then the client's preface.
//!
//! Runs in the connection's own task, so that a client that takes its time holds up nobody else. Nothing is said to a
//! client before it has spoken: one of another protocol gets an answer of its own kind (wire-rules 86, http2-abuse
//! 45), and every other client speaks first anyway (RFC 9113 3.4).

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use peregrine_core::observe::EndedBy;
use peregrine_transport::driver::{self, ReadBuffer};
use peregrine_transport::farewell;
use peregrine_transport::sniff::{Sniffed, sniff};
#[cfg(feature = "_tls")]
use peregrine_transport::tls::HandshakeErrorKind;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use super::pending::Pending;
use super::registry::Entry;
use crate::call::mailbox::Mailbox;
use crate::connection::Serving;

/// What the start of a connection needs, and holds until that is over.
#[derive(Debug)]
pub(super) struct Opening {
    /// The connection's place among those that have not spoken HTTP/2 yet.
    pub(super) _pending: Pending,
    /// When the client must have said its preface, TLS included.
    pub(super) deadline: Instant,
    /// Where the server's shutdown is announced.
    pub(super) mailbox: Arc<Mailbox>,
}

/// Why a connection ended before HTTP/2 began on it.
#[derive(Debug)]
pub(super) enum NotOpened {
    /// The client went away.
    Closed,
    /// The socket failed.
    Io(io::Error),
    /// The client asked in HTTP/1, and was answered.
    Http1,
    /// The client began a TLS handshake on a plaintext port, and was answered.
    Tls,
    /// The client did not say its preface in time.
    TimedOut,
    /// The TLS handshake failed; the client has been told.
    #[cfg(feature = "_tls")]
    Handshake(peregrine_transport::tls::HandshakeError),
    /// The server is shutting down.
    ShutDown,
}

impl NotOpened {
    /// Whose doing it was.
    fn by(&self) -> EndedBy {
        match self {
            Self::Closed => EndedBy::Peer,
            Self::Io(_) => EndedBy::Network,
            Self::Http1 | Self::Tls | Self::TimedOut | Self::ShutDown => EndedBy::Local,
            #[cfg(feature = "_tls")]
            Self::Handshake(error) => match error.kind() {
                HandshakeErrorKind::Closed | HandshakeErrorKind::Refused(_) => EndedBy::Peer,
                HandshakeErrorKind::Io => EndedBy::Network,
                _ => EndedBy::Local,
            },
        }
    }

    /// Tells the observer.
    pub(super) fn tell(&self, serving: &mut Serving) {
        if let Self::TimedOut = self {
            serving.observe_limit("handshake_timeout", 1);
        }
        serving.on_not_opened(self.by(), &self.to_string());
    }
}

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed by the peer",
            Self::Io(error) => return write!(f, "the socket failed: {error}"),
            Self::Http1 => "the client speaks HTTP/1",
            Self::Tls => "the client speaks TLS, this port plaintext",
            Self::TimedOut => "handshake_timeout",
            Self::ShutDown => "shutting down",
            #[cfg(feature = "_tls")]
            Self::Handshake(error) => return write!(f, "TLS: {error}"),
        })
    }
}

/// Serves a connection that needs no more protection, to its end; then `entry` is dropped.
///
/// Every connection holds this future for as long as it lives.
#[expect(
    clippy::manual_async_fn,
    reason = "an async fn keeps its arguments beside the places that they are moved to"
)]
pub(super) fn serve<IO>(
    io: IO,
    opening: Opening,
    mut serving: Serving,
    entry: Entry,
) -> impl Future<Output = ()>
where
    IO: AsyncRead + AsyncWrite,
{
    async move {
        let _entry = entry;
        let mut io = pin!(io);
        let mut read = ReadBuffer::new();
        let first = poll_fn(|cx| poll_first(io.as_mut(), &mut read, cx));
        let spoken = match in_time(&opening, first).await {
            // What has come so far may be the start of calls, and the engine knows how to end those.
            Err(NotOpened::ShutDown) => Sniffed::Http2,
            Err(reason) => return reason.tell(&mut serving),
            Ok(spoken) => spoken,
        };
        drop(opening);
        let (answer, reason) = match spoken {
            // For bytes that are nothing at all, the engine has the words.
            Sniffed::Http2 | Sniffed::Unknown => {
                driver::drive_from(io, read, &mut serving).await;
                return;
            }
            Sniffed::Http1 => (farewell::to_http1(), NotOpened::Http1),
            Sniffed::Tls => (farewell::to_tls(), NotOpened::Tls),
        };
        reason.tell(&mut serving);
        farewell::send(&mut io, &answer).await;
    }
}

/// Runs a step of the start, which the connection's deadline or the server's shutdown may end.
pub(super) async fn in_time<T>(
    opening: &Opening,
    step: impl Future<Output = Result<T, NotOpened>>,
) -> Result<T, NotOpened> {
    let mut step = pin!(step);
    let step = poll_fn(|cx| {
        if opening.mailbox.poll_shutdown(cx).is_ready() {
            return Poll::Ready(Err(NotOpened::ShutDown));
        }
        step.as_mut().poll(cx)
    });
    timeout_at(opening.deadline, step).await.unwrap_or(Err(NotOpened::TimedOut))
}

/// What the client speaks, once it has said enough.
fn poll_first<IO: AsyncRead>(
    mut io: Pin<&mut IO>,
    read: &mut ReadBuffer,
    cx: &mut Context<'_>,
) -> Poll<Result<Sniffed, NotOpened>> {
    loop {
        match read.poll_fill(io.as_mut(), cx) {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(NotOpened::Closed)),
            Poll::Ready(Ok(_)) => {
                if let Some(spoken) = sniff(read.filled()) {
                    return Poll::Ready(Ok(spoken));
                }
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(NotOpened::Io(error))),
            Poll::Pending => {
                read.on_idle();
                return Poll::Pending;
            }
        }
    }
}
