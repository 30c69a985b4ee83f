//! What every codec has to do with what peers send. The vectors of `golden` were made by other implementations.

use bytes::Bytes;

use super::{Compression, Packer, Packing, inflate};
use crate::codec::BytesCodec;
use crate::message::FrameBuf;
use crate::message::{Deframer, Encoding, UnaryBody, single_message};
use crate::status::Code;

/// Bytes that no codec makes smaller, the same each time.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Bytes as messages have them: some order, some noise.
pub(crate) fn text(len: usize) -> Vec<u8> {
    let words = ["peregrine ", "wire ", "rule ", "\0\x12\x08", "stream "];
    let noise = noise(len);
    let bytes = noise.iter().flat_map(|&byte| words[usize::from(byte) % words.len()].bytes().chain([byte]));
    bytes.take(len).collect()
}

fn supported() -> impl Iterator<Item = Encoding> {
    Encoding::COMPRESSED.into_iter().filter(|encoding| encoding.is_supported())
}

/// `message` in `encoding`, by the simplest code of the codec's own library.
fn packed(encoding: Encoding, message: &[u8]) -> Vec<u8> {
    match encoding {
        #[cfg(any(feature = "gzip", feature = "deflate"))]
        Encoding::Gzip | Encoding::Deflate => {
            use std::io::Read;
            let (mut out, level) = (Vec::new(), flate2::Compression::new(6));
            let read = if encoding == Encoding::Gzip {
                flate2::read::GzEncoder::new(message, level).read_to_end(&mut out)
            } else {
                flate2::read::ZlibEncoder::new(message, level).read_to_end(&mut out)
            };
            read.unwrap();
            out
        }
        #[cfg(feature = "zstd")]
        Encoding::Zstd => {
            let mut out = Vec::with_capacity(zstd_safe::compress_bound(message.len()));
            zstd_safe::compress(&mut out, message, 3).unwrap();
            out
        }
        #[cfg(feature = "snappy")]
        Encoding::Snappy => {
            use std::io::Read;
            let mut out = Vec::new();
            snap::read::FrameEncoder::new(message).read_to_end(&mut out).unwrap();
            out
        }
        _ => unreachable!("{encoding} is not compiled in"),
    }
}

fn code(encoding: Encoding, body: &[u8], max: usize) -> Code {
    inflate(encoding, body, max).map_or_else(|status| status.code(), |_| Code::Ok)
}

fn framed(flag: u8, body: &[u8]) -> Vec<u8> {
    [&[flag][..], &(body.len() as u32).to_be_bytes(), body].concat()
}

// wire-rules B6, 40: every codec, sizes around its blocks, nothing left over in a context from one to the next.
#[test]
fn what_was_compressed_comes_back() {
    for encoding in supported() {
        for len in [0, 1, 2, 100, 511, 512, 513, 5_000, 65_535, 65_536, 65_537, 300_000] {
            for message in [text(len), noise(len), vec![0; len]] {
                let inflated = inflate(encoding, &packed(encoding, &message), len).unwrap();
                assert_eq!(inflated, message, "{encoding} of {len} bytes");
            }
        }
    }
}

// wire-rules 43, bug-reports 81: exactly at the limit passes, one less does not, the largest limit overflows nothing.
#[test]
fn the_limit_is_exact() {
    for encoding in supported() {
        for len in [1, 600, 70_000] {
            let body = packed(encoding, &text(len));
            assert_eq!(code(encoding, &body, len), Code::Ok, "{encoding} {len}");
            assert_eq!(code(encoding, &body, usize::MAX), Code::Ok, "{encoding} {len}");
            assert_eq!(code(encoding, &body, i32::MAX as usize), Code::Ok, "{encoding} {len}");
            assert_eq!(code(encoding, &body, len - 1), Code::ResourceExhausted, "{encoding} {len}");
            assert_eq!(code(encoding, &body, 0), Code::ResourceExhausted, "{encoding} {len}");
        }
    }
}

