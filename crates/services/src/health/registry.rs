//! The statuses, and those who watch them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peregrine_core::Status;
use tokio::sync::watch;

/// Watches that may run at once on all connections together; one more is refused (http2-abuse 50).
const MAX_WATCHES: usize = 10_000;

/// Whether a service takes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServingStatus {
    /// Ready.
    Serving,
    /// Not now.
    NotServing,
}

/// Statuses by service name, shared by the handle and every mounted service.
#[derive(Clone, Debug)]
pub(super) struct Registry {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    services: HashMap<String, watch::Sender<Option<ServingStatus>>>,
    watches: usize,
}

impl Default for Registry {
    fn default() -> Self {
        let server = watch::Sender::new(Some(ServingStatus::Serving));
        let services = HashMap::from([(String::new(), server)]);
        Self { state: Arc::new(Mutex::new(State { services, watches: 0 })) }
    }
}

impl Registry {
    pub(super) fn set(&self, service: &str, status: Option<ServingStatus>) {
        let mut state = self.lock();
        if let Some(sender) = state.services.get(service) {
            let news = |old: &mut Option<ServingStatus>| std::mem::replace(old, status) != status;
            sender.send_if_modified(news);
            state.drop_unused(service);
        } else if status.is_some() {
            state.services.insert(service.to_owned(), watch::Sender::new(status));
        }
    }

    pub(super) fn set_all(&self, status: ServingStatus) {
        for sender in self.lock().services.values() {
            sender.send_if_modified(|old| old.is_some() && old.replace(status) != Some(status));
        }
    }

    pub(super) fn status(&self, service: &str) -> Option<ServingStatus> {
        self.lock().services.get(service).and_then(|sender| *sender.borrow())
    }

    /// Every known service, in no order.
    pub(super) fn list(&self) -> Vec<(String, ServingStatus)> {
        let state = self.lock();
        let known = |(name, sender): (&String, &watch::Sender<_>)| Some((name.clone(), (*sender.borrow())?));
        state.services.iter().filter_map(known).collect()
    }

    pub(super) fn watch(&self, service: &str) -> Result<Watch, Status> {
        let mut state = self.lock();
        if state.watches >= MAX_WATCHES {
            return Err(Status::resource_exhausted(format!("{MAX_WATCHES} watches are running already")));
        }
        state.watches += 1;
        let sender = state.services.entry(service.to_owned()).or_insert_with(|| watch::Sender::new(None));
        Ok(Watch { receiver: Some(sender.subscribe()), service: service.to_owned(), registry: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A name that nobody set and nobody watches any more takes no memory.
    fn drop_unused(&mut self, service: &str) {
        let unused = |sender: &watch::Sender<Option<ServingStatus>>| {
            sender.borrow().is_none() && sender.receiver_count() == 0
        };
        if self.services.get(service).is_some_and(unused) {
            self.services.remove(service);
        }
    }
}

/// One watcher of one service.
#[derive(Debug)]
pub(super) struct Watch {
    /// Present until the watch is dropped.
    receiver: Option<watch::Receiver<Option<ServingStatus>>>,
    service: String,
    registry: Registry,
}

impl Watch {
    /// The status now; the next [`changed`](Self::changed) waits for another.
    pub(super) fn current(&mut self) -> Option<ServingStatus> {
        self.receiver.as_mut().and_then(|receiver| *receiver.borrow_and_update())
    }

    /// Waits until the status is another one than [`current`](Self::current) told.
    pub(super) async fn changed(&mut self) {
        if let Some(receiver) = &mut self.receiver
            && receiver.changed().await.is_ok()
        {
            return;
        }
        // The registry lives as long as its watches, so its sender cannot be gone.
        std::future::pending::<()>().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.receiver = None;
        let mut state = self.registry.lock();
        state.watches -= 1;
        state.drop_unused(&self.service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_as_a_whole_serves_from_the_start() {
        assert_eq!(Registry::default().status(""), Some(ServingStatus::Serving));
    }

    #[test]
    fn a_name_that_was_only_watched_leaves_nothing_behind() {
        let registry = Registry::default();
        drop(registry.watch("nobody.set.it").unwrap());
        assert_eq!(registry.lock().services.len(), 1);
        assert_eq!(registry.lock().watches, 0);
    }

    #[tokio::test]
    async fn watchers_hear_of_changes_and_only_of_those() {
        let registry = Registry::default();
        let mut watch = registry.watch("a").unwrap();
        assert_eq!(watch.current(), None);
        registry.set("a", Some(ServingStatus::Serving));
        watch.changed().await;
        assert_eq!(watch.current(), Some(ServingStatus::Serving));
        registry.set("a", Some(ServingStatus::Serving));
        registry.set("b", Some(ServingStatus::Serving));
        assert!(!watch.receiver.as_ref().unwrap().has_changed().unwrap(), "the same status is no news");
        registry.set_all(ServingStatus::NotServing);
        watch.changed().await;
        assert_eq!(watch.current(), Some(ServingStatus::NotServing));
        registry.set("a", None);
        watch.changed().await;
        assert_eq!(watch.current(), None);
    }
}
