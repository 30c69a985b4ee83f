//! A server in the test's own runtime, reached through pipes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use peregrine_server::{Server, ShutdownReport};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::peer::{Peer, PeerConfig};
use crate::pipe::{PipeEnd, pipe};

/// Starts `server` in the current runtime.
pub fn serve(server: Server) -> Served {
    let (connections, incoming) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(async move {
        let signal = async {
            // A handle that was dropped asks for the end as well.
            let _ = stopped.await;
        };
        server
            .serve_incoming_with_shutdown(Incoming(incoming), signal)
            .await
            .expect("the test's server is set up right")
    });
    Served { connections, stop, running }
}

/// A running server. Dropped, it shuts down gracefully like one that was told to stop.
#[derive(Debug)]
pub struct Served {
    connections: mpsc::UnboundedSender<PipeEnd>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<ShutdownReport>,
}

impl Served {
    /// A new connection: the client's end.
    pub fn connect(&self) -> PipeEnd {
        let (near, far) = pipe();
        self.connections.send(far).expect("the server takes connections until it is stopped");
        near
    }

    /// A new connection with a scripted peer on it that has done its part of the HTTP/2 start.
    pub async fn peer(&self) -> Peer {
        self.peer_with(PeerConfig::default()).await
    }

    /// The same, with other settings.
    pub async fn peer_with(&self, config: PeerConfig) -> Peer {
        let mut peer = Peer::new(self.connect(), config);
        peer.start().await;
        peer
    }

    /// Begins a graceful shutdown, which the returned handle lets one wait for.
    pub fn begin_stop(self) -> JoinHandle<ShutdownReport> {
        // The server may have ended by itself, if the test made it.
        let _ = self.stop.send(());
        self.running
    }

    /// Shuts down gracefully and waits for the end.
    pub async fn stop(self) -> ShutdownReport {
        self.begin_stop().await.expect("the server does not panic")
    }

    /// Drops the server's future.
    pub fn abort(self) {
        self.running.abort();
    }

    /// Ends a test: the connections given are closed by the client, and the server must have nothing to cut.
    pub async fn finish<const N: usize>(self, peers: [Peer; N]) {
        drop(peers);
        let report = self.stop().await;
        assert_eq!((report.cut_connections, report.cut_calls), (0, 0), "{report}");
    }
}

/// Connections as the server's accept loop takes them.
struct Incoming(mpsc::UnboundedReceiver<PipeEnd>);

impl Stream for Incoming {
    type Item = Result<PipeEnd, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|end| end.map(Ok))
    }
}