// wire-rules 43: a bomb is stopped at the limit, and its buffer is no larger than one byte more.
#[test]
fn a_bomb_is_stopped_at_the_limit() {
    for encoding in supported() {
        let body = packed(encoding, &vec![0; 5_000_000]);
        assert!(body.len() < 500_000, "{encoding}");
        assert_eq!(code(encoding, &body, 400_000), Code::ResourceExhausted, "{encoding}");
        let small = packed(encoding, &vec![0; 1_000_000]);
        let inflated = inflate(encoding, &small, 1_000_000).unwrap();
        let capacity = Vec::from(inflated).capacity();
        assert!(capacity <= 1_250_001, "{encoding}: {capacity} bytes for 1,000,000");
    }
}

// wire-rules 38, bug-reports 80: every way to cut it short ends at once.
#[test]
fn a_truncated_message_is_internal() {
    for encoding in supported() {
        let body = packed(encoding, &text(3_000));
        for len in 1..body.len() {
            // The framing format has no end mark: a cut between two chunks leaves a shorter message.
            if encoding == Encoding::Snappy && len == 10 {
                continue;
            }
            assert_eq!(code(encoding, &body[..len], 1 << 20), Code::Internal, "{encoding} cut at {len}");
        }
    }
}

// wire-rules 38 and the table "Header versus flag": raw, corrupt, bad checksum, bytes behind the end.
#[test]
fn whatever_is_not_exactly_one_message_is_internal() {
    for encoding in supported() {
        let message = text(2_000);
        let body = packed(encoding, &message);
        assert_eq!(code(encoding, &message, 1 << 20), Code::Internal, "{encoding}: raw");
        for extra in [&[0][..], b"xyz", &body] {
            // One framed stream may follow another.
            if encoding == Encoding::Snappy && extra == body {
                continue;
            }
            let longer = [&body, extra].concat();
            assert_eq!(code(encoding, &longer, 1 << 20), Code::Internal, "{encoding}: trailing bytes");
        }
    }
}

// wire-rules 38: no single bit flip is ever taken for another message, where the format has a checksum of it all.
#[test]
fn a_flipped_bit_never_changes_the_message() {
    let checked = |encoding: &Encoding| matches!(encoding, Encoding::Gzip | Encoding::Deflate);
    for encoding in supported().filter(checked) {
        let message = text(400);
        let body = packed(encoding, &message);
        for bit in 0..body.len() * 8 {
            let mut broken = body.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            if let Ok(inflated) = inflate(encoding, &broken, 1 << 20) {
                assert_eq!(inflated, message, "{encoding}: bit {bit}");
            }
        }
    }
}

// wire-rules T9: what went wrong in one message has no effect on the next.
#[test]
fn a_broken_message_leaves_nothing_behind() {
    let message = text(5_000);
    for encoding in supported() {
        let body = packed(encoding, &message);
        for len in (1..body.len()).step_by(7) {
            let _broken = inflate(encoding, &body[..len], 100);
            assert_eq!(inflate(encoding, &body, 5_000).unwrap(), message, "{encoding} after a cut at {len}");
        }
    }
}

// wire-rules 40: some peers' codecs write nothing for an empty message.
#[test]
fn no_bytes_at_all_are_an_empty_message() {
    for encoding in supported() {
        assert_eq!(inflate(encoding, &[], 0).unwrap(), Bytes::new());
        assert_eq!(inflate(encoding, &packed(encoding, &[]), 0).unwrap(), Bytes::new());
    }
}

type Row = (Encoding, u8, Vec<u8>, Result<Vec<u8>, Code>);

/// The table "Header versus flag": encoding, flag, body, result.
fn table() -> Vec<Row> {
    let message = text(700);
    let mut rows = Vec::new();
    rows.push((Encoding::Identity, 0, message.clone(), Ok(message.clone())));
    rows.push((Encoding::Identity, 1, message.clone(), Err(Code::Internal)));
    for encoding in supported() {
        let body = packed(encoding, &message);
        rows.push((encoding, 0, message.clone(), Ok(message.clone())));
        rows.push((encoding, 1, body.clone(), Ok(message.clone())));
        rows.push((encoding, 1, message.clone(), Err(Code::Internal)));
        rows.push((encoding, 1, [&body[..], b"!"].concat(), Err(Code::Internal)));
        rows.push((encoding, 1, packed(encoding, &[0; 1_001]), Err(Code::ResourceExhausted)));
        rows.push((encoding, 1, packed(encoding, &[]), Ok(Vec::new())));
        for flag in [2, 3, 0x7f, 0x80, 0x81, 0xff] {
            rows.push((encoding, flag, body.clone(), Err(Code::Internal)));
        }
    }
    rows
}

