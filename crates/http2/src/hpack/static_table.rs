//! The static table (RFC 7541, appendix A) and what the encoder knows about names beforehand.

/// Entries of the static table; dynamic indices go on from here.
pub(super) const STATIC_LEN: usize = STATIC.len();

/// The entry with this index, which counts from 1.
#[inline]
pub(super) fn get(index: usize) -> Option<(&'static [u8], &'static [u8])> {
    STATIC.get(index.wrapping_sub(1)).map(|(name, value)| (name.as_bytes(), value.as_bytes()))
}

/// When a field may enter the encoder's dynamic table.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Policy {
    /// The value is the same from call to call: indexed the first time it is seen.
    AtOnce,
    /// Unknown: indexed once the same name and value come again.
    Repeated,
    /// The value differs from call to call: an entry would only push others out.
    Never,
}

/// A name with a static index, a policy of its own, or both.
#[derive(Copy, Clone, Debug)]
pub(super) struct KnownName {
    name: &'static str,
    /// Index of the first static entry of this name; above [`STATIC_LEN`] if there is none. No two names have
    /// the same.
    number: u8,
    /// How many static entries have it; they follow each other.
    entries: u8,
    pub(super) policy: Policy,
}

impl KnownName {
    /// A number of the name's own.
    #[inline]
    pub(super) fn number(&self) -> u8 {
        self.number
    }

    /// The index of the first static entry with this name.
    #[inline]
    pub(super) fn index(&self) -> Option<usize> {
        (self.entries != 0).then_some(usize::from(self.number))
    }

    /// The index of the static entry with this name and `value`.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "numbers of static entries, counted from 1")]
    pub(super) fn index_with(&self, value: &[u8]) -> Option<usize> {
        let first = self.index()?;
        let entries = STATIC.get(first - 1..first - 1 + usize::from(self.entries))?;
        entries.iter().position(|entry| entry.1.as_bytes() == value).map(|at| first + at)
    }
}

/// Looks `name` up among the static and the gRPC names.
#[inline]
#[expect(clippy::indexing_slicing, reason = "the slot has as many bits as the table has places")]
pub(super) fn known_name(name: &[u8]) -> Option<&'static KnownName> {
    let slot = SLOTS[slot_of(name, MULTIPLIER)];
    KNOWN.get(usize::from(slot)).filter(|known| known.name.as_bytes() == name)
}

/// Length and three characters tell all known names apart.
#[inline]
#[expect(clippy::indexing_slicing, reason = "half of a length that is at least 2")]
const fn slot_of(name: &[u8], multiplier: u32) -> usize {
    let [first, .., last] = name else { return 0 };
    let key = u32::from_le_bytes([*first, name[name.len() / 2], *last, name.len() as u8]);
    (key.wrapping_mul(multiplier) >> (32 - SLOT_BITS)) as usize
}

const SLOT_BITS: u32 = 8;
const NO_NAME: u8 = u8::MAX;
const MULTIPLIER: u32 = find_multiplier();
/// Place in [`KNOWN`] of the only name that falls on each slot.
static SLOTS: [u8; 1 << SLOT_BITS] = match fill_slots(MULTIPLIER) {
    Some(slots) => slots,
    None => panic!("the multiplier was chosen for this"),
};

