//! The Huffman code of RFC 7541, 5.2 and appendix B.
//!
//! The code is canonical: within a length, codes count up in the order of the symbols, and each length goes on
//! where the shorter one stopped. So the 257 lengths are the whole table; codes and decoding tables are derived
//! from them when the crate is compiled.
//!
//! Decoding looks at the next ten bits at once. They name the symbol outright for letters, digits and the usual
//! punctuation of header fields; longer codes are found by comparing with the last code of each length.

use super::HpackError;

/// Bits that the direct table looks at.
const DIRECT_BITS: u32 = 10;
/// Length of the longest code, and of the end-of-string symbol.
const LONGEST: u32 = 30;
const SYMBOLS: usize = 257;
const END_OF_STRING: usize = 256;

/// Bytes that `text` takes when encoded, padding included.
#[inline]
#[expect(clippy::indexing_slicing, reason = "the table has more than 256 entries, the index is an octet")]
pub(super) fn encoded_len(text: &[u8]) -> usize {
    text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum::<usize>().div_ceil(8)
}

/// Appends the code of `text`, padded with ones.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "the table has more than 256 entries; `pending` stays within the bounds given below"
)]
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    // The low `pending` bits of `bits` are yet to be written: at most 31 before a symbol, 61 after it.
    let (mut bits, mut pending) = (0_u64, 0_u32);
    for byte in text {
        let Code { bits: code, len } = CODES[usize::from(*byte)];
        bits = bits << len | u64::from(code);
        pending += u32::from(len);
        if pending >= 32 {
            pending -= 32;
            out.extend_from_slice(&((bits >> pending) as u32).to_be_bytes());
        }
    }
    let padding = pending.wrapping_neg() % 8;
    bits = bits << padding | ((1 << padding) - 1);
    pending += padding;
    let tail = bits.checked_shl(64 - pending).unwrap_or(0).to_be_bytes();
    out.extend_from_slice(&tail[..pending as usize / 8]);
}

/// The text that `code` stands for, at most 8/5 of its length, in `scratch`, which only ever grows.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a length in memory eightfold cannot be had; `decode_into` answers what it wrote to `scratch`"
)]
pub(super) fn decode<'s>(code: &[u8], scratch: &'s mut Vec<u8>) -> Result<&'s [u8], HpackError> {
    // No code is shorter than five bits.
    let most = code.len() * 8 / 5;
    if scratch.len() < most {
        scratch.resize(most, 0);
    }
    let len = decode_into(code, scratch)?;
    Ok(&scratch[..len])
}

/// Returns how many bytes were written to `room`, which must hold the longest text possible.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "`pending` is 0 to 63 and at least the length of a code that is taken off; each symbol takes five bits, of which `room` holds all"
)]
fn decode_into(code: &[u8], room: &mut [u8]) -> Result<usize, HpackError> {
    let mut written = 0;
    let mut rest = code;
    // The upper `pending` bits of `bits` are next. Below them may stand bits of `rest` that count later.
    let (mut bits, mut pending) = (0_u64, 0_u32);
    while let Some(word) = rest.first_chunk() {
        bits |= u64::from_be_bytes(*word) >> pending;
        let taken = (63 - pending) / 8;
        rest = &rest[taken as usize..];
        pending += taken * 8;
        while pending >= LONGEST {
            let (symbol, len) = first_symbol(bits)?;
            room[written] = symbol;
            written += 1;
            bits <<= len;
            pending -= len;
        }
    }
    // At most seven bytes are left.
    loop {
        while pending <= 56
            && let Some((byte, after)) = rest.split_first()
        {
            bits |= u64::from(*byte) << (56 - pending);
            pending += 8;
            rest = after;
        }
        // Followed by ones, padding reads as the end-of-string symbol and an incomplete code as a long one.
        let ones = u64::MAX.checked_shr(pending).unwrap_or(0);
        if bits | ones == u64::MAX && pending < LONGEST {
            // [7541-5.2-1]
            return if pending < 8 { Ok(written) } else { Err(HpackError::HuffmanPaddingTooLong) };
        }
        let (symbol, len) = first_symbol(bits | ones)?;
        if len > pending {
            // [7541-5.2-2]
            return Err(HpackError::HuffmanPaddingNotOnes);
        }
        room[written] = symbol;
        written += 1;
        bits <<= len;
        pending -= len;
    }
}

/// The symbol whose code the upper bits begin with, and the length of that code.
#[inline]
#[expect(clippy::indexing_slicing, reason = "ten bits index a table of 2^10")]
fn first_symbol(bits: u64) -> Result<(u8, u32), HpackError> {
    let [symbol, len] = DIRECT[(bits >> (64 - DIRECT_BITS)) as usize].to_le_bytes();
    if len != 0 { Ok((symbol, u32::from(len))) } else { first_long_symbol(bits) }
}

