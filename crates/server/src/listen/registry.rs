//! The open connections of a server, for its shutdown.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::mailbox::Mailbox;

/// Every open connection's mailbox and count of running calls.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    opened: u64,
    open: HashMap<u64, (Arc<Mailbox>, Arc<AtomicUsize>)>,
}

/// A connection's place in the registry; dropping it removes the connection.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    active: Arc<AtomicUsize>,
    registry: Arc<Registry>,
}

impl Entry {
    pub(super) fn active_calls(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.active)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().open.remove(&self.id);
    }
}

impl Registry {
    pub(super) fn add(self: &Arc<Self>, mailbox: &Arc<Mailbox>) -> Entry {
        let active = Arc::new(AtomicUsize::new(0));
        let mut state = self.lock();
        state.opened += 1;
        let id = state.opened;
        state.open.insert(id, (Arc::clone(mailbox), Arc::clone(&active)));
        Entry { id, active, registry: Arc::clone(self) }
    }

    /// Connections opened so far.
    pub(super) fn opened(&self) -> u64 {
        self.lock().opened
    }

    /// Asks every connection to end gracefully. Returns how many there are.
    pub(super) fn shut_down(&self) -> usize {
        let mailboxes: Vec<_> = self.lock().open.values().map(|(mailbox, _)| Arc::clone(mailbox)).collect();
        for mailbox in &mailboxes {
            mailbox.shut_down();
        }
        mailboxes.len()
    }

    /// Connections that are open, and the calls that run on them.
    pub(super) fn still_open(&self) -> (usize, usize) {
        let state = self.lock();
        let calls = state.open.values().map(|(_, active)| active.load(Ordering::Relaxed)).sum();
        (state.open.len(), calls)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
