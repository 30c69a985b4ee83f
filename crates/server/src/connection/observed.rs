//! What an observer hears of a connection. Nothing is gathered without one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use peregrine_core::observe::{ConnectionEvent, EndedBy, LimitHit, Side};
use peregrine_core::{Observe, PeerAddr};
use peregrine_http2::{Blame, ErrorCode};
use peregrine_transport::driver::Closed;

use super::{Serving, Shared};
use crate::call::excerpt::shortened;

impl Serving {
    pub(super) fn observe(&self, event: &ConnectionEvent<'_>) {
        self.tell(|observer| observer.connection(&self.info, event));
    }

    /// A limit with this name has refused something.
    pub(crate) fn observe_limit(&self, name: &'static str, count: u64) {
        self.tell(|observer| observer.limit(&LimitHit::new(name, Side::Server, &self.info.peer, count)));
    }

    /// The client's SETTINGS have come; only the first ones are news.
    pub(super) fn on_settings(&mut self) {
        if !std::mem::replace(&mut self.is_ready, true) {
            self.observe(&ConnectionEvent::Ready);
        }
    }

    /// The connection ends before the driver had it: there are no calls to end.
    pub(crate) fn on_not_opened(&mut self, by: EndedBy, reason: &str) {
        self.closed = true;
        self.observe(&ConnectionEvent::Closed { by, reason });
    }

    /// The client has sent GOAWAY.
    pub(super) fn on_go_away(&self, code: ErrorCode, debug: &[u8]) {
        self.tell(|observer| {
            let words = if debug.is_empty() { String::new() } else { format!(", {:?}", shortened(debug)) };
            let event =
                ConnectionEvent::GoingAway { by: EndedBy::Peer, reason: &format!("GOAWAY {code}{words}") };
            observer.connection(&self.info, &event);
        });
    }

    pub(super) fn observe_closed(&self, closed: &Closed) {
        if let Closed::Protocol(error) = closed
            && error.blame() == Blame::Limit
        {
            self.observe_limit(error.reason(), 1);
        }
        self.tell(|observer| {
            let (by, reason) = closed.observed();
            observer.connection(&self.info, &ConnectionEvent::Closed { by, reason: &reason });
        });
    }

    fn tell(&self, tell: impl FnOnce(&dyn Observe)) {
        self.shared.tell(tell);
    }
}

impl Shared {
    /// A limit with this name has refused something to `peer`.
    pub(crate) fn observe_limit(&self, name: &'static str, peer: &PeerAddr) {
        self.tell(|observer| observer.limit(&LimitHit::new(name, Side::Server, peer, 1)));
    }

    /// The observer is the user's code: its panic must not take the connection along.
    fn tell(&self, tell: impl FnOnce(&dyn Observe)) {
        if let Some(observer) = &self.options.observer {
            let _panic = catch_unwind(AssertUnwindSafe(|| tell(&**observer)));
        }
    }
}