// [7541-5.2-3]
#[cold]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "the row of the longest codes ends beyond every window; below its end a window has a rank"
)]
fn first_long_symbol(bits: u64) -> Result<(u8, u32), HpackError> {
    let window = (bits >> (64 - LONGEST)) as u32;
    let mut len = DIRECT_BITS + 1;
    // Ends at the longest codes, whose end is beyond every window.
    while window >= ROWS[len as usize].end {
        len += 1;
    }
    let row = &ROWS[len as usize];
    let rank = row.rank + ((window - row.start) >> (LONGEST - len));
    let symbol = u8::try_from(BY_RANK[rank as usize]).map_err(|_| HpackError::HuffmanEos)?;
    Ok((symbol, len))
}

/// A code, right-aligned.
#[derive(Copy, Clone)]
struct Code {
    bits: u32,
    len: u8,
}

/// All codes of one length, as numbers of [`LONGEST`] bits with the code at the top.
#[derive(Copy, Clone)]
struct Row {
    /// The first code.
    start: u32,
    /// The first number past the last code.
    end: u32,
    /// Place of the first code's symbol in [`BY_RANK`].
    rank: u32,
}

static CODES: [Code; SYMBOLS] = derive_codes();
/// What codes of at most [`DIRECT_BITS`] stand for: the symbol in the low octet, the code's length in the high
/// one; 0 where the code is longer.
static DIRECT: [u16; 1 << DIRECT_BITS] = derive_direct();
static ROWS: [Row; LONGEST as usize + 1] = derive_rows();
/// Symbols in the order of their codes.
static BY_RANK: [u16; SYMBOLS] = derive_ranks();

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn derive_ranks() -> [u16; SYMBOLS] {
    let mut ranks = [0; SYMBOLS];
    let (mut rank, mut len) = (0, 1);
    while len <= LONGEST as u8 {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] == len {
                ranks[rank] = symbol as u16;
                rank += 1;
            }
            symbol += 1;
        }
        len += 1;
    }
    assert!(rank == SYMBOLS);
    ranks
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn derive_rows() -> [Row; LONGEST as usize + 1] {
    let mut rows = [Row { start: 0, end: 0, rank: 0 }; LONGEST as usize + 1];
    let (mut code, mut rank, mut len) = (0, 0, 1);
    while len <= LONGEST {
        rows[len as usize].start = code;
        rows[len as usize].rank = rank;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as u32 == len {
                code += 1 << (LONGEST - len);
                rank += 1;
            }
            symbol += 1;
        }
        rows[len as usize].end = code;
        len += 1;
    }
    assert!(code == 1 << LONGEST, "every bit sequence has a meaning");
    rows
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn derive_codes() -> [Code; SYMBOLS] {
    let mut codes = [Code { bits: 0, len: 0 }; SYMBOLS];
    let (rows, ranks) = (derive_rows(), derive_ranks());
    let mut rank = 0;
    while rank < SYMBOLS {
        let symbol = ranks[rank] as usize;
        let len = LENGTHS[symbol];
        let row = rows[len as usize];
        let bits = (row.start >> (LONGEST - len as u32)) + (rank as u32 - row.rank);
        codes[symbol] = Code { bits, len };
        rank += 1;
    }
    codes
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "runs when the crate is compiled"
)]
const fn derive_direct() -> [u16; 1 << DIRECT_BITS] {
    let mut direct = [0; 1 << DIRECT_BITS];
    let codes = derive_codes();
    let mut symbol = 0;
    while symbol < END_OF_STRING {
        let Code { bits, len } = codes[symbol];
        if len as u32 <= DIRECT_BITS {
            let spare = DIRECT_BITS - len as u32;
            let (mut at, end) = (bits << spare, (bits + 1) << spare);
            while at < end {
                direct[at as usize] = u16::from_le_bytes([symbol as u8, len]);
                at += 1;
            }
        }
        symbol += 1;
    }
    direct
}

