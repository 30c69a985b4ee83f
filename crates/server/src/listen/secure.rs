//! TLS on the connections of a server, if it was built with that. With the builder's one method, the only place that
//! knows the feature `tls`.

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(feature = "tls")]
use super::opening::NotOpened;
use super::opening::{self, Opening};
use crate::connection::Serving;

/// How the connections of a server are protected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secure {
    #[cfg(feature = "tls")]
    tls: Option<peregrine_transport::tls::ServerTls>,
}

#[cfg(feature = "tls")]
impl Secure {
    pub(crate) fn with(tls: peregrine_transport::tls::ServerTls) -> Self {
        Self { tls: Some(tls) }
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves an encrypted connection from its first byte to its end.
    pub(super) async fn serve<IO>(self, io: IO, opening: Opening, mut serving: Serving)
    where
        IO: AsyncRead + AsyncWrite + Send,
    {
        let Some(tls) = self.tls else { return opening::serve(io, opening, serving).await };
        // TLS wants to move its socket, which a user's own stream may not allow.
        let io = Box::pin(io);
        // Boxed, so that the connection does not carry its kilobytes for the rest of its life.
        let handshake = Box::pin(async { tls.accept(io).await.map_err(NotOpened::Handshake) });
        match opening::in_time(&opening, handshake).await {
            Ok(stream) => opening::serve(stream, opening, serving).await,
            Err(reason) => reason.tell(&mut serving),
        }
    }
}

#[cfg(not(feature = "tls"))]
impl Secure {
    #[expect(clippy::unused_self, reason = "the same face as with TLS")]
    pub(super) fn is_tls(&self) -> bool {
        false
    }

    /// Never called: no server of this build is set up with TLS.
    pub(super) async fn serve<IO>(self, io: IO, opening: Opening, serving: Serving)
    where
        IO: AsyncRead + AsyncWrite + Send,
    {
        opening::serve(io, opening, serving).await;
    }
}
