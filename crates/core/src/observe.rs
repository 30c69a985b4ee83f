//! What happens below the calls, for whoever wants to know: connections that come and go, limits that were hit.
//!
//! A server or a channel is given an [`Observe`] when it is built and tells it from the tasks of its connections.
//! Without one nothing is gathered. Telemetry hangs on this trait, so that it costs nothing where it is not used.

use std::fmt;
use std::sync::Arc;

use crate::call::{PeerAddr, PeerIdentity};

/// Hears of what a server or a channel does besides answering calls.
///
/// Each method does nothing unless it is implemented; later versions add methods. They are called on the task of the
/// connection concerned, so they must not block; anything slow belongs behind a queue of the observer's own.
pub trait Observe: fmt::Debug + Send + Sync + 'static {
    /// A connection has reached another stage of its life.
    ///
    /// Every connection is [opened](ConnectionEvent::Opened) first and [closed](ConnectionEvent::Closed) last, each
    /// once; the stages between may be left out, for example on a connection that never got ready.
    fn connection(&self, connection: &ConnectionInfo, event: &ConnectionEvent<'_>) {
        let _ = (connection, event);
    }

    /// A limit has refused something, or has ended a connection.
    fn limit(&self, hit: &LimitHit<'_>) {
        let _ = hit;
    }
}

impl<T: Observe + ?Sized> Observe for Arc<T> {
    fn connection(&self, connection: &ConnectionInfo, event: &ConnectionEvent<'_>) {
        (**self).connection(connection, event);
    }

    fn limit(&self, hit: &LimitHit<'_>) {
        (**self).limit(hit);
    }
}

/// Which half of a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A channel.
    Client,
    /// A server.
    Server,
}

/// Which connection an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// Tells the connections of one server or one channel apart: they are numbered from 1.
    pub id: u64,
    /// The half that speaks.
    pub side: Side,
    /// Who is at the other end.
    pub peer: PeerAddr,
    /// What its certificate says, over mutual TLS and once the handshake is over.
    pub peer_identity: Option<Arc<PeerIdentity>>,
}

impl ConnectionInfo {
    /// For those who make connections.
    pub fn new(side: Side, id: u64, peer: PeerAddr) -> Self {
        Self { id, side, peer, peer_identity: None }
    }
}

/// A stage in the life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionEvent<'a> {
    /// There is a byte stream; HTTP/2 has still to begin on it.
    Opened,
    /// The peer's first SETTINGS are here: calls can be made.
    Ready,
    /// No new calls: one side has sent GOAWAY. Those in progress go on.
    GoingAway {
        /// Who wants it.
        by: EndedBy,
        /// Why, in words; the peer's own, cut and escaped, where it was the peer.
        reason: &'a str,
    },
    /// The connection is over; what was in progress has ended with it.
    Closed {
        /// Whose doing it was.
        by: EndedBy,
        /// Why, in words. For a limit that was exceeded, the limit's name.
        reason: &'a str,
    },
}

/// Who ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndedBy {
    /// This side: a shutdown, an age or idle limit, a rule or a limit that the peer broke.
    Local,
    /// The peer: it closed, or sent GOAWAY.
    Peer,
    /// The socket failed.
    Network,
}

/// A limit that was hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitHit<'a> {
    /// The limit's name, as its documentation and GOAWAY debug data have it: `resets_received`, `running_handlers`.
    pub name: &'static str,
    /// The half that has the limit.
    pub side: Side,
    /// Who ran into it.
    pub peer: &'a PeerAddr,
    /// How often since it was told last; at least 1.
    pub count: u64,
}

impl<'a> LimitHit<'a> {
    /// For those who have limits.
    pub fn new(name: &'static str, side: Side, peer: &'a PeerAddr, count: u64) -> Self {
        Self { name, side, peer, count }
    }
}