/// Code lengths in bits, by symbol (RFC 7541, appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::tests::{Random, hex};

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        encode(text, &mut out);
        assert_eq!(out.len(), 6 + encoded_len(text));
        out.split_off(6)
    }

    fn decoded(code: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut scratch = b"from an earlier string".to_vec();
        decode(code, &mut scratch).map(<[u8]>::to_vec)
    }

    #[test]
    fn scratch_is_as_long_as_the_longest_text_could_be() {
        let mut scratch = Vec::new();
        decode(&encoded(b"aaaaaaaaaaaaaaaa"), &mut scratch).unwrap();
        assert_eq!(scratch.len(), 16, "sixteen codes of five bits in ten octets");
    }

    /// Reads bit by bit against the list of codes: slow, and plainly what the RFC says.
    fn decoded_slowly(code: &[u8]) -> Result<Vec<u8>, HpackError> {
        let (mut out, mut bits, mut len) = (Vec::new(), 0_u32, 0_u8);
        for at in 0..code.len() * 8 {
            bits = bits << 1 | u32::from(code[at / 8] >> (7 - at % 8) & 1);
            len += 1;
            if let Some(symbol) = CODES.iter().position(|code| code.len == len && code.bits == bits) {
                if symbol == END_OF_STRING {
                    return Err(HpackError::HuffmanEos);
                }
                out.push(symbol as u8);
                (bits, len) = (0, 0);
            }
        }
        match len {
            _ if bits != (1 << len) - 1 => Err(HpackError::HuffmanPaddingNotOnes),
            0..8 => Ok(out),
            _ => Err(HpackError::HuffmanPaddingTooLong),
        }
    }

    #[test]
    fn codes_are_those_of_appendix_b() {
        for (symbol, bits, len) in [
            (b'0', 0x0, 5),
            (b'a', 0x3, 5),
            (b' ', 0x14, 6),
            (b'\\', 0x7fff0, 19),
            (0, 0x1ff8, 13),
            (b'\n', 0x3fff_fffc, 30),
            (127, 0xfff_fffc, 28),
            (128, 0xf_ffe6, 20),
            (255, 0x3ff_ffee, 26),
        ] {
            let code = CODES[usize::from(symbol)];
            assert_eq!((code.bits, code.len), (bits, len), "symbol {symbol}");
        }
        assert_eq!(CODES[256].bits, 0x3fff_ffff);
    }

    #[test]
    fn examples_of_the_rfc() {
        // RFC 7541, C.4 and C.6
        for (text, wire) in [
            ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
            ("no-cache", "a8eb10649cbf"),
            ("custom-value", "25a849e95bb8e8b4bf"),
            ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
            ("", ""),
        ] {
            assert_eq!(encoded(text.as_bytes()), hex(wire));
            assert_eq!(decoded(&hex(wire)).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn every_pair_of_symbols_round_trips() {
        for first in 0..=255 {
            for second in 0..=255 {
                let text = [first, second];
                assert_eq!(decoded(&encoded(&text)).unwrap(), text);
            }
        }
    }

    #[test]
    fn random_text_round_trips_at_every_length() {
        let mut random = Random::new(5);
        for len in 0..200 {
            let text = random.bytes(len);
            assert_eq!(decoded(&encoded(&text)).unwrap(), text);
            let text: Vec<u8> = text.iter().map(|byte| b' ' + byte % 95).collect();
            assert_eq!(decoded(&encoded(&text)).unwrap(), text);
        }
    }

    #[test]
    fn fast_and_slow_decoder_agree_on_random_bits() {
        let mut random = Random::new(6);
        for round in 0..20_000 {
            let len = random.below(24);
            let mut code = random.bytes(len);
            // Runs of ones reach the long codes, the padding rules and the end-of-string symbol.
            for byte in &mut code {
                if round % 4 != 0 && random.below(3) != 0 {
                    *byte = 0xff;
                }
            }
            assert_eq!(decoded(&code), decoded_slowly(&code), "{code:02x?}");
        }
    }

    #[test]
    fn padding_is_at_most_seven_ones() {
        // [7541-5.2-1] [7541-5.2-2]
        // RFC 7541, 5.2; `0` is five zero bits.
        assert_eq!(decoded(&[0x07]).unwrap(), b"0");
        assert_eq!(decoded(&[0x06]), Err(HpackError::HuffmanPaddingNotOnes));
        assert_eq!(decoded(&[0x00]), Err(HpackError::HuffmanPaddingNotOnes));
        assert_eq!(decoded(&[0x07, 0xff]), Err(HpackError::HuffmanPaddingTooLong));
        assert_eq!(decoded(&[0xff]), Err(HpackError::HuffmanPaddingTooLong));
    }

    #[test]
    fn end_of_string_symbol_is_refused() {
        // [7541-5.2-3]
        // RFC 7541, 5.2
        assert_eq!(decoded(&[0xff; 4]), Err(HpackError::HuffmanEos));
        assert_eq!(decoded(&[0xff; 40]), Err(HpackError::HuffmanEos));
        assert_eq!(decoded(&[0x07, 0xff, 0xff, 0xff, 0xff]), Err(HpackError::HuffmanEos));
    }
}