// wire-rules 31, 32, 33, 38, 43, M2, M3: the fast path, the collected body and the stream agree, however the body is cut.
#[test]
fn every_row_of_header_versus_flag_holds_on_every_path() {
    for (encoding, flag, body, expected) in table() {
        let wire = framed(flag, &body);
        let row = format!("{encoding}, flag {flag}, {} bytes", body.len());
        let fast = single_message(&wire, encoding, 1_000).map(|message| message.as_slice().to_vec());
        assert_eq!(fast.map_err(|status| status.code()), expected, "{row}");
        for cut in [0, 1, 4, 5, 6, wire.len() / 2, wire.len() - 1, wire.len()] {
            let cut = cut.min(wire.len());
            let mut collected = UnaryBody::new(encoding, 1_000);
            let pushed = collected.push(&wire[..cut]).and_then(|()| collected.push(&wire[cut..]));
            let whole = pushed.and_then(|()| collected.finish().map(|message| message.as_slice().to_vec()));
            assert_eq!(whole.map_err(|status| status.code()), expected, "{row}, cut at {cut}");
            let mut deframer = Deframer::new(encoding, 1_000);
            deframer.push(&wire[..cut]);
            let early = cut == wire.len();
            let first = deframer.next_message().map(|message| message.is_some());
            assert!(early || !matches!(first, Ok(true)), "{row}: a message before its end");
            if first.is_ok() && !early {
                deframer.push(&wire[cut..]);
                let streamed = deframer.next_message().map(|message| message.unwrap().as_slice().to_vec());
                assert_eq!(streamed.map_err(|status| status.code()), expected, "{row}, cut at {cut}");
            }
        }
    }
}

// wire-rules S1, 33, 39: each message of a stream is by itself.
#[test]
fn flags_may_change_from_message_to_message() {
    for encoding in supported() {
        let messages = [text(10), text(5_000), Vec::new(), text(1_024), text(1_023), text(70_000)];
        let mut wire = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            let is_packed = index % 2 == 1;
            let body = if is_packed { packed(encoding, message) } else { message.clone() };
            wire.extend(framed(u8::from(is_packed), &body));
        }
        let mut deframer = Deframer::new(encoding, 1 << 20);
        let (mut seen, mut taken) = (Vec::new(), 0);
        for chunk in wire.chunks(999) {
            deframer.push(chunk);
            while let Some(message) = deframer.next_message().unwrap() {
                seen.push(message.as_slice().to_vec());
                taken += deframer.last_len();
            }
        }
        assert_eq!(seen, messages, "{encoding}");
        assert_eq!(taken, wire.len(), "flow control counts what was on the wire");
    }
}

/// What leaves of `messages`, each with what its source says of it.
fn sent(packer: &Packer, messages: &[(Vec<u8>, Option<bool>)]) -> Vec<u8> {
    let mut buf = FrameBuf::new();
    for (message, wish) in messages {
        let packing = Packing::of(Some(packer), *wish);
        let message = Bytes::from(message.clone());
        buf.encode_as::<BytesCodec, _>(&message, None, usize::MAX, packing).unwrap();
    }
    buf.chunks().flatten().copied().collect()
}

/// Flag and length of each message of a body.
fn frames(mut wire: &[u8]) -> Vec<(u8, usize)> {
    let mut frames = Vec::new();
    while let [flag, a, b, c, d, rest @ ..] = wire {
        let len = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        frames.push((*flag, len));
        wire = &rest[len..];
    }
    frames
}

fn flags(wire: &[u8]) -> Vec<u8> {
    frames(wire).into_iter().map(|(flag, _)| flag).collect()
}

fn received(encoding: Encoding, wire: &[u8]) -> Vec<Vec<u8>> {
    let mut deframer = Deframer::new(encoding, usize::MAX);
    deframer.push(wire);
    std::iter::from_fn(|| deframer.next_message().unwrap().map(|message| message.as_slice().to_vec()))
        .collect()
}

