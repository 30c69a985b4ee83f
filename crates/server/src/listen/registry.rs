//! The open connections of an accept loop, for its shutdown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::census::Counted;
use crate::call::mailbox::Mailbox;

/// Every open connection's mailbox.
#[derive(Debug, Default)]
pub(super) struct Registry {
    open: Mutex<HashMap<u64, Arc<Mailbox>>>,
}

/// A connection's place in the registry; dropping it removes the connection.
#[derive(Debug)]
pub(super) struct Entry {
    counted: Counted,
    registry: Arc<Registry>,
}

impl Entry {
    /// The connection's number, from 1.
    pub(super) fn id(&self) -> u64 {
        self.counted.id()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.id());
    }
}

impl Registry {
    pub(super) fn add(self: &Arc<Self>, counted: Counted, mailbox: &Arc<Mailbox>) -> Entry {
        self.lock().insert(counted.id(), Arc::clone(mailbox));
        Entry { counted, registry: Arc::clone(self) }
    }

    /// Asks every connection to end gracefully. Returns how many there are.
    pub(super) fn shut_down(&self) -> usize {
        let mailboxes: Vec<_> = self.lock().values().map(Arc::clone).collect();
        for mailbox in &mailboxes {
            mailbox.shut_down();
        }
        mailboxes.len()
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Mailbox>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
