//! Header blocks: endless ones, bombs, broken ones (rows 5, 19 to 25).

use peregrine_http2::StreamId;
use peregrine_http2::frame::{Continuation, Headers};
use peregrine_server::Server;
use peregrine_testkit::service::UNARY;

use super::tools::{flood, headers, indexed_literal, integer, literal, raw_head, string};
use super::{Attack, plain};
use crate::{Ground, Seen};

/// All of this file.
pub const ALL: &[&Attack] = &[
    &CONTINUATIONS,
    &EMPTY_CONTINUATIONS,
    &BOMB,
    &MANY_FIELDS,
    &MANY_FIELDS_ALLOWED,
    &LONG_INTEGER,
    &PADDED_INTEGER,
    &LONG_STRING,
    &TABLE_UPDATES,
    &HUFFMAN,
    &NEW_NAMES,
    &EMPTY_NAMES,
];

/// A block of 160 MiB in frames of 16 KiB, of which the cap of a block lets a few in.
pub const CONTINUATIONS: Attack = Attack {
    row: 5,
    name: "CONTINUATION flood, 16 KiB each",
    reply: "GOAWAY ENHANCE_YOUR_CALM header_list_hard_cap; closed",
    handlers: 0,
    memory: 1_024,
    server: plain,
    run: |ground| Box::pin(continuations(ground, &[0; 16_384], 10_000)),
};

/// A block that never ends and never grows either.
pub const EMPTY_CONTINUATIONS: Attack = Attack {
    name: "CONTINUATION flood, empty",
    reply: "GOAWAY ENHANCE_YOUR_CALM continuation_frames; closed",
    run: |ground| Box::pin(continuations(ground, b"", 50_000)),
    ..CONTINUATIONS
};

async fn continuations(ground: &Ground, fragment: &[u8], count: usize) -> Seen {
    let mut peer = ground.peer().await;
    let block = raw_head(UNARY);
    flood(&mut peer, count, |peer, number, out| {
        if number == 0 {
            let stream = peer.open();
            let head = Headers {
                stream,
                dependency: None,
                fragment: &block,
                end_stream: true,
                end_headers: false,
                padding: None,
            };
            head.encode(out);
        }
        Continuation { stream: StreamId::FIRST_CLIENT, fragment, end_headers: false }.encode(out);
    })
    .await
}

/// One entry of 4 KiB and 4,000 references to it, an octet each: 16 MiB of header list.
pub const BOMB: Attack = Attack {
    row: 19,
    name: "HPACK bomb",
    reply: "GOAWAY ENHANCE_YOUR_CALM header_list_hard_cap; closed",
    run: |ground| {
        Box::pin(async {
            let mut block = raw_head(UNARY);
            indexed_literal(b"x", &[b'y'; 4_000], &mut block);
            // 0x3e is the newest entry of the dynamic table.
            block.extend([0x80 | 0x3e; 4_000]);
            one_block(ground, &block).await
        })
    },
    ..CONTINUATIONS
};

/// 40,000 different names in one block.
pub const MANY_FIELDS: Attack = Attack {
    row: 20,
    name: "40,000 fields",
    reply: "GOAWAY ENHANCE_YOUR_CALM header_list_hard_cap; closed",
    memory: 2 * 1_024,
    run: |ground| Box::pin(async { one_block(ground, &many_fields()).await }),
    ..CONTINUATIONS
};

/// The same where the server allows it: no table of names may overflow or become slow.
pub const MANY_FIELDS_ALLOWED: Attack = Attack {
    name: "40,000 fields, allowed",
    reply: "open; 1 x status 12",
    memory: 32 * 1_024,
    server: |server: Server| server.max_header_list_size(8 << 20),
    ..MANY_FIELDS
};

fn many_fields() -> Vec<u8> {
    // The unary body is missing, so the call ends UNIMPLEMENTED once its fields are taken.
    let mut block = raw_head(UNARY);
    for number in 0..40_000 {
        literal(format!("x{number:05}").as_bytes(), b"", &mut block);
    }
    block
}

/// An index of more octets than any number takes.
pub const LONG_INTEGER: Attack = Attack {
    row: 21,
    name: "HPACK integer without end",
    reply: "GOAWAY COMPRESSION_ERROR",
    run: |ground| {
        Box::pin(async {
            let mut block = vec![0xff];
            block.extend([0xff; 64]);
            block.push(0x01);
            one_block(ground, &block).await
        })
    },
    ..CONTINUATIONS
};

