//! `snappy`: the framing format, not bare blocks, as other gRPC stacks have it.
//!
//! A stream is a list of chunks: one byte of kind, three of length, then so many bytes. Blocks are at most 64 KiB of
//! the message and carry their own checksum, a masked CRC-32C.

use super::inflate::{Fault, Output};

/// What a stream begins with: a chunk of kind 0xff.
const STREAM_IDENTIFIER: &[u8; 10] = b"\xff\x06\x00\x00sNaPpY";

const COMPRESSED: u8 = 0x00;
const UNCOMPRESSED: u8 = 0x01;
/// First of the kinds that a reader passes over.
const SKIPPABLE: u8 = 0x80;
const IDENTIFIER: u8 = 0xff;

/// Bytes of the message in one block.
const BLOCK: usize = 65_536;

/// Inflates one framed stream that is all of `packed`.
pub(super) fn inflate(packed: &[u8], output: &mut Output) -> Result<(), Fault> {
    let Some(mut rest) = packed.strip_prefix(STREAM_IDENTIFIER) else {
        return Err(Fault::Corrupt("it does not begin with a stream identifier".into()));
    };
    while !rest.is_empty() {
        let Some((&[kind, a, b, c], behind)) = rest.split_first_chunk() else {
            return Err(Fault::TRUNCATED);
        };
        let len = u32::from_le_bytes([a, b, c, 0]) as usize;
        let (chunk, behind) = behind.split_at_checked(len).ok_or(Fault::TRUNCATED)?;
        match kind {
            COMPRESSED | UNCOMPRESSED => inflate_block(kind, chunk, output)?,
            IDENTIFIER if *chunk == STREAM_IDENTIFIER[4..] => {}
            IDENTIFIER => return Err(Fault::Corrupt("its stream identifier is wrong".into())),
            SKIPPABLE.. => {}
            _ => return Err(Fault::Corrupt(format!("chunks of kind {kind:#04x} are not known").into())),
        }
        rest = behind;
    }
    Ok(())
}

fn inflate_block(kind: u8, chunk: &[u8], output: &mut Output) -> Result<(), Fault> {
    let Some((checksum, block)) = chunk.split_first_chunk() else { return Err(Fault::TRUNCATED) };
    let len = if kind == COMPRESSED {
        snap::raw::decompress_len(block).map_err(|error| Fault::Corrupt(error.to_string().into()))?
    } else {
        block.len()
    };
    if len > BLOCK {
        return Err(Fault::Corrupt("a block of it is too long".into()));
    }
    if len > output.allowed() {
        return Err(Fault::TooLarge);
    }
    let start = output.bytes.len();
    if kind == COMPRESSED {
        output.bytes.resize(start + len, 0);
        snap::raw::Decoder::new()
            .decompress(block, &mut output.bytes[start..])
            .map_err(|error| Fault::Corrupt(error.to_string().into()))?;
    } else {
        output.bytes.extend_from_slice(block);
    }
    if masked_crc32c(&output.bytes[start..]) != u32::from_le_bytes(*checksum) {
        return Err(Fault::Corrupt("a checksum is wrong".into()));
    }
    Ok(())
}

/// CRC-32C, rotated and offset as the format wants it.
fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let Some((head, tail)) = chunk.split_first_chunk::<4>() else { break };
        let head = (crc ^ u32::from_le_bytes(*head)).to_le_bytes();
        crc = head.iter().chain(tail).zip((0..8).rev()).fold(0, |sum, (&byte, row)| sum ^ table(row, byte));
    }
    for &byte in chunks.remainder() {
        crc = table(0, crc as u8 ^ byte) ^ (crc >> 8);
    }
    !crc
}

fn table(row: usize, byte: u8) -> u32 {
    TABLES[row][usize::from(byte)]
}

/// Row 0: the checksum of each byte. Row n: of each byte with n zeros behind it, so that eight bytes go in one step.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    // The Castagnoli polynomial, bits reversed.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut row = 1;
    while row < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[row - 1][byte];
            tables[row][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        row += 1;
    }
    tables
}
