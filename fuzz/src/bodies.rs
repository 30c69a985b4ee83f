//! Bodies of calls, right and wrong, for [`unary_paths`](crate::unary_paths): messages, compressed or not, in
//! protobuf's place or in JSON's, and the frames that carry them.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::write::GzEncoder;
use peregrine_core::compression::{Compression, Packer, Packing};
use peregrine_core::message::{Deframer, Encoding, FrameBuf, PREFIX_LEN};
use peregrine_core::{BytesCodec, Format, MessageFormat, MethodDescriptor, MethodFormat, Status};
use peregrine_http2::StreamId;
use peregrine_testkit::peer::{prefixed, raw_frame};

use crate::bytes::Choices;
use crate::json;

/// A message, one whose prefix lies, or octets that need not be one.
pub(crate) fn piece(choices: &mut Choices<'_>, format: Format, encoding: Option<&str>) -> Vec<u8> {
    let kind = choices.below(8);
    let len = match choices.below(8) {
        // Around the usual threshold of compression and above it.
        0 => usize::from(choices.pair()) % 3_000,
        1 | 2 => usize::from(choices.pair()) % 600,
        _ => choices.below(24),
    };
    let octet = choices.octet();
    let payload = if format == Format::Json { json_text(choices) } else { vec![octet; len] };
    let len = payload.len();
    match kind {
        // Nothing but the messages of a call with `grpc-encoding` may be so (wire-rules 32).
        4 => compressed(choices, payload, encoding),
        0 => choices.take(len).to_vec(),
        1 => prefixed(0, u32::from(choices.pair()), &payload),
        2 => prefixed(0, 0x8000_0000 | len as u32, &payload),
        3 => prefixed(choices.pick(&[1, 2, 0x80]), len as u32, &payload),
        _ => prefixed(0, len as u32, &payload),
    }
}

/// A text of the seeds, most of the time whole.
fn json_text(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut text = choices.pick(&json::TEXTS).as_bytes().to_vec();
    let at = usize::from(choices.pair()) % text.len();
    match choices.below(6) {
        0 => text[at] ^= 1 << choices.below(8),
        1 => text.truncate(at),
        _ => {}
    }
    text
}

/// A message in `encoding`, whole or with one octet of it changed, cut or one too many; in gzip if that names none.
fn compressed(choices: &mut Choices<'_>, payload: Vec<u8>, encoding: Option<&str>) -> Vec<u8> {
    let known = encoding.and_then(|name| Encoding::from_wire(name.as_bytes()).ok());
    let mut packed = if let Some(encoding @ (Encoding::Deflate | Encoding::Zstd | Encoding::Snappy)) = known {
        match ours(encoding, payload) {
            Ok(packed) => packed,
            Err(message) => return message,
        }
    } else {
        // Somebody else's, so that not only what we write is read.
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&payload).expect("memory takes what is written");
        gzip.finish().expect("memory takes what is written")
    };
    let at = choices.below(256) % packed.len();
    match choices.below(6) {
        0 => packed[at] ^= 1 << choices.below(8),
        1 => packed.truncate(at),
        2 => packed.push(0),
        _ => {}
    }
    prefixed(1, packed.len() as u32, &packed)
}

/// What our own packer makes of a message; the message with its prefix if that does not get smaller.
fn ours(encoding: Encoding, payload: Vec<u8>) -> Result<Vec<u8>, Vec<u8>> {
    let packer = Packer::new(&Compression::only(encoding).always(), encoding);
    let mut buf = FrameBuf::new();
    let packing = Packing::of(Some(&packer), None);
    buf.encode_as::<BytesCodec, _>(&Bytes::from(payload), None, usize::MAX, packing)
        .expect("memory takes what is written");
    let mut message = buf.chunks().collect::<Vec<_>>().concat();
    if message.first() == Some(&1) { Ok(message.split_off(PREFIX_LEN)) } else { Err(message) }
}

/// The messages of a body that this side wrote, which has to be in good order: the flag of each, and each as it lies
/// on the wire and inflated.
pub(crate) fn messages(body: &[u8], encoding: Encoding) -> Vec<(u8, usize, Bytes)> {
    let mut deframer = Deframer::new(encoding, usize::MAX);
    deframer.push(body);
    let mut messages = Vec::new();
    loop {
        let (flag, before) = (deframer.unread().first().copied(), deframer.unread().len());
        let message = match deframer.next_message().expect("a message that we wrote") {
            Some(message) => Bytes::copy_from_slice(message.as_slice()),
            None => break,
        };
        let on_wire = before - deframer.unread().len() - PREFIX_LEN;
        messages.push((flag.unwrap_or(0), on_wire, message));
    }
    assert_eq!(deframer.unread(), b"", "half a message");
    messages
}

/// RFC 9113 6.1
pub(crate) fn data_frame(stream: StreamId, data: &[u8], padding: Option<u8>, end_stream: bool) -> Vec<u8> {
    const DATA: u8 = 0;
    const END_STREAM: u8 = 1;
    const PADDED: u8 = 8;

    let mut flags = if end_stream { END_STREAM } else { 0 };
    let mut payload = Vec::new();
    if let Some(padding) = padding {
        flags |= PADDED;
        payload.push(padding);
    }
    payload.extend_from_slice(data);
    payload.resize(payload.len() + usize::from(padding.unwrap_or(0)), 0);
    raw_frame(DATA, flags, stream, &payload)
}

/// JSON for methods that have no schema: every message is of the one type that has every kind of field.
#[derive(Debug)]
pub(crate) struct Everything;

impl MessageFormat for Everything {
    fn format(&self) -> Format {
        Format::Json
    }

    fn method(&self, _method: &MethodDescriptor<'_>) -> Result<MethodFormat, Status> {
        let of = json::everything();
        Ok(MethodFormat { format: Format::Json, request: Arc::clone(of), response: Arc::clone(of) })
    }
}
