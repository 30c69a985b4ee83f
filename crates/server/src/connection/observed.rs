//! What an observer hears of a connection. Nothing is gathered without one.

use std::sync::Arc;

use peregrine_core::message::PREFIX_LEN;
use peregrine_core::observe::{
    CompressionSetting, ConnectionEvent, Direction, EndedBy, LimitHit, MessageObserver, MessageSize,
    SettingScope, Side, tell_message,
};
use peregrine_core::{Observe, Payload, PeerAddr, survive};
use peregrine_http2::ErrorCode;
use peregrine_transport::driver::{Closed, Refusals};

use super::call::Call;
use super::{Serving, Shared};
use crate::call::excerpt::shortened;
use crate::method_config::MethodConfig;
use crate::router::MethodIndex;

/// What the observer of a connection was told already.
#[derive(Debug, Default)]
pub(super) struct Told {
    refusals: Refusals,
    ready: bool,
    going_away: bool,
}

impl Serving {
    pub(super) fn observe(&self, event: &ConnectionEvent<'_>) {
        self.tell(|observer| observer.connection(&self.info, event));
    }

    /// A limit with this name has refused something.
    pub(crate) fn observe_limit(&self, name: &'static str, count: u64) {
        self.tell(|observer| observer.limit(&LimitHit::new(name, Side::Server, &self.info.peer, count)));
    }

    /// What the engine did by itself since the last turn.
    pub(super) fn observe_turn(&mut self) {
        if self.shared.options.observer.is_some() {
            self.observe_refusals();
            self.observe_own_end();
        }
    }

    fn observe_refusals(&mut self) {
        let mut told = std::mem::take(&mut self.told.refusals);
        if let Some(wire) = &self.wire {
            told.tell(wire.connection.counters(), |name, count| self.observe_limit(name, count));
        }
        self.told.refusals = told;
    }

    fn observe_own_end(&mut self) {
        if self.wire().connection.is_shutting_down() && !std::mem::replace(&mut self.told.going_away, true) {
            let reason = if self.shutting_down { "shutting down" } else { "its age, or nothing to do" };
            self.observe(&ConnectionEvent::GoingAway { by: EndedBy::Local, reason });
        }
    }

    /// The client's SETTINGS have come; only the first ones are news.
    pub(super) fn on_settings(&mut self) {
        if !std::mem::replace(&mut self.told.ready, true) {
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

    pub(super) fn observe_closed(&mut self, closed: &Closed) {
        if self.shared.options.observer.is_some() {
            self.observe_refusals();
        }
        self.tell(|observer| {
            let (by, reason) = closed.observed();
            observer.connection(&self.info, &ConnectionEvent::Closed { by, reason: &reason });
        });
    }

    /// The one message of a request, which came as a body of so many bytes.
    #[cold]
    pub(super) fn observe_request(&self, call: &Call, message: &Payload<'_>, body_len: usize) {
        let encoding = message.was_compressed().then_some(call.request().encoding);
        let wire_len = body_len.saturating_sub(PREFIX_LEN);
        let size = MessageSize::received(message.len(), wire_len, encoding);
        self.shared.observe_message(call.method(), Direction::Received, size);
    }

    /// What the call that was polled last has sent.
    #[cold]
    pub(super) fn observe_sent(&mut self, method: MethodIndex) {
        let Some(mut sent) = self.wire().sent.take() else { return };
        for size in sent.drain(..) {
            self.shared.observe_message(method, Direction::Sent, size);
        }
        self.wire().sent = Some(sent);
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

    /// What the settings came to: the server's, and those of `configs` that have one (wire-rules T8).
    pub(crate) fn observe_compression(&self, configs: &[(String, MethodConfig)]) {
        let tell = |scope, setting| {
            let setting = CompressionSetting::new(Side::Server, scope, setting);
            self.tell(|observer| observer.compression(&setting));
        };
        tell(SettingScope::Default, &self.options.compression);
        let named = configs.iter().map(|(name, config)| (SettingScope::of_name(name), &config.compression));
        let settings: Vec<_> =
            named.filter_map(|(scope, setting)| Some((scope, setting.as_ref()?))).collect();
        for (index, (scope, setting)) in settings.iter().enumerate() {
            // Of two for the same name the later counts.
            let is_last = !settings.iter().skip(index + 1).any(|(later, _)| later == scope);
            if is_last {
                tell(*scope, setting);
            }
        }
    }

    /// Who is told of the messages of a stream of requests, if anybody is.
    pub(super) fn message_observer(&self, method: MethodIndex) -> Option<MessageObserver> {
        let observer = self.options.observer.as_ref().filter(|_| self.observes_messages)?;
        Some(MessageObserver::new(Arc::clone(observer), Side::Server, self.router.descriptor(method).path))
    }

    #[cold]
    pub(super) fn observe_message(&self, method: MethodIndex, direction: Direction, size: MessageSize) {
        if let Some(observer) = &self.options.observer {
            tell_message(&**observer, Side::Server, direction, self.router.descriptor(method).path, size);
        }
    }

    /// The observer is the user's code: its panic must not take the connection along.
    fn tell(&self, tell: impl FnOnce(&dyn Observe)) {
        if let Some(observer) = &self.options.observer {
            let _panicked = survive(|| tell(&**observer));
        }
    }
}
