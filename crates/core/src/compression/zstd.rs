//! `zstd` (RFC 8878) by its reference library.

use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::contexts::Kept;
use super::inflate::{Fault, Output};

/// Binary logarithm of the largest window that a frame may ask for: 8 MiB, what every decoder has to support (RFC
/// 8878 3.1.1.1.2). The window is memory beside the message's own, which a frame of a few bytes could claim.
const WINDOW_LOG: u32 = 23;

/// State that is kept for the next message may have so many bytes; one with a large window is freed instead.
const KEPT_BYTES: usize = 2 * 1024 * 1024;

thread_local! {
    static INFLATER: Kept<DCtx<'static>> = const { Kept::new() };
    static PACKER: Kept<CCtx<'static>> = const { Kept::new() };
}

/// Inflates one frame that is all of `packed`.
pub(super) fn inflate(packed: &[u8], output: &mut Output) -> Result<(), Fault> {
    if let Ok(Some(size)) = zstd_safe::get_frame_content_size(packed) {
        output.expect(size);
    }
    INFLATER.with(|kept| {
        let mut inflater = kept.take_or(DCtx::create);
        inflater.reset(ResetDirective::SessionOnly).map_err(failed)?;
        inflater.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).map_err(failed)?;
        let inflated = inflate_with(&mut inflater, packed, output);
        if inflater.sizeof() <= KEPT_BYTES {
            kept.put_back(inflater);
        }
        inflated
    })
}

fn inflate_with(inflater: &mut DCtx<'_>, packed: &[u8], output: &mut Output) -> Result<(), Fault> {
    let mut input = InBuffer::around(packed);
    loop {
        let before = (input.pos(), output.bytes.len());
        let mut room = OutBuffer::around_pos(&mut output.bytes, before.1);
        let hint = inflater.decompress_stream(&mut room, &mut input).map_err(failed)?;
        output.check()?;
        if hint == 0 {
            return if input.pos() == packed.len() { Ok(()) } else { Err(Fault::TRAILING) };
        }
        if before == (input.pos(), output.bytes.len()) {
            if output.has_room() {
                return Err(Fault::TRUNCATED);
            }
            output.grow()?;
        }
    }
}

fn failed(code: usize) -> Fault {
    Fault::Corrupt(zstd_safe::get_error_name(code).into())
}

/// Compresses the message of `len` bytes in `chunks` into the front of `room`; `None` if it does not fit.
pub(super) fn pack<'a>(
    chunks: impl Iterator<Item = &'a [u8]>,
    len: usize,
    level: i8,
    room: &mut [u8],
) -> Option<usize> {
    PACKER.with(|kept| {
        let mut packer = kept.take_or(CCtx::create);
        let packed = pack_with(&mut packer, chunks, len, level, room);
        if packer.sizeof() <= KEPT_BYTES {
            kept.put_back(packer);
        }
        packed
    })
}

fn pack_with<'a>(
    packer: &mut CCtx<'_>,
    chunks: impl Iterator<Item = &'a [u8]>,
    len: usize,
    level: i8,
    room: &mut [u8],
) -> Option<usize> {
    packer.reset(ResetDirective::SessionOnly).ok()?;
    packer.set_parameter(CParameter::CompressionLevel(i32::from(level))).ok()?;
    // The reader learns the size, and the tables are made for it.
    packer.set_pledged_src_size(Some(len as u64)).ok()?;
    let mut output = OutBuffer::around(room);
    let mut rest = len;
    for chunk in chunks {
        rest -= chunk.len();
        let directive =
            if rest == 0 { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_continue };
        let mut input = InBuffer::around(chunk);
        loop {
            let before = (input.pos(), output.pos());
            let hint = packer.compress_stream2(&mut output, &mut input, directive).ok()?;
            let is_done = if rest == 0 { hint == 0 } else { input.pos() == chunk.len() };
            if is_done {
                break;
            }
            if before == (input.pos(), output.pos()) {
                return None;
            }
        }
    }
    Some(output.pos())
}
