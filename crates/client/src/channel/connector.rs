//! How a channel gets a byte stream to its peer: a socket, or whatever the user opens.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use peregrine_core::{Error, PeerAddr, Phase};
use peregrine_transport::net::{self, Target};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error;

/// A byte stream of any kind.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

type OpenFuture = Pin<Box<dyn Future<Output = io::Result<Box<dyn Io>>> + Send>>;

/// Opens byte streams.
pub(super) enum Connector {
    /// Sockets of the operating system.
    Sockets,
    /// The user's own.
    Custom(Box<dyn Fn() -> OpenFuture + Send + Sync>),
}

/// A stream that is open. Plain sockets do without the box.
pub(super) enum Opened {
    Socket(net::Stream, PeerAddr),
    /// The user's own, or one with TLS over it.
    Boxed(Box<dyn Io>, PeerAddr),
}

impl Connector {
    pub(super) fn custom<F, Fut, S>(open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self::Custom(Box::new(move || {
            let opening = open();
            Box::pin(async move { Ok(Box::new(opening.await?) as Box<dyn Io>) })
        }))
    }

    pub(super) async fn open(&self, target: &Target, timeout: Duration) -> Result<Opened, Error> {
        match self {
            Self::Sockets => match net::connect(target, timeout).await {
                Ok((stream, peer)) => Ok(Opened::Socket(stream, peer)),
                Err(error) => Err(error::not_connected(target, error)),
            },
            Self::Custom(open) => match tokio::time::timeout(timeout, open()).await {
                Ok(Ok(stream)) => Ok(Opened::Boxed(stream, PeerAddr::Unknown)),
                Ok(Err(error)) => Err(Error::new(Phase::Connect, error.to_string())
                    .with_peer(target)
                    .with_source(error)
                    .with_hint("the stream is opened by the channel's own connector")),
                Err(_) => Err(Error::new(Phase::Connect, format!("no stream within {timeout:?}"))
                    .with_peer(target)
                    .with_hint("the stream is opened by the channel's own connector")),
            },
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sockets => "Sockets",
            Self::Custom(_) => "Custom",
        })
    }
}
