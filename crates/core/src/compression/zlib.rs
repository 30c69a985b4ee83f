//! `gzip` (RFC 1952) and `deflate` (RFC 1950, that is with the zlib header) on zlib-rs.
//!
//! The gzip wrapper is read here and not by the library, whose inflater keeps its state from message to message only
//! for the other two formats.

use flate2::{
    Compress, Compression as Level, Decompress, FlushCompress, FlushDecompress, Status as Progress,
};

use super::contexts::Kept;
use super::inflate::{Fault, Output};

thread_local! {
    static INFLATER: Kept<Decompress> = const { Kept::new() };
}

/// The state that compresses, and its level.
type Deflater = (i8, Compress);

#[cfg(feature = "gzip")]
thread_local! {
    static GZIP: Kept<Deflater> = const { Kept::new() };
}

#[cfg(feature = "deflate")]
thread_local! {
    static ZLIB: Kept<Deflater> = const { Kept::new() };
}

/// Binary logarithm of the window: the largest that the format has.
#[cfg(feature = "gzip")]
const WINDOW_LOG: u8 = 15;

/// Compresses the message in `chunks` into the front of `room`; `None` if it does not fit.
#[cfg(feature = "gzip")]
pub(super) fn pack_gzip<'a>(
    chunks: impl Iterator<Item = &'a [u8]>,
    level: i8,
    room: &mut [u8],
) -> Option<usize> {
    let make = || Compress::new_gzip(Level::new(level as u32), WINDOW_LOG);
    GZIP.with(|kept| pack(kept, level, make, chunks, room))
}

/// As [`pack_gzip`], for the zlib format.
#[cfg(feature = "deflate")]
pub(super) fn pack_zlib<'a>(
    chunks: impl Iterator<Item = &'a [u8]>,
    level: i8,
    room: &mut [u8],
) -> Option<usize> {
    let make = || Compress::new(Level::new(level as u32), true);
    ZLIB.with(|kept| pack(kept, level, make, chunks, room))
}

fn pack<'a>(
    kept: &Kept<Deflater>,
    level: i8,
    make: impl Fn() -> Compress,
    chunks: impl Iterator<Item = &'a [u8]>,
    room: &mut [u8],
) -> Option<usize> {
    let (kept_level, mut deflater) = kept.take_or(|| (level, make()));
    if kept_level == level {
        deflater.reset();
    } else {
        deflater = make();
    }
    let packed = pack_with(&mut deflater, chunks, room);
    if packed.is_some() || run_out(&mut deflater).is_some() {
        kept.put_back((level, deflater));
    }
    packed
}

/// Ends a stream that found no room. Reset in the midst of one, zlib-rs 0.6.8 begins the next with what was pending.
fn run_out(deflater: &mut Compress) -> Option<()> {
    let mut nowhere = [0; 4096];
    loop {
        let before = deflater.total_out();
        let progress = deflater.compress(&[], &mut nowhere, FlushCompress::Finish).ok()?;
        if progress == Progress::StreamEnd {
            return Some(());
        }
        if before == deflater.total_out() {
            return None;
        }
    }
}

fn pack_with<'a>(
    deflater: &mut Compress,
    chunks: impl Iterator<Item = &'a [u8]>,
    room: &mut [u8],
) -> Option<usize> {
    let parts = chunks.map(|chunk| (chunk, FlushCompress::None)).chain([(&[][..], FlushCompress::Finish)]);
    for (mut part, flush) in parts {
        let is_last = matches!(flush, FlushCompress::Finish);
        while is_last || !part.is_empty() {
            let before = (deflater.total_in(), deflater.total_out());
            let free = room.get_mut(before.1 as usize..)?;
            let progress = deflater.compress(part, free, flush).ok()?;
            let (taken, written) = (deflater.total_in() - before.0, deflater.total_out() - before.1);
            if progress == Progress::StreamEnd {
                return Some(deflater.total_out() as usize);
            }
            // Neither in nor out: the room is full.
            if (taken, written) == (0, 0) {
                return None;
            }
            part = &part[taken as usize..];
        }
    }
    None
}

