//! Decoder and encoder against the examples of RFC 7541, against each other and against broken input.

use super::*;

/// A xorshift generator: the same numbers on every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

type Owned = (String, String, bool);

fn owned(field: Field<'_>) -> Owned {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    (text(field.name), text(field.value), field.sensitive)
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Owned>, HpackError> {
    let mut fields = Vec::new();
    decoder.decode(block, &mut |field| fields.push(owned(field)))?;
    Ok(fields)
}

fn plain(fields: &[(&str, &str)]) -> Vec<Owned> {
    fields.iter().map(|(name, value)| ((*name).into(), (*value).into(), false)).collect()
}

fn encode(encoder: &mut Encoder, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.encode_block(
        fields.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes())),
        &mut out,
    );
    out
}

mod decoding {
    use super::*;

    #[test]
    fn single_representations() {
        // RFC 7541, C.2.1 to C.2.4
        let mut decoder = Decoder::new(4096);
        let block = hex("400a637573746f6d2d6b65790d637573746f6d2d686561646572");
        assert_eq!(decode(&mut decoder, &block), Ok(plain(&[("custom-key", "custom-header")])));
        let generation = decoder.table_generation();
        let block = hex("040c2f73616d706c652f70617468");
        assert_eq!(decode(&mut decoder, &block), Ok(plain(&[(":path", "/sample/path")])));
        let block = hex("100870617373776f726406736563726574");
        assert_eq!(
            decode(&mut decoder, &block),
            Ok(vec![("password".into(), "secret".into(), true)]),
            "never indexed means sensitive"
        );
        assert_eq!(decode(&mut decoder, &hex("82")), Ok(plain(&[(":method", "GET")])));
        assert_eq!(decoder.table_generation(), generation, "none of these entered the table");
        assert_eq!(decode(&mut decoder, &hex("be")), Ok(plain(&[("custom-key", "custom-header")])));
    }

