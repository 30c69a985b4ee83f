//! Header compression alone, without a connection.

use peregrine_http2::hpack::{CachedBlock, Decoder, Encoder, Field, HpackError};

use crate::bytes::Choices;

type List = Vec<(Vec<u8>, Vec<u8>)>;

/// Blocks of any octets through one decoder: the work is bounded by the block, and what came out of it
/// survives our encoder and another decoder.
pub fn decode(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut decoder = Decoder::new(4096);
    let (mut encoder, mut again) = (Encoder::new(1), Decoder::new(4096));
    while let Some(step) = step(&mut choices) {
        let block = match step {
            Step::Limit(limit) => {
                decoder.set_limit(limit);
                continue;
            }
            Step::Block(block) => block,
        };
        let mut list = List::new();
        let result = decoder.decode(block, &mut |field| {
            list.push((field.name.to_vec(), field.value.to_vec()));
        });
        assert!(list.len() <= block.len(), "a field costs an octet at least");
        if result.is_err() {
            return;
        }
        let mut rewritten = Vec::new();
        encoder.encode_block(list.iter().map(|(name, value)| Field::new(name, value)), &mut rewritten);
        assert_eq!(read(&mut again, &rewritten), Ok(list));
    }
}

/// Lists out of the input through our encoder, plain, sensitive and cached, under changing table limits: our
/// decoder and the other one read what was written.
pub fn round_trip(input: &[u8]) {
    let mut choices = Choices::new(input);
    let mut encoder = Encoder::new(u64::from(choices.octet()));
    let (mut ours, mut theirs) = (Decoder::new(4096), loona_hpack::Decoder::new());
    let mut cached: [CachedBlock; 3] = Default::default();
    while !choices.is_empty() {
        let shape = choices.octet();
        if shape >= 0xf0 {
            encoder.set_peer_limit(u32::from(choices.pair() % 5000));
            continue;
        }
        let mut block = Vec::new();
        let list = if shape < 0x40 {
            let which = usize::from(shape) % cached.len();
            let list = standing_list(which);
            let fields = || list.iter().map(|(name, value)| Field::new(name, value));
            encoder.encode_cached(&mut cached[which], fields, &mut block);
            list
        } else {
            let list: List = (0..=shape % 6).map(|_| field(&mut choices)).collect();
            let fields = list.iter().enumerate().map(|(index, (name, value))| Field {
                name,
                value,
                sensitive: shape & 0x10 != 0 && index == 0,
            });
            encoder.encode_block(fields, &mut block);
            list
        };
        assert_eq!(theirs.decode(&block).as_ref(), Ok(&list), "read by the other decoder");
        assert_eq!(read(&mut ours, &block), Ok(list));
    }
}

/// Blocks of any octets through our decoder and the other one: the same fields or a refusal by both, but
/// where one is stricter on purpose.
pub fn differential(input: &[u8]) {
    let mut choices = Choices::new(input);
    let (mut ours, mut theirs) = (Decoder::new(4096), loona_hpack::Decoder::new());
    theirs.set_max_allowed_table_size(4096);
    while let Some(step) = step(&mut choices) {
        let Step::Block(block) = step else { continue };
        match (read(&mut ours, block), theirs.decode(block)) {
            (Ok(list), Ok(other)) => assert_eq!(list, other),
            (Err(error), Ok(list)) => {
                // RFC 7541, 4.2 asks for it; the other does not look.
                assert_eq!(error, HpackError::SizeUpdateNotFirst, "they read {list:?}");
                return;
            }
            (Ok(list), Err(error)) => {
                use loona_hpack::decoder::{DecoderError, IntegerDecodingError};
                let stricter = match error {
                    // They stop after four octets behind the prefix, we after five.
                    DecoderError::IntegerDecodingError(IntegerDecodingError::TooManyOctets) => true,
                    // A block of nothing but size updates means no fields.
                    DecoderError::SizeUpdateAtEnd => list.is_empty(),
                    _ => false,
                };
                assert!(stricter, "they say {error:?}, we read {list:?}");
                return;
            }
            (Err(_), Err(_)) => return,
        }
    }
}

/// What a decoder is told to do.
enum Step<'a> {
    /// SETTINGS_HEADER_TABLE_SIZE was acknowledged.
    Limit(usize),
    Block(&'a [u8]),
}

/// The next step: a length octet and a block; or a marker and a limit, or a marker and a longer block.
fn step<'a>(choices: &mut Choices<'a>) -> Option<Step<'a>> {
    if choices.is_empty() {
        return None;
    }
    Some(match choices.octet() {
        LIMIT => Step::Limit(usize::from(choices.pair() % 9000)),
        LONG => {
            let len = choices.pair();
            Step::Block(choices.take(usize::from(len)))
        }
        len => Step::Block(choices.take(usize::from(len))),
    })
}

/// Writes blocks as the steps of [`decode`] and [`differential`]: how recorded blocks become seeds.
pub fn steps(blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in blocks {
        match u8::try_from(block.len()) {
            Ok(len) if len < LONG => out.push(len),
            _ => {
                out.push(LONG);
                out.extend_from_slice(&(block.len() as u16).to_be_bytes());
            }
        }
        out.extend_from_slice(block);
    }
    out
}

const LIMIT: u8 = 0xff;
const LONG: u8 = 0xfe;

fn read(decoder: &mut Decoder, block: &[u8]) -> Result<List, HpackError> {
    let mut list = List::new();
    decoder.decode(block, &mut |field| list.push((field.name.to_vec(), field.value.to_vec())))?;
    Ok(list)
}

/// A field: names that calls use, with values that repeat, or octets as they stand in the input.
fn field(choices: &mut Choices<'_>) -> (Vec<u8>, Vec<u8>) {
    const NAMES: [&str; 10] = [
        ":method",
        ":path",
        ":status",
        "content-type",
        "te",
        "grpc-timeout",
        "grpc-status",
        "x-tenant",
        "trace-bin",
        "user-agent",
    ];
    let kind = choices.octet();
    let name = if let Some(name) = NAMES.get(usize::from(kind % 16)) {
        name.as_bytes().to_vec()
    } else {
        let len = choices.below(40);
        choices.take(len).to_vec()
    };
    let value = if kind & 0x40 == 0 {
        format!("value {}", kind >> 4).into_bytes()
    } else {
        let len = choices.octet();
        choices.take(usize::from(len)).to_vec()
    };
    (name, value)
}

/// The lists behind the cached blocks: they never change.
fn standing_list(which: usize) -> List {
    let fields: &[(&str, &str)] = match which {
        0 => &[(":status", "200"), ("content-type", "application/grpc")],
        1 => &[("grpc-status", "0")],
        _ => &[(":method", "POST"), (":scheme", "http"), (":path", "/a/b"), ("te", "trailers")],
    };
    fields.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}
