//! Observers that write down what they hear.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peregrine_core::Observe;
use peregrine_core::observe::{
    CompressionSetting, ConnectionEvent, ConnectionInfo, LimitHit, MessageEvent, MessageSize,
};

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

/// Writes down what it hears of messages and of settings of compression. Clones write into the same list.
#[derive(Clone, Debug, Default)]
pub struct MessageRecorder {
    heard: Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    messages: Vec<(String, MessageSize)>,
    settings: Vec<String>,
}

impl MessageRecorder {
    /// The messages since the last time, in order: `Sent /package.Service/Method`, and how large each is.
    pub fn take(&self) -> Vec<(String, MessageSize)> {
        std::mem::take(&mut self.lock().messages)
    }

    /// The settings since the last time, in order: `Server Default: gzip@1,snappy from 1024, saving 5`, or `.. : off`.
    pub fn take_settings(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().settings)
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observe for MessageRecorder {
    fn compression(&self, setting: &CompressionSetting<'_>) {
        let algorithms: Vec<_> = setting
            .algorithms
            .iter()
            .map(|one| {
                one.level.map_or(one.encoding.to_string(), |level| format!("{}@{level}", one.encoding))
            })
            .collect();
        let limits =
            format!("{} from {}, saving {}", algorithms.join(","), setting.threshold, setting.min_saving);
        let backing_off = if setting.backs_off { "" } else { ", never backing off" };
        let what = if setting.is_off() { "off".to_owned() } else { format!("{limits}{backing_off}") };
        self.lock().settings.push(format!("{:?} {:?}: {what}", setting.side, setting.scope));
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, event: &MessageEvent<'_>) {
        let what = format!("{:?} {}", event.direction, event.method);
        self.lock().messages.push((what, event.size));
    }
}
