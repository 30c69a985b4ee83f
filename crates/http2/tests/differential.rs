//! Our HPACK against an independent one: what either writes, the other reads; on broken blocks both agree
//! wherever the other is as strict as the RFC.

use peregrine_http2::hpack::{Decoder, Encoder, Field};

type List = Vec<(Vec<u8>, Vec<u8>)>;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Option<List> {
    let mut fields = Vec::new();
    decoder
        .decode(block, &mut |field| fields.push((field.name.to_vec(), field.value.to_vec())))
        .ok()
        .map(|()| fields)
}

#[test]
fn the_other_decoder_reads_our_blocks() {
    let mut random = Random(1);
    for table in [0, 100, 4096] {
        let (mut encoder, mut decoder) = (Encoder::new(7), loona_hpack::Decoder::new());
        for _ in 0..300 {
            if random.below(50) == 0 {
                encoder.set_peer_limit(random.below(table + 1) as u32);
            }
            let list = random_list(&mut random);
            let mut block = Vec::new();
            encoder.encode_block(list.iter().map(|(name, value)| Field::new(name, value)), &mut block);
            assert_eq!(decoder.decode(&block).unwrap(), list);
        }
    }
}

#[test]
fn we_read_the_blocks_of_the_other_encoder() {
    let mut random = Random(2);
    let (mut encoder, mut decoder) = (loona_hpack::Encoder::new(), Decoder::new(4096));
    for _ in 0..300 {
        let list = random_list(&mut random);
        let block = encoder.encode(list.iter().map(|(name, value)| (&name[..], &value[..])));
        assert_eq!(decode(&mut decoder, &block), Some(list));
    }
}

#[test]
fn mutated_blocks_mean_the_same_to_both_or_are_refused() {
    let mut random = Random(3);
    let (mut agreed, mut refused) = (0, 0);
    for _ in 0..600 {
        let mut encoder = Encoder::new(7);
        let (mut ours, mut theirs) = (Decoder::new(4096), loona_hpack::Decoder::new());
        theirs.set_max_allowed_table_size(4096);
        for _ in 0..3 {
            let list = random_list(&mut random);
            let mut block = Vec::new();
            encoder.encode_block(list.iter().map(|(name, value)| Field::new(name, value)), &mut block);
            if random.below(2) == 0 && !block.is_empty() {
                let at = random.below(block.len());
                block[at] = random.below(256) as u8;
            }
            let Some(read) = decode(&mut ours, &block) else {
                refused += 1;
                break;
            };
            if read.is_empty() {
                break;
            }
            // What we accept the other must accept, with the same meaning.
            assert_eq!(theirs.decode(&block).ok(), Some(read), "{block:02x?}");
            agreed += 1;
        }
    }
    assert!(agreed > 300 && refused > 50, "{agreed} agreed, {refused} refused");
}

/// Lists as calls have them, with now and then a field that is long or not ASCII. Never empty: a block of
/// nothing but table size updates, which HTTP/2 cannot send, is refused by the other.
fn random_list(random: &mut Random) -> List {
    const NAMES: [&str; 8] =
        [":path", ":status", "content-type", "te", "grpc-timeout", "x-tenant", "trace-bin", "user-agent"];
    let field = |random: &mut Random| {
        if random.below(10) == 0 {
            let (name, value) = (random.below(40), random.below(300));
            (random.bytes(name), random.bytes(value))
        } else {
            let value = format!("value number {}", random.below(8));
            (NAMES[random.below(NAMES.len())].into(), value.into())
        }
    };
    (0..=random.below(9)).map(|_| field(random)).collect()
}

/// A xorshift generator: the same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}
