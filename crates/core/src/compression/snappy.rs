//! `snappy`: the framing format, not bare blocks, as other gRPC stacks have it.
//!
//! A stream is a list of chunks: one byte of kind, three of length, then so many bytes. Blocks are at most 64 KiB of
//! the message and carry their own checksum, a masked CRC-32C.

use super::contexts::Kept;
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

thread_local! {
    static PACKER: Kept<Box<Packer>> = const { Kept::new() };
}

/// State that is used again.
struct Packer {
    encoder: snap::raw::Encoder,
    /// A block of the message, if it lies in more than one piece.
    block: Vec<u8>,
    /// The same, compressed.
    packed: Vec<u8>,
}

/// Compresses the message of `len` bytes in `chunks` into the front of `room`; `None` if it does not fit.
pub(super) fn pack<'a>(chunks: impl Iterator<Item = &'a [u8]>, len: usize, room: &mut [u8]) -> Option<usize> {
    PACKER.with(|kept| {
        let mut packer = kept.take_or(Packer::new);
        let mut out = Room { room, len: 0 };
        let packed = out.put(STREAM_IDENTIFIER).and_then(|()| packer.pack_blocks(chunks, len, &mut out));
        kept.put_back(packer);
        packed.map(|()| out.len)
    })
}

impl Packer {
    fn new() -> Box<Self> {
        let packed = vec![0; snap::raw::max_compress_len(BLOCK)];
        Box::new(Self { encoder: snap::raw::Encoder::new(), block: Vec::new(), packed })
    }

    fn pack_blocks<'a>(
        &mut self,
        chunks: impl Iterator<Item = &'a [u8]>,
        len: usize,
        out: &mut Room<'_>,
    ) -> Option<()> {
        self.block.clear();
        let mut rest = len;
        for mut chunk in chunks {
            while !chunk.is_empty() {
                let wanted = BLOCK.min(rest) - self.block.len();
                let (piece, behind) = chunk.split_at(wanted.min(chunk.len()));
                chunk = behind;
                if self.block.is_empty() && piece.len() == wanted {
                    pack_block(&mut self.encoder, &mut self.packed, piece, out)?;
                } else {
                    self.block.extend_from_slice(piece);
                    if piece.len() < wanted {
                        continue;
                    }
                    pack_block(&mut self.encoder, &mut self.packed, &self.block, out)?;
                }
                rest -= BLOCK.min(rest);
                self.block.clear();
            }
        }
        Some(())
    }
}

/// Writes one block as a chunk, compressed if that makes it smaller.
fn pack_block(
    encoder: &mut snap::raw::Encoder,
    packed: &mut [u8],
    block: &[u8],
    out: &mut Room<'_>,
) -> Option<()> {
    let len = encoder.compress(block, packed).ok()?;
    let (kind, body) = if len < block.len() { (COMPRESSED, &packed[..len]) } else { (UNCOMPRESSED, block) };
    let [a, b, c, _] = (body.len() as u32 + 4).to_le_bytes();
    out.put(&[kind, a, b, c])?;
    out.put(&masked_crc32c(block).to_le_bytes())?;
    out.put(body)
}

/// A buffer that fills up from its front.
struct Room<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Room<'_> {
    /// `None` if there is no room for all of `bytes`.
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.len + bytes.len();
        self.room.get_mut(self.len..end)?.copy_from_slice(bytes);
        self.len = end;
        Some(())
    }
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
