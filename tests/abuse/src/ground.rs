//! Where an attack takes place: a server, and lines to it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use peregrine_testkit::{Peer, PeerConfig};
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection to the server, of whatever kind.
pub type Line = Pin<Box<dyn Io + Send>>;

/// Both directions of a connection.
pub trait Io: AsyncRead + AsyncWrite {}

impl<T: AsyncRead + AsyncWrite> Io for T {}

/// A line that is being connected.
pub type Connecting = Pin<Box<dyn Future<Output = Line> + Send>>;

/// Connects attackers with the server they attack.
pub struct Ground {
    connect: Box<dyn Fn() -> Connecting + Send + Sync>,
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").finish_non_exhaustive()
    }
}

impl Ground {
    /// A ground on which `connect` makes the lines.
    pub fn new(connect: impl Fn() -> Connecting + Send + Sync + 'static) -> Self {
        Self { connect: Box::new(connect) }
    }

    /// A line on which nothing was said yet.
    pub async fn line(&self) -> Line {
        (self.connect)().await
    }

    /// A peer that has done its part of the HTTP/2 start.
    pub async fn peer(&self) -> Peer<Line> {
        self.peer_with(PeerConfig::default()).await
    }

    /// The same, with other settings.
    pub async fn peer_with(&self, config: PeerConfig) -> Peer<Line> {
        let mut peer = Peer::new(self.line().await, config);
        peer.start().await;
        peer
    }
}