    const REQUESTS: [&[(&str, &str)]; 3] = [
        &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "www.example.com"),
            ("cache-control", "no-cache"),
        ],
        &[
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/index.html"),
            (":authority", "www.example.com"),
            ("custom-key", "custom-value"),
        ],
    ];

    #[test]
    fn requests_without_and_with_huffman() {
        // [7541-2.1-1]
        // RFC 7541, C.3 and C.4
        for blocks in [
            [
                "828684410f7777772e6578616d706c652e636f6d",
                "828684be58086e6f2d6361636865",
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
            ],
            [
                "828684418cf1e3c2e5f23a6ba0ab90f4ff",
                "828684be5886a8eb10649cbf",
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
            ],
        ] {
            let mut decoder = Decoder::new(4096);
            for (block, fields) in blocks.iter().zip(REQUESTS) {
                assert_eq!(decode(&mut decoder, &hex(block)), Ok(plain(fields)));
            }
        }
    }

    #[test]
    fn responses_that_evict_without_and_with_huffman() {
        // RFC 7541, C.5 and C.6: a table of 256 bytes, set here by an update in front of the first block.
        let date = "Mon, 21 Oct 2013 20:13:21 GMT";
        let location = "https://www.example.com";
        let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
        let common = [("cache-control", "private"), ("date", date), ("location", location)];
        let with =
            |status, fields: &[(&'static str, &'static str)]| [&[(":status", status)], fields].concat();
        let later = "Mon, 21 Oct 2013 20:13:22 GMT";
        let responses = [
            with("302", &common),
            with("307", &common),
            with(
                "200",
                &[
                    ("cache-control", "private"),
                    ("date", later),
                    ("location", location),
                    ("content-encoding", "gzip"),
                    ("set-cookie", cookie),
                ],
            ),
        ];
        for blocks in [
            [
                "3fe101 4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54
                 6e1768747470733a2f2f7777772e6578616d706c652e636f6d",
                "4803333037c1c0bf",
                "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153
                 444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e
                 3d31",
            ],
            [
                "3fe101 488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff
                 6e919d29ad171863c78f0b97c8e9ae82ae43d3",
                "4883640effc1c0bf",
                "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b
                 3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
            ],
        ] {
            let mut decoder = Decoder::new(4096);
            for (block, fields) in blocks.iter().zip(&responses) {
                assert_eq!(decode(&mut decoder, &hex(block)), Ok(plain(fields)));
            }
        }
    }

    #[test]
    fn empty_block_and_empty_strings_are_legal() {
        let mut decoder = Decoder::new(4096);
        assert_eq!(decode(&mut decoder, &[]), Ok(vec![]));
        assert_eq!(decode(&mut decoder, &hex("000000")), Ok(plain(&[("", "")])));
        assert_eq!(decode(&mut decoder, &hex("008080")), Ok(plain(&[("", "")])));
    }

    #[test]
    fn index_zero_and_indices_past_the_table_are_refused() {
        // [7541-2.3.3-1] [7541-6.1-1]
        // RFC 7541, 6.1 and 2.3.3
        for (block, error) in [
            ("80", HpackError::IndexZero),
            ("be", HpackError::IndexPastTable),
            ("ff00", HpackError::IndexPastTable),
            ("ffffffff0f", HpackError::IndexPastTable),
            ("7e0161", HpackError::IndexPastTable),
            ("7f000161", HpackError::IndexPastTable),
            ("0f2f0161", HpackError::IndexPastTable),
            ("1f2f0161", HpackError::IndexPastTable),
        ] {
            assert_eq!(decode(&mut Decoder::new(4096), &hex(block)), Err(error), "{block}");
        }
        let mut decoder = Decoder::new(4096);
        decode(&mut decoder, &hex("4001610162 be")).unwrap();
        assert_eq!(decode(&mut decoder, &hex("bf")), Err(HpackError::IndexPastTable));
    }

    #[test]
    fn claimed_lengths_reserve_nothing() {
        // A name of 4 GiB less one byte, plain and Huffman-coded, in a block of seven bytes.
        for first in [0x7f, 0xff] {
            let mut decoder = Decoder::new(4096);
            let block = [0x40, first, 0x80, 0xff, 0xff, 0xff, 0x0f, b'a'];
            assert_eq!(decode(&mut decoder, &block), Err(HpackError::StringPastEnd));
            let block = [0x40, first, 0xff, 0xff, 0xff, 0xff, 0x7f, b'a'];
            assert_eq!(decode(&mut decoder, &block), Err(HpackError::IntegerTooLarge));
        }
    }

    #[test]
    fn huffman_faults_are_told_apart() {
        for (block, error) in [
            ("0001618106", HpackError::HuffmanPaddingNotOnes),
            ("00016181ff", HpackError::HuffmanPaddingTooLong),
            ("00016184ffffffff", HpackError::HuffmanEos),
            // Two codes of five bits, and the end-of-string symbol fills the last octet to its end.
            ("00016185003fffffff", HpackError::HuffmanEos),
            ("0081060161", HpackError::HuffmanPaddingNotOnes),
        ] {
            assert_eq!(decode(&mut Decoder::new(4096), &hex(block)), Err(error), "{block}");
        }
    }

    #[test]
    fn size_updates_stand_first_and_stay_below_the_limit() {
        // [7541-6.3-1] [7541-4.2-1]
        // RFC 7541, 4.2 and 6.3
        let mut decoder = Decoder::new(4096);
        assert_eq!(decode(&mut decoder, &hex("20 3fe11f 82")), Ok(plain(&[(":method", "GET")])));
        assert_eq!(decode(&mut decoder, &hex("3fe21f")), Err(HpackError::SizeUpdateAboveLimit));
        assert_eq!(decode(&mut decoder, &hex("8220")), Err(HpackError::SizeUpdateNotFirst));
        assert_eq!(decode(&mut Decoder::new(8192), &hex("3fe13f")), Ok(vec![]));
    }

    #[test]
    fn size_update_empties_the_table() {
        let mut decoder = Decoder::new(4096);
        decode(&mut decoder, &hex("4001610162")).unwrap();
        assert_eq!(decode(&mut decoder, &hex("20be")), Err(HpackError::IndexPastTable));
    }

    #[test]
    fn lower_limit_holds_from_the_acknowledgement_on() {
        // [9113-4.3.1-2]
        // RFC 9113, 4.3.1
        let mut decoder = Decoder::new(0);
        decode(&mut decoder, &hex("4001610162")).unwrap();
        assert_eq!(decode(&mut decoder, &hex("be")), Ok(plain(&[("a", "b")])));
        decoder.set_limit(0);
        assert!(decoder.update_due());
        assert_eq!(decode(&mut decoder, &hex("82")), Err(HpackError::SizeUpdateMissing));
        assert_eq!(decode(&mut decoder, &hex("2082")), Ok(plain(&[(":method", "GET")])));
        assert!(!decoder.update_due());
        assert_eq!(decode(&mut decoder, &hex("82")), Ok(plain(&[(":method", "GET")])));
    }

    #[test]
    fn peer_that_never_used_the_table_need_not_shrink_it() {
        let mut decoder = Decoder::new(0);
        decoder.set_limit(0);
        assert_eq!(decode(&mut decoder, &hex("82")), Ok(plain(&[(":method", "GET")])));
        decode(&mut decoder, &hex("4001610162")).unwrap();
        assert_eq!(decode(&mut decoder, &hex("be")), Err(HpackError::IndexPastTable));
    }

    #[test]
    fn a_higher_limit_does_not_raise_what_the_peer_chose() {
        // RFC 7541, 4.2 and 6.3: the table is as large as its encoder says, within the limit.
        let mut decoder = Decoder::new(4096);
        // A size update to 60, then two entries of 34 octets, of which the first must go.
        decode(&mut decoder, &hex("3f1d 4001610162")).unwrap();
        decoder.set_limit(4096);
        assert!(!decoder.update_due());
        decode(&mut decoder, &hex("4001630164")).unwrap();
        assert_eq!(decode(&mut decoder, &hex("be")), Ok(plain(&[("c", "d")])));
        assert_eq!(decode(&mut decoder, &hex("bf")), Err(HpackError::IndexPastTable));
    }

    #[test]
    fn generation_tells_whether_a_block_may_be_remembered() {
        let mut decoder = Decoder::new(4096);
        let mut generation = decoder.table_generation();
        for (block, changes) in
            [("8286", false), ("4001610162", true), ("be", false), ("20", true), ("20", false)]
        {
            decode(&mut decoder, &hex(block)).unwrap();
            assert_eq!(decoder.table_generation() != generation, changes, "{block}");
            generation = decoder.table_generation();
        }
    }

    #[test]
    fn every_truncation_is_refused_or_is_a_shorter_block() {
        let mut encoder = Encoder::new(1);
        let mut blocks = Vec::new();
        for request in REQUESTS {
            // Twice, so that literals, insertions and indices all occur.
            blocks.push(encode(&mut encoder, request));
            blocks.push(encode(&mut encoder, request));
        }
        for (last, block) in blocks.iter().enumerate() {
            for cut in 0..block.len() {
                let mut decoder = Decoder::new(4096);
                for earlier in &blocks[..last] {
                    decode(&mut decoder, earlier).unwrap();
                }
                let whole = decode(&mut decoder, &block[..cut]);
                if let Err(error) = whole {
                    assert!(matches!(error, HpackError::Truncated | HpackError::StringPastEnd), "{error}");
                }
            }
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let mut decoder = Decoder::new(4096);
            for _ in 0..4 {
                let len = random.below(60);
                if decode(&mut decoder, &random.bytes(len)).is_err() {
                    break;
                }
            }
        }
    }
}