// wire-rules S1, T1, F1, B4, 39, 40, bug-reports 82: each message decides alone, and is marked by what was written.
#[test]
fn sizes_decide_the_flags_of_a_stream() {
    let sizes = [10, 5_000, 0, 1_024, 1_023, 70_000];
    let messages: Vec<_> = sizes.iter().map(|&len| (text(len), None)).collect();
    for encoding in supported() {
        let wire = sent(&Packer::new(&Compression::only(encoding), encoding), &messages);
        assert_eq!(flags(&wire), [0, 1, 0, 1, 0, 1], "{encoding}");
        let expected: Vec<_> = messages.iter().map(|(message, _)| message.clone()).collect();
        assert_eq!(received(encoding, &wire), expected, "{encoding}");
    }
}

// wire-rules S3: what a message is can be read as soon as its own bytes are there.
#[test]
fn no_message_waits_for_the_next_one() {
    for encoding in supported() {
        let packer = Packer::new(&Compression::only(encoding), encoding);
        let mut deframer = Deframer::new(encoding, usize::MAX);
        for len in [5_000, 10, 70_000, 1_024] {
            deframer.push(&sent(&packer, &[(text(len), None)]));
            let message = deframer.next_message().unwrap().map(|message| message.as_slice().to_vec());
            assert_eq!(message, Some(text(len)), "{encoding}");
            assert!(deframer.unread().is_empty(), "{encoding}");
        }
    }
}

// wire-rules T1, T2, T7
#[test]
fn the_threshold_counts_bytes_before_compression() {
    for encoding in supported() {
        for threshold in [1, 21, 1_024, 4_096_u32] {
            let packer =
                Packer::new(&Compression::only(encoding).threshold(threshold).back_off(false), encoding);
            let at = threshold as usize;
            let messages = [at - 1, at, at + 1].map(|len| (vec![0; len], None));
            let compressible = u8::from(at > 200);
            let seen = flags(&sent(&packer, &messages));
            assert_eq!(seen[0], 0, "{encoding} {threshold}");
            assert!(seen[1] >= compressible && seen[2] >= compressible, "{encoding} {threshold}: {seen:?}");
        }
        let eager = Packer::new(&Compression::only(encoding).always(), encoding);
        assert_eq!(frames(&sent(&eager, &[(Vec::new(), None), (Vec::new(), Some(true))])), [(0, 0), (0, 0)]);
    }
}

// wire-rules T5: 1 KiB that does not shrink leaves as 1,029 bytes with flag 0, 1 KiB of zeros as fewer than 60.
#[test]
fn what_does_not_shrink_leaves_as_it_is() {
    for encoding in supported() {
        let packer = Packer::new(&Compression::only(encoding), encoding);
        let random = sent(&packer, &[(noise(1_024), None)]);
        assert_eq!((frames(&random), random.len()), (vec![(0, 1_024)], 1_029), "{encoding}");
        assert_eq!(random[5..], noise(1_024));
        let zeros = sent(&packer, &[(vec![0; 1_024], None)]);
        // Blocks of snappy are made of copies of at most 64 bytes.
        let most = if encoding == Encoding::Snappy { 90 } else { 60 };
        assert!(zeros[0] == 1 && zeros.len() < most, "{encoding}: {} bytes", zeros.len());
    }
}

// wire-rules T5, T9: never more bytes than the message has, and never less saved than was asked for.
#[test]
fn no_message_ever_grows() {
    for encoding in supported() {
        for (percent, wish) in [(0, None), (5, None), (50, None), (5, Some(true))] {
            let setting = Compression::only(encoding).always().min_saving(percent);
            let packer = Packer::new(&setting, encoding);
            for len in (1..200).chain([1_000, 4_097, 65_535, 65_536, 65_537, 140_000]) {
                // From compressible to not at all.
                let mut message = text(len);
                message[..len / 2].copy_from_slice(&noise(len / 2));
                for message in [message, text(len), noise(len), vec![7; len]] {
                    let wire = sent(&packer, &[(message.clone(), wish)]);
                    let (flag, left) = frames(&wire)[0];
                    let asked = if wish.is_some() { 0 } else { u64::from(percent) };
                    let most = if flag == 0 { len } else { len - (len as u64 * asked / 100).max(1) as usize };
                    assert!(left <= most, "{encoding}: {len} bytes became {left}, flag {flag}");
                    assert_eq!(received(encoding, &wire), [message], "{encoding} {len}");
                }
            }
        }
    }
}

