//! Why a connection ended, for its endpoint and for observers.

use std::borrow::Cow;
use std::io;

use peregrine_core::observe::EndedBy;
use peregrine_http2::ConnectionError;

/// Why a connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Closed {
    /// Everything that had to be said was said: a graceful shutdown ended, or the peer closed between calls.
    Finished,
    /// The peer closed its side of the socket.
    PeerClosed,
    /// The peer broke the protocol; a GOAWAY with the reason was sent.
    Protocol(ConnectionError),
    /// The socket failed.
    Io(io::Error),
}

impl Closed {
    /// Whose doing it was, and why, as observers are told.
    pub fn observed(&self) -> (EndedBy, Cow<'static, str>) {
        match self {
            Self::Finished => (EndedBy::Local, "shut down".into()),
            Self::PeerClosed => (EndedBy::Peer, "closed by the peer".into()),
            Self::Protocol(error) => (EndedBy::Local, error.reason().into()),
            Self::Io(error) => (EndedBy::Network, error.to_string().into()),
        }
    }
}
