//! Attacks that only this design could suffer from: on the memo of header blocks, the calls' table and deadlines,
//! pre-encoded blocks, parked futures, linked payloads.

use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_http2::frame::{RstStream, Setting, Settings};
use peregrine_server::{Execution, Server};
use peregrine_testkit::peer::{data_frame, message};
use peregrine_testkit::service::{BIDI, SERVER_STREAM, UNARY};
use tokio::io::AsyncReadExt;

use super::tools::{call, flood, headers, indexed_literal, literal, raw_head};
use super::{Attack, STREAMS, plain};
use crate::Seen;

/// All of this file.
pub const ALL: &[&Attack] = &[
    &MEMO_CHURN,
    &MEMO_LARGEST,
    &MEMO_CLEARED,
    &DEADLINES,
    &EXPIRED,
    &TABLE_GAMES,
    &WAKING_PARKED,
    &LINKS_READ_SLOWLY,
];

/// Thousands of blocks that come twice each, so that every one of them is worth keeping to the memo, and none ever
/// comes again.
pub const MEMO_CHURN: Attack = Attack {
    row: 0,
    name: "memo: every block twice",
    reply: "open; 10000 x status 12",
    handlers: 0,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 10_000, |peer, number, out| {
                let mut block = raw_head(UNARY);
                literal(b"x", (number / 2).to_string().as_bytes(), &mut block);
                headers(peer.open(), &block, true, out);
            })
            .await
        })
    },
};

/// The longest heads that are answered, each kept by the memo, with metadata that a server unpacks and keeps beside.
pub const MEMO_LARGEST: Attack = Attack {
    name: "memo: the longest heads",
    reply: "open; 1000 x status 12",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 1_000, |peer, number, out| {
                let mut block = raw_head(UNARY);
                literal(b"number", (number / 2).to_string().as_bytes(), &mut block);
                // 300 fields of 40 octets count 16 KiB less what the head takes.
                for field in 0..300 {
                    literal(format!("x{field:03}").as_bytes(), b"val", &mut block);
                }
                headers(peer.open(), &block, true, out);
            })
            .await
        })
    },
    ..MEMO_CHURN
};

/// A full memo, and then blocks that change the table each time, which empties it.
pub const MEMO_CLEARED: Attack = Attack {
    name: "memo: cleared by each block",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 10_000, |peer, number, out| {
                let mut block = raw_head(UNARY);
                if number % 4 == 3 {
                    indexed_literal(b"x", b"y", &mut block);
                }
                headers(peer.open(), &block, true, out);
            })
            .await
        })
    },
    ..MEMO_CHURN
};

/// Calls with deadlines in ten thousand years that are reset at once, in good company: each leaves an entry in the
/// heap of deadlines that comes due never.
pub const DEADLINES: Attack = Attack {
    row: 0,
    name: "deadlines of calls that are over",
    reply: "open; 20000 x status 0",
    handlers: STREAMS,
    memory: 1_536,
    // In place, so that each call is over before the next one comes.
    server: |server: Server| server.execution(Execution::Inline),
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 20_000, |peer, _, out| {
                call(
                    peer,
                    UNARY,
                    &[("grpc-timeout", "9999999S"), ("script", "send x")],
                    &message(b""),
                    true,
                    out,
                );
            })
            .await
        })
    },
};

/// Calls whose deadline is over when they come, each answered before any handler.
pub const EXPIRED: Attack = Attack {
    name: "deadlines that are over at once",
    reply: "20000 x status 4",
    handlers: 0,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 20_000, |peer, _, out| {
                call(peer, UNARY, &[("grpc-timeout", "0n")], &message(b""), true, out);
            })
            .await
        })
    },
    ..DEADLINES
};

/// The client's table changes its size before each call, so that every block which the server keeps encoded has to
/// be made again, and announces a table of another size.
pub const TABLE_GAMES: Attack = Attack {
    row: 0,
    name: "pre-encoded blocks: table resized before each call",
    reply: "open; 2000 x status 0",
    handlers: STREAMS,
    memory: 1_024,
    server: |server: Server| server.execution(Execution::Inline),
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 2_000, |peer, number, out| {
                let size = [0, 64, 4_096, 100, 2_000][number % 5];
                Settings::encode_entries(&[Setting::HeaderTableSize(size)], out);
                call(peer, UNARY, &[], &message(b""), true, out);
            })
            .await
        })
    },
};

/// A hundred parked calls, all woken by every octet that comes for them.
pub const WAKING_PARKED: Attack = Attack {
    row: 0,
    name: "parked calls woken by empty messages",
    reply: "open",
    handlers: STREAMS,
    memory: 4 * 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut bytes = Vec::new();
            let streams: Vec<_> = (0..STREAMS)
                .map(|_| {
                    call(&mut peer, BIDI, &[("script", "read; read; read; never")], b"", false, &mut bytes)
                })
                .collect();
            peer.send_bytes(&bytes).await;
            flood(&mut peer, 100_000, |_, number, out| {
                data_frame(streams[number % STREAMS], &message(b""), false).encode(out);
            })
            .await
        })
    },
};

/// Large replies, linked into the output instead of copied, that are read an octet at a time and then left: every
/// link is given back.
pub const LINKS_READ_SLOWLY: Attack = Attack {
    row: 0,
    name: "linked payloads read octet by octet",
    reply: "open",
    handlers: STREAMS,
    memory: 8 * 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut bytes = Vec::new();
            let mut streams = Vec::new();
            for _ in 0..20 {
                let script = [("script", "many 1000 20000")];
                streams.push(call(&mut peer, SERVER_STREAM, &script, &message(b""), true, &mut bytes));
            }
            peer.send_bytes(&bytes).await;
            let mut octet = [0];
            for _ in 0..20_000 {
                let read = peer.io().read(&mut octet);
                let _ = tokio::time::timeout(Duration::from_secs(1), read).await;
            }
            let mut bytes = Vec::new();
            for stream in streams {
                RstStream { stream, code: ErrorCode::CANCEL }.encode(&mut bytes);
            }
            peer.send_bytes(&bytes).await;
            Seen::default()
        })
    },
};