// wire-rules T6
#[test]
fn messages_that_did_not_shrink_are_left_alone_for_a_while() {
    for encoding in supported() {
        let messages: Vec<_> =
            (0..6).map(|index| (if index < 4 { noise(2_000) } else { text(2_000) }, None)).collect();
        let backing_off = Packer::new(&Compression::only(encoding), encoding);
        assert_eq!(flags(&sent(&backing_off, &messages)), [0, 0, 0, 0, 0, 1], "{encoding}");
        let eager = Packer::new(&Compression::only(encoding).back_off(false), encoding);
        assert_eq!(flags(&sent(&eager, &messages)), [0, 0, 0, 0, 1, 1], "{encoding}");
    }
}

// wire-rules P2, 39: what a source says of one message holds for that message.
#[test]
fn one_message_can_be_told_otherwise() {
    for encoding in supported() {
        let packer = Packer::new(&Compression::only(encoding), encoding);
        let wishes = [None, Some(false), None, Some(true), None];
        let sizes = [5_000, 5_000, 500, 500, 5_000];
        let messages: Vec<_> = sizes.into_iter().map(|len| vec![0; len]).zip(wishes).collect();
        assert_eq!(flags(&sent(&packer, &messages)), [1, 0, 0, 1, 1], "{encoding}");
    }
    assert!(Packing::of(None, Some(true)).is_none(), "nothing was agreed on");
}

// wire-rules Z1, B5, T9: a message in many pieces, large ones linked, compresses to what it is in one; every level.
#[test]
fn linked_pieces_and_levels_make_no_difference_to_the_reader() {
    struct Pieces;

    impl crate::codec::Codec<Vec<Bytes>> for Pieces {
        fn encode<E: crate::codec::EncodeTarget>(
            pieces: &Vec<Bytes>,
            target: &mut E,
        ) -> Result<(), crate::codec::EncodeError> {
            let mut buf = target.begin(pieces.iter().map(Bytes::len).sum())?;
            for piece in pieces {
                buf.put_shared(piece.clone());
            }
            Ok(())
        }

        fn decode(
            _: crate::codec::Payload<'_>,
            _: &crate::codec::DecodeLimits,
        ) -> Result<Vec<Bytes>, crate::codec::DecodeError> {
            unreachable!("only written here")
        }
    }

    let pieces: Vec<_> =
        [3, 9_000, 100, 70_000, 8_192, 0, 65_536, 1].into_iter().map(|len| Bytes::from(text(len))).collect();
    for encoding in supported() {
        for level in [1, 3, 6, 9, 1] {
            let packer = Packer::new(&Compression::only(encoding).level(level), encoding);
            let mut buf = FrameBuf::new();
            buf.encode_as::<Pieces, _>(&pieces, None, usize::MAX, Packing::of(Some(&packer), None)).unwrap();
            let wire: Vec<u8> = buf.chunks().flatten().copied().collect();
            assert_eq!(flags(&wire), [1], "{encoding}");
            assert_eq!(received(encoding, &wire), [pieces.concat()], "{encoding}, level {level}");
        }
    }
}

// wire-rules 44, Z3, B3: the limit is that of the message before compression; what fails leaves nothing behind.
#[test]
fn limits_and_liars_are_found_out_before_anything_is_written() {
    struct Liar;

    impl crate::codec::Codec<usize> for Liar {
        fn encode<E: crate::codec::EncodeTarget>(
            written: &usize,
            target: &mut E,
        ) -> Result<(), crate::codec::EncodeError> {
            target.begin(2_000)?.put_slice(&vec![0; *written]);
            Ok(())
        }

        fn decode(
            _: crate::codec::Payload<'_>,
            _: &crate::codec::DecodeLimits,
        ) -> Result<usize, crate::codec::DecodeError> {
            unreachable!("only written here")
        }
    }

    for encoding in supported() {
        let packer = Packer::new(&Compression::only(encoding), encoding);
        let packing = Packing::of(Some(&packer), None);
        let mut buf = FrameBuf::new();
        for (written, limit) in [(1_999, 5_000), (2_001, 5_000), (0, 5_000), (2_000, 1_999)] {
            assert!(buf.encode_as::<Liar, _>(&written, None, limit, packing).is_err(), "{written}");
            assert!(buf.is_empty());
        }
        buf.encode_as::<Liar, _>(&2_000, None, 2_000, packing).unwrap();
        let wire: Vec<u8> = buf.chunks().flatten().copied().collect();
        assert_eq!(received(encoding, &wire), [vec![0; 2_000]]);
    }
}

