//! How requests are compressed: what the servers of a channel accept, and the packers that its calls share.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use peregrine_core::compression::{Compression, EncodingSet, Packer};
use peregrine_core::message::Encoding;

/// Of a channel.
pub(crate) struct Packers {
    /// What a server of the channel has said it accepts, as [`EncodingSet::to_bits`]; [`UNKNOWN`] before.
    accepted: AtomicU8,
    /// Made when a call needs one, and used by all later ones.
    made: Mutex<Vec<Made>>,
}

/// A packer, and what it was made for. By method, since whether messages shrink is a matter of the method.
struct Made {
    path: Box<str>,
    setting: Compression,
    packer: Arc<Packer>,
}

/// No server has said anything.
const UNKNOWN: u8 = u8::MAX;

/// Packers kept; a channel with more methods than this makes them anew for each call of the others.
const KEPT: usize = 256;

impl Packers {
    /// A server has said what it accepts. Called for every head of a response that says so.
    #[inline]
    pub(crate) fn learn(&self, accepted: EncodingSet) {
        let bits = accepted.to_bits();
        if self.accepted.load(Ordering::Relaxed) != bits {
            self.accepted.store(bits, Ordering::Relaxed);
        }
    }

    /// How the requests of a call of the method with this path are compressed; `None` if they are not.
    pub(crate) fn packer(&self, path: &str, setting: &Compression) -> Option<Arc<Packer>> {
        if setting.is_off() {
            return None;
        }
        let encoding = self.encoding(setting)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_for = |made: &&Made| {
            made.packer.encoding() == encoding && made.setting == *setting && *made.path == *path
        };
        if let Some(made) = made.iter().find(is_for) {
            return Some(Arc::clone(&made.packer));
        }
        let packer = Arc::new(Packer::new(setting, encoding));
        if made.len() < KEPT {
            made.push(Made { path: path.into(), setting: *setting, packer: Arc::clone(&packer) });
        }
        Some(packer)
    }

    /// The first encoding that the servers are known to accept, or the one that the user has told (wire-rules P1, P3).
    fn encoding(&self, setting: &Compression) -> Option<Encoding> {
        if let Some(told) = setting.told() {
            return told.is_supported().then_some(told);
        }
        let accepted = match self.accepted.load(Ordering::Relaxed) {
            UNKNOWN => EncodingSet::NONE,
            bits => EncodingSet::from_bits(bits),
        };
        setting.encodings().find(|&encoding| encoding.is_supported() && accepted.contains(encoding))
    }
}

impl Default for Packers {
    fn default() -> Self {
        Self { accepted: AtomicU8::new(UNKNOWN), made: Mutex::default() }
    }
}

impl fmt::Debug for Packers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packers").field("accepted", &self.accepted).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules P1, P3
    #[test]
    fn an_encoding_is_used_once_the_server_is_known_to_accept_it_or_when_told() {
        let packers = Packers::default();
        let used = |setting: Compression| packers.packer("/s/m", &setting).map(|packer| packer.encoding());
        let both = Compression::prefer([Encoding::Zstd, Encoding::Gzip]);
        assert_eq!(used(both), None, "nothing is known");
        assert_eq!(used(Compression::only(Encoding::Gzip)), Some(Encoding::Gzip));
        assert_eq!(used(Compression::off()), None);
        packers.learn(EncodingSet::from_wire(b"gzip,deflate"));
        assert_eq!(used(both), Some(Encoding::Gzip));
        packers.learn(EncodingSet::from_wire(b"gzip,zstd"));
        assert_eq!(used(both), Some(Encoding::Zstd), "the first of ours counts");
        packers.learn(EncodingSet::from_wire(b"identity"));
        assert_eq!(used(both), None);
    }

    // wire-rules N6
    #[test]
    fn calls_of_a_method_share_a_packer() {
        let packers = Packers::default();
        let gzip = Compression::only(Encoding::Gzip);
        let packer = |path: &str, setting| packers.packer(path, &setting).unwrap();
        assert!(Arc::ptr_eq(&packer("/s/m", gzip), &packer("/s/m", gzip)));
        assert!(!Arc::ptr_eq(&packer("/s/m", gzip), &packer("/s/n", gzip)));
        assert!(!Arc::ptr_eq(&packer("/s/m", gzip), &packer("/s/m", gzip.level(9))));
        for method in 0..2 * KEPT {
            packer(&format!("/s/{method}"), gzip);
        }
        assert_eq!(packers.made.lock().unwrap().len(), KEPT);
    }
}
