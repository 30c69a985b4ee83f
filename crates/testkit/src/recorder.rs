//! An observer that writes down what it hears.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peregrine_core::Observe;
use peregrine_core::observe::{ConnectionEvent, ConnectionInfo, LimitHit};

/// Writes down what it hears, a line an event. Clones write into the same list.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// What was heard since the last time, in order: `1 opened`, `1 ready`, `1 going away, Peer: why`,
    /// `1 closed, Local: why`, `limit name x3`; the number is the connection's.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observe for Recorder {
    fn connection(&self, connection: &ConnectionInfo, event: &ConnectionEvent<'_>) {
        let event = match event {
            ConnectionEvent::Opened => "opened".to_owned(),
            ConnectionEvent::Ready => "ready".to_owned(),
            ConnectionEvent::GoingAway { by, reason } => format!("going away, {by:?}: {reason}"),
            ConnectionEvent::Closed { by, reason } => format!("closed, {by:?}: {reason}"),
            other => format!("{other:?}"),
        };
        self.lock().push(format!("{} {event}", connection.id));
    }

    fn limit(&self, hit: &LimitHit<'_>) {
        self.lock().push(format!("limit {} x{}", hit.name, hit.count));
    }
}
