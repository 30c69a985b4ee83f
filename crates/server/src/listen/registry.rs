//! The open connections of a server, for its shutdown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call::mailbox::Mailbox;

/// Every open connection's mailbox.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    opened: u64,
    open: HashMap<u64, Arc<Mailbox>>,
}

/// A connection's place in the registry; dropping it removes the connection.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    registry: Arc<Registry>,
}

impl Entry {
    /// The connection's number, from 1.
    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().open.remove(&self.id);
    }
}

impl Registry {
    pub(super) fn add(self: &Arc<Self>, mailbox: &Arc<Mailbox>) -> Entry {
        let mut state = self.lock();
        state.opened += 1;
        let id = state.opened;
        state.open.insert(id, Arc::clone(mailbox));
        Entry { id, registry: Arc::clone(self) }
    }

    /// Connections opened so far.
    pub(super) fn opened(&self) -> u64 {
        self.lock().opened
    }

    /// Asks every connection to end gracefully. Returns how many there are.
    pub(super) fn shut_down(&self) -> usize {
        let mailboxes: Vec<_> = self.lock().open.values().map(Arc::clone).collect();
        for mailbox in &mailboxes {
            mailbox.shut_down();
        }
        mailboxes.len()
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        self.lock().open.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