mod encoding {
    use super::*;

    #[test]
    fn static_fields_take_one_byte_and_touch_no_table() {
        let mut encoder = Encoder::new(1);
        let generation = encoder.table_generation();
        let fields = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":status", "200")];
        assert_eq!(encode(&mut encoder, &fields), [0x83, 0x86, 0x84, 0x88]);
        assert_eq!(encoder.table_generation(), generation);
    }

    #[test]
    fn stable_names_are_indexed_at_once() {
        let mut encoder = Encoder::new(1);
        let fields = [
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            (":path", "/s.S/M"),
            ("grpc-status", "0"),
        ];
        let mut decoder = Decoder::new(4096);
        let first = encode(&mut encoder, &fields);
        let generation = encoder.table_generation();
        assert_eq!(decode(&mut decoder, &first), Ok(plain(&fields)));
        let second = encode(&mut encoder, &fields);
        assert_eq!(second, [0xc1, 0xc0, 0xbf, 0xbe]);
        assert_eq!(decode(&mut decoder, &second), Ok(plain(&fields)));
        assert_eq!(encoder.table_generation(), generation);
    }

    #[test]
    fn variable_values_never_enter_the_table() {
        let mut encoder = Encoder::new(1);
        let generation = encoder.table_generation();
        let fields = [
            ("grpc-timeout", "1S"),
            ("grpc-message", "not found"),
            ("trace-bin", "AAEC"),
            ("content-length", "12"),
            ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ];
        let first = encode(&mut encoder, &fields);
        for _ in 0..3 {
            assert_eq!(encode(&mut encoder, &fields), first);
        }
        assert_eq!(encoder.table_generation(), generation);
        assert_eq!(decode(&mut Decoder::new(4096), &first), Ok(plain(&fields)));
    }

    #[test]
    fn other_fields_are_indexed_when_they_repeat() {
        let mut encoder = Encoder::new(1);
        let generation = encoder.table_generation();
        for call in 0..1000 {
            encode(&mut encoder, &[("x-request-id", &format!("id-{call}"))]);
        }
        assert_eq!(encoder.table_generation(), generation, "values that come once enter no table");
        encode(&mut encoder, &[("x-tenant", "blue")]);
        assert_eq!(encoder.table_generation(), generation);
        encode(&mut encoder, &[("x-tenant", "blue")]);
        assert_ne!(encoder.table_generation(), generation);
        assert_eq!(encode(&mut encoder, &[("x-tenant", "blue")]), [0xbe]);
        // The name can be referred to by values that do not enter: 0x0f 0x2f is index 62 behind four bits.
        assert_eq!(encode(&mut encoder, &[("x-tenant", "1")])[..2], [0x0f, 0x2f]);
    }

    #[test]
    fn sensitive_fields_are_never_indexed() {
        // [7541-6.2.3-1] [7541-7.1.3-1]
        // RFC 7541, 7.1.3
        let mut encoder = Encoder::new(1);
        let mut decoder = Decoder::new(4096);
        let generation = encoder.table_generation();
        for field in [
            Field::sensitive(b"authorization", b"Bearer x"),
            Field::sensitive(b":method", b"GET"),
            Field::sensitive(b"k", b"v"),
        ] {
            for _ in 0..3 {
                let mut out = Vec::new();
                encoder.encode_block([field], &mut out);
                assert_eq!(out[0] & 0xf0, 0x10);
                assert_eq!(decode(&mut decoder, &out), Ok(vec![owned(field)]));
            }
        }
        assert_eq!(encoder.table_generation(), generation);
    }

    #[test]
    fn huffman_is_used_only_where_it_is_shorter() {
        let mut encoder = Encoder::new(1);
        assert_eq!(encode(&mut encoder, &[("content-length", "7")]), [0x0f, 0x0d, 0x01, b'7']);
        assert_eq!(encode(&mut encoder, &[("content-length", "77")])[..3], [0x0f, 0x0d, 0x02]);
        assert_eq!(encode(&mut encoder, &[("content-length", "00000000")])[..3], [0x0f, 0x0d, 0x85]);
    }

    #[test]
    fn large_entries_do_not_push_out_the_rest() {
        let mut encoder = Encoder::new(1);
        let generation = encoder.table_generation();
        let long = "x".repeat(3000);
        for _ in 0..3 {
            encode(&mut encoder, &[(":path", &long)]);
        }
        assert_eq!(encoder.table_generation(), generation);
    }

    #[test]
    fn changed_limit_is_announced_at_the_next_block() {
        // [9113-4.3.1-1] [7541-4.2-1] [7541-4.2-2] [7541-4.2-3]
        // wire-rules 86; RFC 7541, 4.2
        let mut encoder = Encoder::new(1);
        let mut decoder = Decoder::new(4096);
        let fields = [("te", "trailers")];
        decode(&mut decoder, &encode(&mut encoder, &fields)).unwrap();
        encoder.set_peer_limit(65_536);
        assert_eq!(encode(&mut encoder, &fields), [0xbe], "our own bound stays");
        encoder.set_peer_limit(100);
        encoder.set_peer_limit(0);
        encoder.set_peer_limit(200);
        let block = encode(&mut encoder, &fields);
        assert_eq!(block[..4], [0x20, 0x3f, 0xa9, 0x01], "the lowest and the last");
        assert_eq!(decode(&mut decoder, &block), Ok(plain(&fields)));
        assert_eq!(encode(&mut encoder, &fields), [0xbe]);
        encoder.set_peer_limit(0);
        let block = encode(&mut encoder, &fields);
        assert_eq!(block[..2], [0x20, 0x00], "no table, no index");
        assert_eq!(decode(&mut decoder, &block), Ok(plain(&fields)));
    }

    #[test]
    fn random_lists_survive_the_round_trip() {
        let mut random = Random::new(9);
        for table in [0, 60, 300, 4096] {
            let (mut encoder, mut decoder) = (Encoder::new(2), Decoder::new(4096));
            encoder.set_peer_limit(table);
            for _ in 0..2000 {
                let count = random.below(12);
                let fields: Vec<(Vec<u8>, Vec<u8>, bool)> =
                    (0..count).map(|_| random_field(&mut random)).collect();
                let mut block = Vec::new();
                encoder.encode_block(
                    fields.iter().map(|(name, value, sensitive)| Field {
                        name,
                        value,
                        sensitive: *sensitive,
                    }),
                    &mut block,
                );
                let mut decoded = Vec::new();
                decoder
                    .decode(&block, &mut |field| {
                        decoded.push((field.name.to_vec(), field.value.to_vec(), field.sensitive));
                    })
                    .unwrap();
                assert_eq!(decoded, fields);
                if random.below(40) == 0 {
                    encoder.set_peer_limit(random.below(table as usize + 1) as u32);
                }
            }
        }
    }

    /// Few names and values, so that all paths repeat; now and then something long or not ASCII.
    fn random_field(random: &mut Random) -> (Vec<u8>, Vec<u8>, bool) {
        const NAMES: [&str; 9] =
            [":path", ":status", "te", "grpc-timeout", "x-a", "x-b", "data-bin", "cookie", "user-agent"];
        let name = match random.below(12) {
            0 => {
                let len = random.below(200);
                random.bytes(len)
            }
            _ => NAMES[random.below(NAMES.len())].into(),
        };
        let value = match random.below(6) {
            0 => {
                let len = random.below(400);
                random.bytes(len)
            }
            1 => b"200".to_vec(),
            _ => format!("value {}", random.below(9)).into(),
        };
        (name, value, random.below(10) == 0)
    }
}