/// Tries multipliers until no two names share a slot.
const fn find_multiplier() -> u32 {
    let mut candidate = 0x9e37_79b1_u32;
    while fill_slots(candidate).is_none() {
        candidate = candidate.wrapping_mul(1_664_525).wrapping_add(1_013_904_222) | 1;
    }
    candidate
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn fill_slots(multiplier: u32) -> Option<[u8; 1 << SLOT_BITS]> {
    let mut slots = [NO_NAME; 1 << SLOT_BITS];
    let mut at = 0;
    while at < KNOWN.len() {
        let slot = slot_of(KNOWN[at].name.as_bytes(), multiplier);
        if slots[slot] != NO_NAME {
            return None;
        }
        slots[slot] = at as u8;
        at += 1;
    }
    Some(slots)
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn known(name: &'static str, number: u8, policy: Policy) -> KnownName {
    let (first, mut entries) = (number as usize - 1, 0);
    while first + entries < STATIC_LEN && same(STATIC[first + entries].0, name) {
        entries += 1;
    }
    assert!(entries != 0 || number as usize > STATIC_LEN, "a static index must be that of the name");
    KnownName { name, number, entries: entries as u8, policy }
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

#[rustfmt::skip]
static KNOWN: [KnownName; 58] = [
    known(":authority", 1, Policy::AtOnce),
    known(":method", 2, Policy::AtOnce),
    known(":path", 4, Policy::AtOnce),
    known(":scheme", 6, Policy::AtOnce),
    known(":status", 8, Policy::AtOnce),
    known("accept-charset", 15, Policy::AtOnce),
    known("accept-encoding", 16, Policy::AtOnce),
    known("accept-language", 17, Policy::AtOnce),
    known("accept-ranges", 18, Policy::AtOnce),
    known("accept", 19, Policy::AtOnce),
    known("access-control-allow-origin", 20, Policy::AtOnce),
    known("age", 21, Policy::Never),
    known("allow", 22, Policy::AtOnce),
    known("authorization", 23, Policy::Repeated),
    known("cache-control", 24, Policy::AtOnce),
    known("content-disposition", 25, Policy::Repeated),
    known("content-encoding", 26, Policy::AtOnce),
    known("content-language", 27, Policy::AtOnce),
    known("content-length", 28, Policy::Never),
    known("content-location", 29, Policy::Repeated),
    known("content-range", 30, Policy::Never),
    known("content-type", 31, Policy::AtOnce),
    known("cookie", 32, Policy::Repeated),
    known("date", 33, Policy::Never),
    known("etag", 34, Policy::Repeated),
    known("expect", 35, Policy::AtOnce),
    known("expires", 36, Policy::Repeated),
    known("from", 37, Policy::Repeated),
    known("host", 38, Policy::AtOnce),
    known("if-match", 39, Policy::Repeated),
    known("if-modified-since", 40, Policy::Repeated),
    known("if-none-match", 41, Policy::Repeated),
    known("if-range", 42, Policy::Repeated),
    known("if-unmodified-since", 43, Policy::Repeated),
    known("last-modified", 44, Policy::Repeated),
    known("link", 45, Policy::Repeated),
    known("location", 46, Policy::Repeated),
    known("max-forwards", 47, Policy::Repeated),
    known("proxy-authenticate", 48, Policy::Repeated),
    known("proxy-authorization", 49, Policy::Repeated),
    known("range", 50, Policy::Never),
    known("referer", 51, Policy::Repeated),
    known("refresh", 52, Policy::Repeated),
    known("retry-after", 53, Policy::Repeated),
    known("server", 54, Policy::AtOnce),
    known("set-cookie", 55, Policy::Repeated),
    known("strict-transport-security", 56, Policy::AtOnce),
    known("transfer-encoding", 57, Policy::AtOnce),
    known("user-agent", 58, Policy::AtOnce),
    known("vary", 59, Policy::AtOnce),
    known("via", 60, Policy::AtOnce),
    known("www-authenticate", 61, Policy::Repeated),
    known("te", 62, Policy::AtOnce),
    known("grpc-encoding", 63, Policy::AtOnce),
    known("grpc-accept-encoding", 64, Policy::AtOnce),
    known("grpc-status", 65, Policy::AtOnce),
    known("grpc-message", 66, Policy::Never),
    known("grpc-timeout", 67, Policy::Never),
];

#[rustfmt::skip]
static STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"), (":method", "POST"),
    (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"),
    (":status", "200"), (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_from_one_and_end_at_61() {
        // RFC 7541, appendix A
        assert_eq!(get(0), None);
        assert_eq!(get(1), Some((&b":authority"[..], &b""[..])));
        assert_eq!(get(2), Some((&b":method"[..], &b"GET"[..])));
        assert_eq!(get(16), Some((&b"accept-encoding"[..], &b"gzip, deflate"[..])));
        assert_eq!(get(61), Some((&b"www-authenticate"[..], &b""[..])));
        assert_eq!(get(62), None);
        assert_eq!(get(usize::MAX), None);
    }

    #[test]
    fn every_static_name_is_known_by_its_first_index() {
        for (at, (name, value)) in STATIC.iter().enumerate() {
            let first = STATIC.iter().position(|entry| entry.0 == *name).unwrap() + 1;
            let known = known_name(name.as_bytes()).unwrap();
            assert_eq!((known.name, known.index()), (*name, Some(first)));
            assert_eq!(known.index_with(value.as_bytes()), Some(at + 1));
            assert_eq!(known.index_with(b"other"), None);
        }
    }

    #[test]
    fn other_names_are_unknown() {
        for name in ["", "t", "x", "tf", "grpc-statut", ":statut", "x-request-id"] {
            assert!(known_name(name.as_bytes()).is_none(), "{name}");
        }
        assert!(known_name(&vec![b'a'; 70_000]).is_none());
        assert_eq!(known_name(b"grpc-timeout").unwrap().policy, Policy::Never);
    }

    #[test]
    fn names_are_compared_whole() {
        assert!(same("", "") && same("accept", "accept"));
        for (left, right) in [("accept", "accept-encoding"), ("", "a"), ("age", "agf"), ("age", "bge")] {
            assert!(!same(left, right) && !same(right, left), "{left} {right}");
        }
    }
}
