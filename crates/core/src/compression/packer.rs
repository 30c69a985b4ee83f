//! [`Packer`]: the compression of one direction of one method, and when it is not worth a try.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Compression;
use crate::message::Encoding;
use crate::observe::{MessageCompression, MessageSize};

/// Compresses the messages of a method that go one way. Made when a server or a channel is built, and shared by the
/// calls (wire-rules N6, T8).
#[derive(Debug)]
pub struct Packer {
    encoding: Encoding,
    level: i8,
    threshold: usize,
    min_saving: u8,
    /// `None` if every message is tried.
    back_off: Option<BackOff>,
}

impl Packer {
    /// `setting` with one of its encodings.
    pub fn new(setting: &Compression, encoding: Encoding) -> Self {
        let (threshold, min_saving, backs_off) = setting.parts();
        Self {
            encoding,
            level: setting.level_of(encoding),
            // An empty message never gets smaller (wire-rules 40, T2, T7).
            threshold: (threshold as usize).max(1),
            min_saving,
            back_off: backs_off.then(BackOff::default),
        }
    }

    /// What `grpc-encoding` says.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether a message of `len` bytes is tried (wire-rules T1, T6).
    #[inline]
    pub fn wants(&self, len: usize) -> bool {
        len >= self.threshold && self.back_off.as_ref().is_none_or(BackOff::is_over)
    }

    /// The most that a message of `len` bytes may have left (wire-rules T5).
    fn most(&self, len: usize, is_forced: bool) -> usize {
        if is_forced {
            return len.saturating_sub(1);
        }
        let saving = (len as u64 * u64::from(self.min_saving)).div_ceil(100);
        len.saturating_sub((saving as usize).max(1))
    }

    /// Compresses the message in `chunks`, of `len` bytes in all, into the front of `packed`, which grows as needed.
    /// Returns how much that is; `None` if it is not worth it.
    fn pack<'a>(
        &self,
        chunks: impl Iterator<Item = &'a [u8]>,
        len: usize,
        is_forced: bool,
        packed: &mut Vec<u8>,
    ) -> Option<usize> {
        let most = self.most(len, is_forced);
        if packed.len() < most {
            packed.resize(most, 0);
        }
        let done = self.pack_into(chunks, len, &mut packed[..most]);
        if let Some(back_off) = &self.back_off {
            back_off.record(done.is_some());
        }
        done
    }

    fn pack_into<'a>(
        &self,
        chunks: impl Iterator<Item = &'a [u8]>,
        len: usize,
        room: &mut [u8],
    ) -> Option<usize> {
        match self.encoding {
            #[cfg(feature = "gzip")]
            Encoding::Gzip => super::zlib::pack_gzip(chunks, self.level, room),
            #[cfg(feature = "deflate")]
            Encoding::Deflate => super::zlib::pack_zlib(chunks, self.level, room),
            #[cfg(feature = "zstd")]
            Encoding::Zstd => super::zstd::pack(chunks, len, self.level, room),
            #[cfg(feature = "snappy")]
            Encoding::Snappy => super::snappy::pack(chunks, len, room),
            _ => {
                let _ = (chunks, len, room, self.level);
                None
            }
        }
    }
}

/// What becomes of one message: a packer, unless the message's own source has said otherwise (wire-rules P2).
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a> {
    packer: &'a Packer,
    /// The source wants it compressed whatever its size.
    is_forced: bool,
}

impl<'a> Packing<'a> {
    /// How a message goes whose call has `packer`; `wish` is what its source said.
    #[inline]
    pub fn of(packer: Option<&'a Packer>, wish: Option<bool>) -> Option<Self> {
        match (packer, wish) {
            (None, _) | (Some(_), Some(false)) => None,
            (Some(packer), wish) => Some(Self { packer, is_forced: wish == Some(true) }),
        }
    }

    /// Whether a message of `len` bytes is tried.
    #[inline]
    pub fn wants(&self, len: usize) -> bool {
        if self.is_forced { len > 0 } else { self.packer.wants(len) }
    }

    pub(super) fn pack<'c>(
        &self,
        chunks: impl Iterator<Item = &'c [u8]>,
        len: usize,
        packed: &mut Vec<u8>,
    ) -> Option<usize> {
        self.packer.pack(chunks, len, self.is_forced, packed)
    }
}

/// A message that was encoded, in bytes without its prefix: what there is to tell an observer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Before compression.
    pub raw_len: usize,
    /// What leaves of a message that a packer has tried; `None` if none has.
    pub tried_len: Option<usize>,
}

