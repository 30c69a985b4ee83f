//! What an observer hears of a connection. Nothing is gathered without one, and nothing is told under the lock.

use std::sync::Arc;

use peregrine_core::observe::{ConnectionEvent, ConnectionInfo, EndedBy, LimitHit, Side};
use peregrine_core::{Observe, PeerAddr, survive};
use peregrine_transport::driver::Closed;
use peregrine_transport::net::Target;

/// A connection as its observer knows it.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(super) info: ConnectionInfo,
    /// The peer as errors name it: its address, or the channel's target where that is not known.
    pub(super) name: Arc<str>,
    observer: Option<Arc<dyn Observe>>,
}

impl Observed {
    pub(crate) fn new(observer: Option<Arc<dyn Observe>>, info: ConnectionInfo, target: &Target) -> Self {
        let name = match &info.peer {
            PeerAddr::Unknown => target.to_string().into(),
            peer => peer.to_string().into(),
        };
        Self { info, name, observer }
    }

    /// A connection that nobody hears of.
    #[cfg(test)]
    pub(crate) fn by_nobody() -> Self {
        let info = ConnectionInfo::new(Side::Client, 1, PeerAddr::Unknown);
        Self { info, name: "nobody".into(), observer: None }
    }

    /// Whether somebody listens.
    pub(super) fn is_wanted(&self) -> bool {
        self.observer.is_some()
    }

    pub(super) fn connection(&self, event: &ConnectionEvent<'_>) {
        self.tell(|observer| observer.connection(&self.info, event));
    }

    /// A limit with this name has refused something.
    pub(super) fn limit(&self, name: &'static str, count: u64) {
        self.tell(|observer| observer.limit(&LimitHit::new(name, Side::Client, &self.info.peer, count)));
    }

    /// `words` are those of the peer's GOAWAY, if it sent one.
    pub(super) fn closed(&self, closed: &Closed, words: Option<&str>) {
        self.tell(|observer| {
            let (by, reason) = match (closed, words) {
                (Closed::Finished, Some(words)) => (EndedBy::Peer, words.into()),
                _ => closed.observed(),
            };
            observer.connection(&self.info, &ConnectionEvent::Closed { by, reason: &reason });
        });
    }

    /// The observer is the user's code: its panic must not take the connection along.
    fn tell(&self, tell: impl FnOnce(&dyn Observe)) {
        if let Some(observer) = &self.observer {
            let _panicked = survive(|| tell(&**observer));
        }
    }
}
