//! A short seeded hash for look-ups inside one connection: encoder table, repetition filter, block memo.
//!
//! Every match is confirmed by comparing bytes, so a collision costs time, never correctness; the seed keeps a
//! peer from choosing names that collide. It is no hash for secrets.

/// Hashes `bytes` eight at a time by folded multiplication: a 64 by 64 bit product, its halves added.
#[inline]
pub(crate) fn seeded_hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(LENGTH_FACTOR);
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), WORD_FACTOR);
    }
    // The last eight bytes, which may overlap a word already taken: cheaper than copying the odd ones.
    let last = bytes.last_chunk().map_or_else(|| short(bytes), |word| u64::from_le_bytes(*word));
    fold(state ^ last, TAIL_FACTOR)
}

/// Up to seven bytes as one number; together with the length it tells them all apart.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
    }
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(a) << 8 | u64::from(b),
        [a, b, c] => u64::from(a) << 16 | u64::from(b) << 8 | u64::from(c),
        _ => 0,
    }
}

#[inline]
#[expect(clippy::arithmetic_side_effects, reason = "the product of two 64-bit numbers has 128")]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

// Odd constants with evenly mixed bits: the fractions of the square roots of 2, 3 and 5.
const LENGTH_FACTOR: u64 = 0x6a09_e667_f3bc_c909;
const WORD_FACTOR: u64 = 0xbb67_ae85_84ca_a73b;
const TAIL_FACTOR: u64 = 0x3c6e_f372_fe94_f82b;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_byte_length_and_seed_counts() {
        let mut seen = HashSet::new();
        let bytes = [0; 40];
        for len in 0..bytes.len() {
            assert!(seen.insert(seeded_hash(1, &bytes[..len])));
            for at in 0..len {
                let mut changed = bytes;
                changed[at] = 1;
                assert!(seen.insert(seeded_hash(1, &changed[..len])));
            }
        }
        assert_ne!(seeded_hash(1, b"name"), seeded_hash(2, b"name"));
    }

    #[test]
    fn every_bit_of_seed_and_bytes_reaches_every_bit_of_the_hash() {
        // How often each bit of the result changes, over all changes of one bit of what goes in.
        let (mut changes, mut flips) = ([0_u32; 64], 0);
        for number in 0..200_u64 {
            let bytes = number.wrapping_mul(WORD_FACTOR).to_be_bytes();
            let seed = number.wrapping_mul(LENGTH_FACTOR);
            let hash = seeded_hash(seed, &bytes);
            for bit in 0..64 {
                let flipped = (u64::from_be_bytes(bytes) ^ 1 << bit).to_be_bytes();
                for changed in [seeded_hash(seed, &flipped), seeded_hash(seed ^ 1 << bit, &bytes)] {
                    assert_ne!(hash, changed);
                    flips += 1;
                    for (place, count) in changes.iter_mut().enumerate() {
                        *count += u32::from((hash ^ changed) >> place & 1 == 1);
                    }
                }
            }
        }
        for (place, count) in changes.into_iter().enumerate() {
            assert!(
                (flips * 2 / 5..flips * 3 / 5).contains(&count),
                "bit {place} changes {count} of {flips} times"
            );
        }
    }
}
