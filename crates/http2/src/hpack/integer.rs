//! Integers with an N-bit prefix (RFC 7541, 5.1), and the reader of a block.

use super::HpackError;

/// Octets after the prefix that we read. Five hold 35 bits, enough for every 32-bit value; the RFC allows a
/// sender any number of redundant zero octets and tells a receiver to refuse excess.
const MAX_CONTINUATION: u32 = 5;

/// The rest of a field block.
#[derive(Copy, Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(block: &'a [u8]) -> Self {
        Self { rest: block }
    }

    /// The octet that the next representation starts with; `None` at the end of the block.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads an integer whose prefix is the low `prefix_bits` of the next octet; the bits above are the caller's.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "the callers' prefixes have 4 to 7 bits")]
    pub(super) fn integer(&mut self, prefix_bits: u32) -> Result<usize, HpackError> {
        let (&first, rest) = self.rest.split_first().ok_or(HpackError::Truncated)?;
        self.rest = rest;
        let mask = (1_u8 << prefix_bits) - 1;
        let prefix = first & mask;
        if prefix < mask { Ok(usize::from(prefix)) } else { self.continuation(prefix) }
    }

    // [7541-5.1-1]
    #[expect(clippy::arithmetic_side_effects, reason = "seven bits five times in 64")]
    fn continuation(&mut self, prefix: u8) -> Result<usize, HpackError> {
        let mut value = u64::from(prefix);
        for position in 0..MAX_CONTINUATION {
            let (&octet, rest) = self.rest.split_first().ok_or(HpackError::Truncated)?;
            self.rest = rest;
            // 7 * 5 bits cannot overflow 64.
            value += u64::from(octet & 0x7f) << (7 * position);
            if octet & 0x80 == 0 {
                let value = u32::try_from(value).map_err(|_| HpackError::IntegerTooLarge)?;
                return usize::try_from(value).map_err(|_| HpackError::IntegerTooLarge);
            }
        }
        Err(HpackError::IntegerTooLarge)
    }

    /// Takes `len` octets, if the block has them.
    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], HpackError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(HpackError::StringPastEnd)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Appends `value` with the low `prefix_bits` of its first octet as prefix and `pattern` in the bits above.
#[inline]
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the callers' prefixes have 4 to 7 bits; the value is at least the mask"
)]
pub(super) fn encode(value: usize, prefix_bits: u32, pattern: u8, out: &mut Vec<u8>) {
    let mask = (1_usize << prefix_bits) - 1;
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], prefix_bits: u32) -> Result<usize, HpackError> {
        Reader::new(bytes).integer(prefix_bits)
    }

    #[test]
    fn examples_of_the_rfc() {
        // RFC 7541, C.1.1 and C.1.2; no representation has the eight-bit prefix of C.1.3.
        for (value, wire) in [(10, &[0x0a][..]), (1337, &[0x1f, 0x9a, 0x0a])] {
            let mut out = Vec::new();
            encode(value, 5, 0, &mut out);
            assert_eq!(out, wire);
            assert_eq!(decode(wire, 5), Ok(value));
        }
    }

    #[test]
    fn round_trips_at_every_edge() {
        let edges = (0..32).flat_map(|bit| [(1_usize << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for value in edges.chain([u32::MAX as usize]) {
            for prefix_bits in 4..=7 {
                let pattern = 0xff << prefix_bits;
                let mut out = Vec::new();
                encode(value, prefix_bits, pattern, &mut out);
                assert_eq!(decode(&out, prefix_bits), Ok(value));
                assert_eq!(out[0] & pattern, pattern);
                for cut in 0..out.len() {
                    assert_eq!(decode(&out[..cut], prefix_bits), Err(HpackError::Truncated));
                }
            }
        }
    }

    #[test]
    fn redundant_zero_octets_are_read_up_to_the_bound() {
        // [7541-5.1-1]
        assert_eq!(decode(&[0x1f, 0x80, 0x80, 0x80, 0x80, 0x00], 5), Ok(31));
        assert_eq!(decode(&[0x1f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 5), Err(HpackError::IntegerTooLarge));
    }

    #[test]
    fn values_above_32_bits_are_refused() {
        // [7541-5.1-1]
        let mut out = Vec::new();
        encode(1 << 32, 5, 0, &mut out);
        assert_eq!(decode(&out, 5), Err(HpackError::IntegerTooLarge));
        assert_eq!(decode(&[0x1f, 0xff, 0xff, 0xff, 0xff, 0x7f], 5), Err(HpackError::IntegerTooLarge));
        assert_eq!(decode(&[0x1f; 1], 5), Err(HpackError::Truncated));
    }
}
