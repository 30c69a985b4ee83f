//! How often a peer was stopped, refused or given up on, by name. Counted by the rest of `connection`, read by
//! whoever reports on connections.

/// What is counted: the limits of [`LimitConfig`](crate::LimitConfig) by their names, and what else is refused or
/// given up on.
const NAMES: [&str; 18] = [
    "resets_received",
    "resets_provoked",
    "empty_data",
    "housekeeping",
    "control_backlog",
    "continuation_frames",
    "header_list_hard_cap",
    "too_many_pings",
    "ping_strikes",
    "streams_refused",
    "header_list_too_large",
    "stream_faults",
    "stream_stall",
    "write_stall",
    "keepalive_timeout",
    "handshake_timeout",
    "settings_timeout",
    "drain_timeout",
];

/// Counts of one connection since it began ([`Connection::counters`](super::Connection::counters)).
///
/// | name | counted once for |
/// |---|---|
/// | `resets_received`, `resets_provoked`, `empty_data`, `housekeeping`, `control_backlog`, `continuation_frames`, `header_list_hard_cap`, `too_many_pings` | the end of the connection because that limit was exceeded |
/// | `ping_strikes` | a PING that came sooner than the [`PingPolicy`](super::PingPolicy) allows |
/// | `streams_refused` | a stream beyond `max_concurrent_streams`, answered with REFUSED_STREAM |
/// | `header_list_too_large` | a header list beyond `max_header_list_size` |
/// | `stream_faults` | a stream reset because the peer broke a rule of it |
/// | `stream_stall` | a stream reset because its data waited for window too long |
/// | `write_stall`, `keepalive_timeout`, `handshake_timeout`, `settings_timeout`, `drain_timeout` | the end of the connection because of that timeout |
#[derive(Clone, Debug, Default)]
pub struct Counters {
    counts: [u64; NAMES.len()],
    total: u64,
}

impl Counters {
    /// Every name with its count, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(self.counts)
    }

    /// The count of `name`; `None` for a name that does not exist.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.iter().find_map(|(known, count)| (known == name).then_some(count))
    }

    /// The sum of all, to see at a glance whether something is new.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Counts one; a name that is not known is a mistake of ours. Too rare to need more than a search.
    pub(super) fn add(&mut self, name: &'static str) {
        let place = NAMES.iter().zip(&mut self.counts).find(|(known, _)| **known == name);
        debug_assert!(place.is_some(), "no counter is named {name}");
        if let Some((_, count)) = place {
            *count = count.saturating_add(1);
            self.total = self.total.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_by_name() {
        let mut counters = Counters::default();
        for name in NAMES {
            counters.add(name);
        }
        counters.add("too_many_pings");
        assert!(counters.iter().all(|(name, count)| count == 1 + u64::from(name == "too_many_pings")));
        assert_eq!(counters.total(), 1 + NAMES.len() as u64);
        assert_eq!((counters.count("too_many_pings"), counters.count("other")), (Some(2), None));
    }
}
