//! How much the windows of streams may grow beyond what was configured, for one connection and for all that share a
//! budget. Asked by `connection::adaptive`; `stream::store` gives back what a stream had when it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Octets of grown windows that connections share, for a bound per process. Lock-free.
#[derive(Debug)]
pub struct WindowBudget {
    limit: u64,
    used: AtomicU64,
}

impl WindowBudget {
    /// A budget of `limit` octets.
    pub fn new(limit: u64) -> Self {
        WindowBudget { limit, used: AtomicU64::new(0) }
    }

    /// Octets handed out and not yet given back.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The most there is to hand out.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes all of `octets`, or nothing and answers false. The number stands for itself, so no order of memory is
    /// needed.
    fn take(&self, octets: u64) -> bool {
        let more = |used: u64| used.checked_add(octets).filter(|used| *used <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn give(&self, octets: u64) {
        let less = |used: u64| Some(used.saturating_sub(octets));
        let _previous = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// What the streams of one connection have taken. Dropped with the connection, it gives everything back.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    limit: u64,
    taken: u64,
    budget: Option<Arc<WindowBudget>>,
}

impl Ledger {
    /// At most `limit` octets, out of `budget` if there is one.
    pub(crate) fn new(limit: u64, budget: Option<Arc<WindowBudget>>) -> Self {
        Ledger { limit, taken: 0, budget }
    }

    /// Takes all of `octets`, or nothing and answers false.
    pub(crate) fn take(&mut self, octets: u32) -> bool {
        let octets = u64::from(octets);
        let taken = self.taken.saturating_add(octets);
        let may = taken <= self.limit && self.budget.as_ref().is_none_or(|budget| budget.take(octets));
        if may {
            self.taken = taken;
        }
        may
    }

    pub(crate) fn give(&mut self, octets: u32) {
        let octets = u64::from(octets).min(self.taken);
        self.taken = self.taken.saturating_sub(octets);
        if let Some(budget) = &self.budget {
            budget.give(octets);
        }
    }

    pub(crate) fn give_all(&mut self) {
        if let Some(budget) = &self.budget {
            budget.give(self.taken);
        }
        self.taken = 0;
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.give_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_a_budget_and_give_back_what_they_took() {
        let budget = Arc::new(WindowBudget::new(100));
        let mut first = Ledger::new(80, Some(Arc::clone(&budget)));
        let mut second = Ledger::new(80, Some(Arc::clone(&budget)));
        assert!(first.take(80) && !first.take(1), "its own limit");
        assert!(second.take(20) && !second.take(1), "the budget");
        assert_eq!((budget.used(), budget.limit()), (100, 100));
        first.give(30);
        assert!(second.take(30));
        first.give(1_000);
        assert_eq!(budget.used(), 50);
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn without_a_budget_the_connections_own_limit_holds() {
        let mut ledger = Ledger::new(10, None);
        assert!(ledger.take(10) && !ledger.take(1));
        ledger.give_all();
        assert!(ledger.take(1));
        assert!(!Ledger::default().take(1));
    }
}
