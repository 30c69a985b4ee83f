//! What a connection has refused since an observer was told last.

use peregrine_http2::Counters;

/// Compares the engine's counters with what was told of them.
#[derive(Debug, Default)]
pub struct Refusals {
    /// Most connections never refuse anything and keep nothing here.
    told: Option<Box<Counters>>,
}

impl Refusals {
    /// Calls `tell` with the name of each limit that was hit since the last time, and how often it was.
    pub fn tell(&mut self, counters: &Counters, mut tell: impl FnMut(&'static str, u64)) {
        if counters.total() == self.told.as_ref().map_or(0, |told| told.total()) {
            return;
        }
        let told = self.told.get_or_insert_default();
        for ((name, count), (_, before)) in counters.iter().zip(told.iter()) {
            if count > before {
                tell(name, count - before);
            }
        }
        told.as_mut().clone_from(counters);
    }
}