mod cached {
    use super::*;

    const HEAD: [Field<'static>; 3] = [
        Field::new(b":status", b"200"),
        Field::new(b"content-type", b"application/grpc"),
        Field::new(b"x-served-by", b"node-1"),
    ];

    /// Encodes through the cache; true if the fields were not asked for.
    fn encode_cached(encoder: &mut Encoder, cached: &mut CachedBlock, decoder: &mut Decoder) -> bool {
        let (mut out, mut hit) = (Vec::new(), true);
        encoder.encode_cached(
            cached,
            || {
                hit = false;
                HEAD
            },
            &mut out,
        );
        assert_eq!(decode(decoder, &out), Ok(HEAD.map(owned).to_vec()));
        hit
    }

    #[test]
    fn block_is_reused_until_the_table_changes() {
        let (mut encoder, mut decoder, mut cached) =
            (Encoder::new(1), Decoder::new(4096), CachedBlock::default());
        assert!(!encode_cached(&mut encoder, &mut cached, &mut decoder), "fills the table");
        assert!(!encode_cached(&mut encoder, &mut cached, &mut decoder), "is kept");
        assert!(encode_cached(&mut encoder, &mut cached, &mut decoder));
        decode(&mut decoder, &encode(&mut encoder, &[("te", "trailers")])).unwrap();
        assert!(!encode_cached(&mut encoder, &mut cached, &mut decoder), "indices have moved");
        assert!(encode_cached(&mut encoder, &mut cached, &mut decoder));
    }

