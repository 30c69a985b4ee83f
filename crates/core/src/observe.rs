//! What happens below the calls, for whoever wants to know: connections that come and go, limits that were hit, what
//! settings came to, and how large messages are.
//!
//! A server or a channel is given an [`Observe`] when it is built and tells it from the tasks of its connections.
//! Without one nothing is gathered. Telemetry hangs on this trait, so that it costs nothing where it is not used.

mod compression;
mod message;

use std::fmt;
use std::sync::Arc;

use crate::call::{PeerAddr, PeerIdentity};

pub use self::compression::{Algorithm, CompressionSetting, SettingScope};
pub use self::message::{
    Direction, MessageCompression, MessageEvent, MessageObserver, MessageSize, tell_message,
};

/// Hears of what a server or a channel does besides answering calls.
///
/// Each method does nothing unless it is implemented; later versions add methods. They are called on the task of the
/// connection concerned, or on that of the call, so they must not block; anything slow belongs behind a queue of the
/// observer's own. None is called while a lock of the library is held, and a panic in one harms no call.
///
/// What compression saves, method by method:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Mutex, PoisonError};
///
/// # use peregrine_core::Observe;
/// # use peregrine_core::observe::{CompressionSetting, Direction, MessageEvent};
///
/// /// Bytes before and after compression of what was sent, by method.
/// #[derive(Debug, Default)]
/// struct Savings(Mutex<BTreeMap<String, (usize, usize)>>);
///
/// impl Observe for Savings {
///     fn compression(&self, setting: &CompressionSetting<'_>) {
///         println!("{:?}: {:?} from {} bytes on", setting.scope, setting.algorithms, setting.threshold);
///     }
///
///     fn wants_messages(&self) -> bool {
///         true
///     }
///
///     fn message(&self, event: &MessageEvent<'_>) {
///         if event.direction == Direction::Sent {
///             let mut savings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
///             let (raw, wire) = savings.entry(event.method.to_owned()).or_default();
///             *raw += event.size.raw_len;
///             *wire += event.size.wire_len;
///         }
///     }
/// }
/// ```
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

    /// What a compression setting has come to (wire-rules T8): told once for the whole of the server or channel and once
    /// for each service and method with a setting of its own, by the server before it binds its address, by the channel
    /// when it is built.
    fn compression(&self, setting: &CompressionSetting<'_>) {
        let _ = setting;
    }

    /// Whether [`message`](Self::message) is to be called. Asked once, when a server or a channel is built. Default:
    /// false, and messages cost nothing.
    fn wants_messages(&self) -> bool {
        false
    }

    /// A message was sent or received, unary or of a stream.
    ///
    /// | side | direction | told |
    /// |---|---|---|
    /// | server | received | before the handler starts, on the connection's task; of a request stream when the handler takes the message, on the handler's task |
    /// | server | sent | once the handler's future gives way after it wrote the message, on the task that polls it |
    /// | client | sent | once the message is written into the connection's output, on the task that makes the call or pumps its requests |
    /// | client | received | when the caller takes the message, on the caller's task |
    ///
    /// A call that is made again (wire-rules 67, 75) sends its messages again, and they are told again. Messages that
    /// cannot be read, or that are over a limit, are not told.
    fn message(&self, event: &MessageEvent<'_>) {
        let _ = event;
    }
}

impl<T: Observe + ?Sized> Observe for Arc<T> {
    fn connection(&self, connection: &ConnectionInfo, event: &ConnectionEvent<'_>) {
        (**self).connection(connection, event);
    }

    fn limit(&self, hit: &LimitHit<'_>) {
        (**self).limit(hit);
    }

    fn compression(&self, setting: &CompressionSetting<'_>) {
        (**self).compression(setting);
    }

    fn wants_messages(&self) -> bool {
        (**self).wants_messages()
    }

    fn message(&self, event: &MessageEvent<'_>) {
        (**self).message(event);
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