/// A small number written with needless zeros.
pub const PADDED_INTEGER: Attack = Attack {
    name: "HPACK integer padded with zeros",
    run: |ground| {
        Box::pin(async {
            let mut block = vec![0xff];
            block.extend([0x80; 16_000]);
            block.push(0x00);
            one_block(ground, &block).await
        })
    },
    ..LONG_INTEGER
};

/// A string that claims 4 GiB.
pub const LONG_STRING: Attack = Attack {
    name: "HPACK string of 4 GiB",
    run: |ground| {
        Box::pin(async {
            let mut block = vec![0x00];
            integer(0x00, 7, u32::MAX as usize, &mut block);
            block.extend(b"some of it");
            one_block(ground, &block).await
        })
    },
    ..LONG_INTEGER
};

/// A block that does nothing but resize the table: cheap for each octet of it, since nothing is in there.
pub const TABLE_UPDATES: Attack = Attack {
    row: 21,
    name: "HPACK table resized 10,000 times a block",
    reply: "open; 50 x status 12",
    run: |ground| {
        Box::pin(async {
            let mut block = Vec::new();
            for number in 0..10_000_usize {
                // A size that takes one octet.
                block.push(0x20 | (number % 16) as u8);
            }
            block.extend(raw_head(UNARY));
            let mut peer = ground.peer().await;
            flood(&mut peer, 50, |peer, _, out| headers(peer.open(), &block, true, out)).await
        })
    },
    ..CONTINUATIONS
};

/// 1 MiB of Huffman code, in the longest fields that are answered.
pub const HUFFMAN: Attack = Attack {
    row: 22,
    name: "1 MiB of Huffman code",
    reply: "open; 120 x status 12",
    run: |ground| {
        Box::pin(async {
            let mut block = raw_head(UNARY);
            block.push(0x00);
            string(b"x", &mut block);
            // Octets of 0x1f are `a` (00011), eight in five octets.
            let code: Vec<u8> = [0x18, 0xc6, 0x31, 0x8c, 0x63].repeat(1_800);
            integer(0x80, 7, code.len(), &mut block);
            block.extend(&code);
            let mut peer = ground.peer().await;
            flood(&mut peer, 120, |peer, _, out| headers(peer.open(), &block, true, out)).await
        })
    },
    ..CONTINUATIONS
};

/// 100,000 names that were never seen before, all of which enter the table: none may stay anywhere.
pub const NEW_NAMES: Attack = Attack {
    row: 22,
    name: "100,000 new names",
    reply: "open; 1000 x status 12",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 1_000, |peer, number, out| {
                let mut block = raw_head(UNARY);
                for field in 0..100 {
                    indexed_literal(format!("x-{number}-{field}").as_bytes(), b"1", &mut block);
                }
                headers(peer.open(), &block, true, out);
            })
            .await
        })
    },
    ..CONTINUATIONS
};

/// Fields without name or value.
pub const EMPTY_NAMES: Attack = Attack {
    row: 25,
    name: "fields without a name",
    reply: "GOAWAY ENHANCE_YOUR_CALM resets_provoked; closed",
    run: |ground| {
        Box::pin(async {
            let mut block = raw_head(UNARY);
            for _ in 0..100 {
                literal(b"", b"", &mut block);
            }
            let mut peer = ground.peer().await;
            flood(&mut peer, 10_000, |peer, _, out| headers(peer.open(), &block, true, out)).await
        })
    },
    ..CONTINUATIONS
};

/// One block of a call, in as many frames as it takes.
async fn one_block(ground: &Ground, block: &[u8]) -> Seen {
    let mut peer = ground.peer().await;
    let stream = peer.open();
    let mut bytes = Vec::new();
    let mut fragments = block.chunks(16_384).peekable();
    let mut first = true;
    while let Some(fragment) = fragments.next() {
        let end_headers = fragments.peek().is_none();
        if std::mem::take(&mut first) {
            let head =
                Headers { stream, dependency: None, fragment, end_stream: true, end_headers, padding: None };
            head.encode(&mut bytes);
        } else {
            Continuation { stream, fragment, end_headers }.encode(&mut bytes);
        }
    }
    // The server may close before it has read everything.
    let _ = peer.try_send_bytes(&bytes).await;
    Seen::default().to_the_end(&mut peer).await
}