/// Made by other implementations than ours use: Python's gzip and zlib, and by hand from the format's description.
mod golden {
    use super::*;

    #[cfg(feature = "gzip")]
    #[test]
    fn gzip_with_every_optional_header_field() {
        // RFC 1952 2.3: flags FHCRC, FEXTRA, FNAME, FCOMMENT.
        let plain = packed(Encoding::Gzip, b"hello");
        let mut header = vec![0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 255];
        header.extend(b"\x03\0abcname\0comment\0");
        let mut crc = flate2::Crc::new();
        crc.update(&header);
        header.extend((crc.sum() as u16).to_le_bytes());
        let body = [&header, &plain[10..]].concat();
        assert_eq!(inflate(Encoding::Gzip, &body, 5).unwrap(), &b"hello"[..]);
        for cut in 10..header.len() {
            assert_eq!(code(Encoding::Gzip, &body[..cut], 5), Code::Internal, "cut at {cut}");
        }
        let last = header.len() - 1;
        let mut broken = body.clone();
        broken[last] ^= 1;
        assert_eq!(code(Encoding::Gzip, &broken, 5), Code::Internal, "the header's checksum");
        let mut unknown = plain.clone();
        unknown[3] = 0x20;
        assert_eq!(code(Encoding::Gzip, &unknown, 5), Code::Internal, "a reserved flag");
    }

    #[cfg(feature = "deflate")]
    #[test]
    fn deflate_has_the_zlib_header() {
        let body = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15";
        assert_eq!(inflate(Encoding::Deflate, body, 5).unwrap(), &b"hello"[..]);
        assert_eq!(code(Encoding::Deflate, &body[2..11], 5), Code::Internal, "a bare stream");
    }

    #[cfg(feature = "snappy")]
    #[test]
    fn snappy_chunks_of_every_kind() {
        // An uncompressed chunk, padding and a skippable chunk between; the checksum is that of the CRC-32C of
        // "hello", 0x9a71bb4c, rotated and offset.
        let masked = 0x9a71_bb4c_u32.rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
        let start = b"\xff\x06\0\0sNaPpY";
        let hello = [&b"\x01\x09\0\0"[..], &masked, b"hello"].concat();
        let body = [&start[..], &hello, b"\xfe\x02\0\0\0\0", b"\x80\x01\0\0?", start, &hello].concat();
        assert_eq!(inflate(Encoding::Snappy, &body, 10).unwrap(), &b"hellohello"[..]);
        assert_eq!(code(Encoding::Snappy, &body, 9), Code::ResourceExhausted);
        for wrong in [&b"\x02\0\0\0"[..], b"\x7f\x01\0\0x", b"\xff\x06\0\0snappy", b"\0\x04\0\0\0\0\0\0"] {
            let body = [&start[..], wrong].concat();
            assert_eq!(code(Encoding::Snappy, &body, 100), Code::Internal, "{}", wrong.escape_ascii());
        }
        assert_eq!(code(Encoding::Snappy, &hello, 100), Code::Internal, "no stream identifier");
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn zstd_windows_are_bounded() {
        // RFC 8878 3.1.1: magic, no content size, a window of 2^30 bytes, one empty last block.
        let window = |exponent: u8| [&b"\x28\xb5\x2f\xfd\0"[..], &[exponent << 3], b"\x01\0\0"].concat();
        assert_eq!(inflate(Encoding::Zstd, &window(13), 0).unwrap(), Bytes::new());
        assert_eq!(code(Encoding::Zstd, &window(20), 1 << 20), Code::Internal);
    }
}