    #[test]
    fn fields_of_one_call_may_follow() {
        let (mut encoder, mut decoder, mut cached) =
            (Encoder::new(1), Decoder::new(4096), CachedBlock::default());
        while !encode_cached(&mut encoder, &mut cached, &mut decoder) {}
        for call in 0..3 {
            let mut out = Vec::new();
            encoder.encode_cached(&mut cached, || -> [Field<'_>; 3] { panic!("is valid") }, &mut out);
            let id = format!("id-{call}");
            encoder.encode(Field::new(b"x-request-id", id.as_bytes()), &mut out);
            let fields = decode(&mut decoder, &out).unwrap();
            assert_eq!(fields[..3], HEAD.map(owned));
            assert_eq!(fields[3..], plain(&[("x-request-id", &id)]));
        }
    }

    #[test]
    fn size_update_is_sent_but_not_kept() {
        let (mut encoder, mut decoder, mut cached) =
            (Encoder::new(1), Decoder::new(4096), CachedBlock::default());
        for _ in 0..3 {
            encode_cached(&mut encoder, &mut cached, &mut decoder);
        }
        encoder.set_peer_limit(0);
        encoder.set_peer_limit(4096);
        for _ in 0..2 {
            assert!(!encode_cached(&mut encoder, &mut cached, &mut decoder));
        }
        assert!(encode_cached(&mut encoder, &mut cached, &mut decoder));
    }

    #[test]
    fn block_of_another_encoder_is_not_taken() {
        let mut cached = CachedBlock::default();
        let (mut first, mut of_first) = (Encoder::new(1), Decoder::new(4096));
        while !encode_cached(&mut first, &mut cached, &mut of_first) {}
        let mut second = Encoder::new(1);
        encode(&mut second, &[("te", "trailers"), (":path", "/s.S/M")]);
        assert_eq!(first.table_generation(), second.table_generation());
        let mut out = Vec::new();
        second.encode_cached(&mut cached, || [Field::new(b":status", b"204")], &mut out);
        assert_eq!(out, [0x89]);
    }
}

#[test]
fn nothing_printed_shows_content() {
    let (mut encoder, mut decoder, mut cached) =
        (Encoder::new(1), Decoder::new(4096), CachedBlock::default());
    for _ in 0..2 {
        let mut out = Vec::new();
        encoder.encode_cached(&mut cached, || [Field::new(b"x-user", b"secret")], &mut out);
        decode(&mut decoder, &out).unwrap();
    }
    let printed = format!("{encoder:?} {decoder:?} {cached:?} {:?}", Field::sensitive(b"name", b"secret"));
    let as_numbers = format!("{:?}", b"secret");
    for part in ["Encoder {", "Decoder {", "CachedBlock", "DynamicTable", "entries: 1", "max_size: 4096"] {
        assert!(printed.contains(part), "{part} in {printed}");
    }
    assert!(
        !printed.contains("secret") && !printed.contains(as_numbers.trim_matches(['[', ']'])),
        "{printed}"
    );
}
