//! The connections whose client has not spoken HTTP/2 yet, and how many there may be.
//!
//! Each costs a socket and, with TLS, some kilobytes, and its client has shown nothing for it: thousands of half-open
//! handshakes are the cheapest attack there is (http2-abuse 42). When there are too many the *oldest* is cut. An honest
//! client is through after two or three round trips and becomes the oldest only if a whole limit's worth of connections
//! came after it in that time; refusing the newest instead would let an attacker who keeps the list full lock everyone
//! out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peregrine_core::PeerAddr;
use tokio::task::AbortHandle;

/// The list, by the order of arrival.
#[derive(Debug)]
pub(super) struct PendingList {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    arrived: u64,
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    peer: PeerAddr,
    /// Once it is spawned.
    task: Option<AbortHandle>,
}

/// A connection's place in the list; dropping it says that the client has spoken, or is gone.
#[derive(Debug)]
pub(super) struct Pending {
    id: u64,
    list: Arc<PendingList>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.list.lock().waiting.remove(&self.id);
    }
}

impl PendingList {
    /// A list of at most `limit` connections, but at least one.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), state: Mutex::default() })
    }

    /// A place for a new connection, and whose had to go for it.
    pub(super) fn add(self: &Arc<Self>, peer: &PeerAddr) -> (Pending, Option<PeerAddr>) {
        let mut state = self.lock();
        let oldest = if state.waiting.len() >= self.limit { state.waiting.pop_first() } else { None };
        state.arrived += 1;
        let id = state.arrived;
        state.waiting.insert(id, Waiting { peer: peer.clone(), task: None });
        drop(state);
        let cut = oldest.map(|(_, oldest)| {
            // Outside of the lock: a task may be dropped on the spot, and its place with it.
            if let Some(task) = oldest.task {
                task.abort();
            }
            oldest.peer
        });
        (Pending { id, list: Arc::clone(self) }, cut)
    }

    /// Remembers the task of the connection at `id`, if its client has not spoken meanwhile.
    pub(super) fn on_spawned(&self, id: u64, task: AbortHandle) {
        if let Some(place) = self.lock().waiting.get_mut(&id) {
            place.task = Some(task);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// The key for [`PendingList::on_spawned`].
    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room_and_places_are_given_back() {
        let list = PendingList::new(2);
        let (first, cut) = list.add(&PeerAddr::Unknown);
        assert!(cut.is_none());
        let (second, cut) = list.add(&PeerAddr::Unknown);
        assert!(cut.is_none());
        drop(first);
        let (_third, cut) = list.add(&PeerAddr::Unknown);
        assert!(cut.is_none(), "the first has left");
        let (_fourth, cut) = list.add(&PeerAddr::Unknown);
        assert!(cut.is_some());
        let waiting: Vec<_> = list.lock().waiting.keys().copied().collect();
        assert_eq!(waiting, [3, 4], "the second was the oldest");
        drop(second);
        assert_eq!(list.lock().waiting.len(), 2);
    }
}