impl Written {
    /// What became of the message, which had this `packing` (wire-rules T1, T5, T6).
    pub fn size(self, packing: Option<Packing<'_>>) -> MessageSize {
        let Self { raw_len, tried_len } = self;
        let wire_len = tried_len.unwrap_or(raw_len);
        let compression = match (packing, tried_len) {
            (None, _) => MessageCompression::Off,
            (Some(packing), Some(len)) if len < raw_len => MessageCompression::With(packing.packer.encoding),
            (Some(_), Some(_)) => MessageCompression::NoGain,
            (Some(packing), None) if raw_len < packing.packer.threshold => MessageCompression::BelowThreshold,
            (Some(_), None) => MessageCompression::BackedOff,
        };
        MessageSize::sent(raw_len, wire_len, compression)
    }
}

/// Messages that are not tried because those before them did not shrink (wire-rules T6).
///
/// Shared by the calls of a method without a lock: two that race may try one message more or less.
#[derive(Debug, Default)]
struct BackOff {
    /// Misses in a row in the low byte, messages still to be skipped above it.
    state: AtomicU32,
}

/// Misses in a row before any message is skipped.
const PATIENCE: u32 = 4;
/// Messages skipped at most, as a power of two.
const MOST_SKIPPED: u32 = 6;

impl BackOff {
    #[inline]
    fn is_over(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        if state < 1 << 8 {
            return true;
        }
        self.state.store(state - (1 << 8), Ordering::Relaxed);
        false
    }

    fn record(&self, has_shrunk: bool) {
        let state = self.state.load(Ordering::Relaxed);
        let next = if has_shrunk {
            0
        } else {
            let misses = ((state & 0xff) + 1).min(PATIENCE + MOST_SKIPPED);
            let skipped = misses.checked_sub(PATIENCE).map_or(0, |power| 1 << power);
            skipped << 8 | misses
        };
        if next != state {
            self.state.store(next, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules T1, T2
    #[test]
    fn the_threshold_is_exact() {
        for threshold in [1, 21, 1024, 4096_u32] {
            let packer = Packer::new(&Compression::off().threshold(threshold), Encoding::Gzip);
            let at = threshold as usize;
            assert_eq!([at - 1, at, at + 1].map(|len| packer.wants(len)), [false, true, true], "{threshold}");
        }
        let zero = Packer::new(&Compression::off().threshold(0), Encoding::Gzip);
        assert!(!zero.wants(0) && zero.wants(1), "an empty message is never tried");
    }

    // wire-rules T5
    #[test]
    fn the_saving_is_exact() {
        let most = |percent, len| {
            Packer::new(&Compression::off().min_saving(percent), Encoding::Gzip).most(len, false)
        };
        assert_eq!([most(0, 1000), most(5, 1000), most(5, 1001), most(99, 1000)], [999, 950, 950, 10]);
        assert_eq!([most(0, 1), most(5, 1), most(50, u32::MAX as usize)], [0, 0, (u32::MAX / 2) as usize]);
    }

    // wire-rules T1, T5, T6, T8
    #[test]
    fn what_is_told_of_a_message_names_the_rule_that_decided() {
        let packer = Packer::new(&Compression::off().threshold(100), Encoding::Gzip);
        let told = |wish, raw_len, tried_len| {
            let size = Written { raw_len, tried_len }.size(Packing::of(Some(&packer), wish));
            (size.wire_len, size.compression)
        };
        assert_eq!(told(None, 99, None), (99, MessageCompression::BelowThreshold));
        assert_eq!(told(None, 0, None), (0, MessageCompression::BelowThreshold));
        assert_eq!(told(None, 100, None), (100, MessageCompression::BackedOff));
        assert_eq!(told(None, 100, Some(100)), (100, MessageCompression::NoGain));
        assert_eq!(told(None, 100, Some(40)), (40, MessageCompression::With(Encoding::Gzip)));
        assert_eq!(told(Some(true), 9, Some(8)), (8, MessageCompression::With(Encoding::Gzip)));
        assert_eq!(told(Some(false), 100, None), (100, MessageCompression::Off));
        let off = Written { raw_len: 7, tried_len: None }.size(None);
        assert_eq!((off.wire_len, off.compression), (7, MessageCompression::Off));
    }

    // wire-rules T6
    #[test]
    fn misses_in_a_row_make_longer_and_longer_breaks() {
        let back_off = BackOff::default();
        let mut breaks = Vec::new();
        for _ in 0..14 {
            let skipped = std::iter::from_fn(|| (!back_off.is_over()).then_some(())).count();
            breaks.push(skipped);
            back_off.record(false);
        }
        assert_eq!(breaks, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]);
        while !back_off.is_over() {}
        back_off.record(true);
        assert!(back_off.is_over(), "one that shrinks ends it");
        back_off.record(false);
        assert!(back_off.is_over());
    }
}
