//! How many connections a server has had and has, over all of its accept loops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The counters.
#[derive(Debug, Default)]
pub(super) struct Census {
    opened: AtomicU64,
    open: AtomicUsize,
}

/// A connection that is counted as open until this is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    id: u64,
    census: Arc<Census>,
}

impl Census {
    /// Counts one more; `None` if there are `limit` already.
    pub(super) fn add(self: &Arc<Self>, limit: usize) -> Option<Counted> {
        let more = |open: usize| (open < limit).then(|| open + 1);
        self.open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        let id = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        Some(Counted { id, census: Arc::clone(self) })
    }
}

impl Counted {
    /// The connection's number, from 1.
    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.census.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back_and_numbers_are_not() {
        let census = Arc::new(Census::default());
        let first = census.add(1).unwrap();
        assert!(census.add(1).is_none());
        drop(first);
        assert_eq!(census.add(1).unwrap().id(), 2);
    }
}
