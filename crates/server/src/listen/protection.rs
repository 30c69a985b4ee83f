//! A connection from its first byte on: TLS, if the server has it, then its opening.

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(feature = "_tls")]
use super::opening::NotOpened;
use super::opening::{self, Opening};
use super::registry::Entry;
use crate::connection::Serving;
use crate::secure::Secure;

/// Serves a connection to its end, encrypted if `secure` says so.
#[cfg(feature = "_tls")]
pub(super) async fn serve<IO>(secure: Secure, io: IO, opening: Opening, mut serving: Serving, entry: Entry)
where
    IO: AsyncRead + AsyncWrite + Send,
{
    let Some(tls) = secure.tls else { return opening::serve(io, opening, serving, entry).await };
    // TLS wants to move its socket, which a user's own stream may not allow.
    let io = Box::pin(io);
    // Boxed, so that the connection does not carry its kilobytes for the rest of its life.
    let handshake = Box::pin(async { tls.accept(io).await.map_err(NotOpened::Handshake) });
    match opening::in_time(&opening, handshake).await {
        Ok(stream) => {
            serving.on_secured(stream.peer_identity());
            opening::serve(stream, opening, serving, entry).await;
        }
        Err(reason) => reason.tell(&mut serving),
    }
}

/// Serves a connection to its end; this build has no TLS.
#[cfg(not(feature = "_tls"))]
pub(super) async fn serve<IO>(_secure: Secure, io: IO, opening: Opening, serving: Serving, entry: Entry)
where
    IO: AsyncRead + AsyncWrite + Send,
{
    opening::serve(io, opening, serving, entry).await;
}