/// Inflates one gzip member that is all of `packed`.
#[cfg(feature = "gzip")]
pub(super) fn inflate_gzip(packed: &[u8], output: &mut Output) -> Result<(), Fault> {
    let deflated = skip_gzip_header(packed)?;
    // The length modulo 2^32 is the last thing in the member; wrong ones are found out below.
    if let Some(claim) = packed.last_chunk::<4>() {
        output.expect(u64::from(u32::from_le_bytes(*claim)));
    }
    let consumed = inflate(deflated, false, output)?;
    let trailer = &deflated[consumed..];
    let Some((trailer, rest)) = trailer.split_first_chunk::<8>() else { return Err(Fault::TRUNCATED) };
    let (sum, amount) = trailer.split_at(4);
    let mut crc = flate2::Crc::new();
    crc.update(&output.bytes);
    if crc.sum().to_le_bytes() != *sum || crc.amount().to_le_bytes() != *amount {
        return Err(Fault::Corrupt("its checksum is wrong".into()));
    }
    if rest.is_empty() { Ok(()) } else { Err(Fault::TRAILING) }
}

/// Inflates one zlib stream that is all of `packed`.
#[cfg(feature = "deflate")]
pub(super) fn inflate_zlib(packed: &[u8], output: &mut Output) -> Result<(), Fault> {
    let consumed = inflate(packed, true, output)?;
    if consumed == packed.len() { Ok(()) } else { Err(Fault::TRAILING) }
}

/// Inflates to the end of a stream, with the zlib header and checksum or without; returns how much of `packed` that
/// was.
fn inflate(packed: &[u8], zlib_header: bool, output: &mut Output) -> Result<usize, Fault> {
    INFLATER.with(|kept| {
        let mut inflater = kept.take_or(|| Decompress::new(zlib_header));
        inflater.reset(zlib_header);
        let consumed = inflate_with(&mut inflater, packed, output);
        kept.put_back(inflater);
        consumed
    })
}

fn inflate_with(inflater: &mut Decompress, packed: &[u8], output: &mut Output) -> Result<usize, Fault> {
    loop {
        let before = (inflater.total_in(), output.bytes.len());
        let rest = packed.get(before.0 as usize..).unwrap_or_default();
        let progress = inflater
            .decompress_vec(rest, &mut output.bytes, FlushDecompress::None)
            .map_err(|error| Fault::Corrupt(error.to_string().into()))?;
        output.check()?;
        if progress == Progress::StreamEnd {
            return Ok(inflater.total_in() as usize);
        }
        // The end of a stream may need no room: it is asked for only when nothing moves without.
        if before == (inflater.total_in(), output.bytes.len()) {
            if output.has_room() {
                return Err(Fault::TRUNCATED);
            }
            output.grow()?;
        }
    }
}

/// What follows the header of a gzip member (RFC 1952 2.3).
#[cfg(feature = "gzip")]
fn skip_gzip_header(packed: &[u8]) -> Result<&[u8], Fault> {
    const CRC: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let Some(([magic_a, magic_b, method, flags, ..], mut rest)) = packed.split_first_chunk::<10>() else {
        return Err(Fault::TRUNCATED);
    };
    if [*magic_a, *magic_b, *method] != [0x1f, 0x8b, 8] || flags & 0xe0 != 0 {
        return Err(Fault::Corrupt("it does not begin with a gzip header".into()));
    }
    if flags & EXTRA != 0 {
        let (len, behind) = rest.split_first_chunk::<2>().ok_or(Fault::TRUNCATED)?;
        rest = behind.get(usize::from(u16::from_le_bytes(*len))..).ok_or(Fault::TRUNCATED)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0).ok_or(Fault::TRUNCATED)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & CRC != 0 {
        let (found, behind) = rest.split_first_chunk::<2>().ok_or(Fault::TRUNCATED)?;
        let header = &packed[..packed.len() - rest.len()];
        let mut crc = flate2::Crc::new();
        crc.update(header);
        if u16::from_le_bytes(*found) != crc.sum() as u16 {
            return Err(Fault::Corrupt("its header's checksum is wrong".into()));
        }
        rest = behind;
    }
    Ok(rest)
}
