//! Calls that are wrong or too many by what they say (rows 33, 35, 37, 39, 40, 48, 50).

use std::io::Read;
use std::time::Duration;

use peregrine_http2::ErrorCode;
use peregrine_server::Server;
use peregrine_services::health::Health;
use peregrine_services::reflection::Reflection;
use peregrine_testkit::PeerConfig;
use peregrine_testkit::peer::{data_frame, message, prefixed, request_head};
use peregrine_testkit::service::{SERVER_STREAM, UNARY};

use super::tools::{call, flood, headers, literal, raw_head};
use super::{Attack, STREAMS, plain};
use crate::{Ground, Seen};

/// All of this file.
pub const ALL: &[&Attack] = &[
    &BAD_TE,
    &ZIP_BOMB,
    &ZIP_BOMB_UNSAID,
    &ENDLESS_PLAIN_HTTP,
    &UNKNOWN_FIELDS,
    &NESTED_GROUPS,
    &GO_AWAY,
    &WATCHES,
    &SYMBOLS,
    &SYMBOLS_NOBODY_READS,
];

/// A field that may not be there, and 9 KiB behind it.
pub const BAD_TE: Attack = Attack {
    row: 35,
    name: "bad te, then 9 KiB",
    reply: "open; 100 x RST_STREAM PROTOCOL_ERROR",
    handlers: 0,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut block = raw_head(UNARY);
            literal(b"te", b"x", &mut block);
            literal(b"x", &[b'y'; 9_000], &mut block);
            let mut peer = ground.peer().await;
            flood(&mut peer, 100, |peer, _, out| headers(peer.open(), &block, true, out)).await
        })
    },
};

/// A message that grows a thousand times: refused at the receive limit, with no more than that and a buffer half as
/// large in memory.
pub const ZIP_BOMB: Attack = Attack {
    row: 37,
    name: "a compressed message",
    reply: "open; 1 x status 8",
    handlers: 0,
    memory: 7 * 1_024,
    server: plain,
    run: |ground| Box::pin(zip_bomb(ground, &[("grpc-encoding", "gzip")])),
};

/// The same without a word in the head: the flag before the message is the first sign.
pub const ZIP_BOMB_UNSAID: Attack = Attack {
    name: "a compressed message, unannounced",
    reply: "open; 1 x status 13",
    memory: 1_024,
    run: |ground| Box::pin(zip_bomb(ground, &[])),
    ..ZIP_BOMB
};

/// A message of 16 KiB that are 16 MiB of zeros in gzip.
async fn zip_bomb(ground: &Ground, fields: &[(&str, &str)]) -> Seen {
    let mut bomb = Vec::new();
    let zeros = std::io::repeat(0).take(16 << 20);
    // Reading from zeros into memory does not fail; a bomb that is none would fail the row.
    let _read = flate2::read::GzEncoder::new(zeros, flate2::Compression::best()).read_to_end(&mut bomb);
    let mut peer = ground.peer().await;
    let mut bytes = Vec::new();
    call(&mut peer, UNARY, fields, &prefixed(1, bomb.len() as u32, &bomb), true, &mut bytes);
    peer.send_bytes(&bytes).await;
    Seen::default().to_the_end(&mut peer).await
}

/// Requests that are no gRPC and whose bodies never end: answered all the same, so that they do not hold their streams.
pub const ENDLESS_PLAIN_HTTP: Attack = Attack {
    row: 39,
    name: "bodies without an end that are no gRPC",
    reply: "open; 100 x RST_STREAM NO_ERROR; 100 x status 13|open; 100 x RST_STREAM NO_ERROR; 50 x status 13; 50 x",
    handlers: 0,
    memory: 2 * 1_024,
    server: |server: Server| server.receive_timeout(Duration::from_secs(1)),
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut bytes = Vec::new();
            for round in 0..STREAMS {
                let (name, value) = [(":method", "PUT"), ("content-type", "text/plain")][round % 2];
                let mut head = request_head(UNARY);
                for field in head.iter_mut().filter(|field| field.0 == name) {
                    field.1 = value.into();
                }
                let stream = peer.open();
                peer.encode_headers(stream, &head, false, &mut bytes);
                data_frame(stream, b"more", false).encode(&mut bytes);
            }
            peer.send_bytes(&bytes).await;
            Seen::default().to_the_end(&mut peer).await
        })
    },
};

/// A client that says GOAWAY in the middle of its calls still gets their answers.
pub const GO_AWAY: Attack = Attack {
    row: 48,
    name: "GOAWAY from the client amid its calls",
    reply: "100 x status 0",
    handlers: STREAMS,
    memory: 4 * 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut bytes = Vec::new();
            for _ in 0..STREAMS {
                let script = [("script", "yield; many 20 1000; yield")];
                call(&mut peer, SERVER_STREAM, &script, &message(b""), true, &mut bytes);
            }
            peer.send_bytes(&bytes).await;
            peer.go_away(ErrorCode::NO_ERROR).await;
            Seen::default().to_the_end(&mut peer).await
        })
    },
};

/// Watches of the health service, as many as fit and many more.
pub const WATCHES: Attack = Attack {
    row: 50,
    name: "5,000 health watches",
    reply: "open; 4900 x RST_STREAM REFUSED_STREAM",
    handlers: 0,
    memory: 2 * 1_024,
    server: with_health,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 5_000, |peer, _, out| {
                call(peer, "/grpc.health.v1.Health/Watch", &[], &message(b""), true, out);
            })
            .await
        })
    },
};

/// 4 MiB of fields that the message does not know, two octets each: kept in memory, one takes twenty times as much.
pub const UNKNOWN_FIELDS: Attack = Attack {
    row: 40,
    name: "2 million unknown fields",
    reply: "1 x status 13",
    handlers: 0,
    memory: 64 * 1_024,
    server: with_health,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let stream = peer.request("/grpc.health.v1.Health/Check", &[], b"", false).await;
            let body = message(&[0x18, 0].repeat((2 << 20) - 3));
            peer.send_body(stream, &body, true).await;
            Seen::default().to_the_end(&mut peer).await
        })
    },
};

/// Ten thousand groups inside of one another, none of which the message knows.
pub const NESTED_GROUPS: Attack = Attack {
    name: "10,000 nested groups",
    memory: 2 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let body = message(&[vec![0x1b; 10_000], vec![0x1c; 10_000]].concat());
            peer.request("/grpc.health.v1.Health/Check", &[], &body, true).await;
            Seen::default().to_the_end(&mut peer).await
        })
    },
    ..UNKNOWN_FIELDS
};

fn with_health(server: Server) -> Server {
    server.add_service(Health::new().service())
}

/// `ServerReflectionRequest` with `file_containing_symbol`, field 4, as a message on the wire.
fn question() -> Vec<u8> {
    let symbol = b"grpc.health.v1.Health";
    message(&[&[0x22, symbol.len() as u8][..], symbol].concat())
}

/// Where tools ask.
const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

fn with_reflection(server: Server) -> Server {
    let server = with_health(server);
    let reflection = Reflection::of(&server).expect("the descriptors of the services are sound");
    reflection.mount(server)
}

/// The same file asked for over and over, on a hundred reflection streams one after another.
pub const SYMBOLS: Attack = Attack {
    row: 50,
    name: "10,000 questions to reflection",
    reply: "10000 answers",
    memory: 4 * 1_024,
    server: with_reflection,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let question = question();
            let (mut answers, mut bytes) = (0, 0);
            for _ in 0..100 {
                let stream = peer.request(REFLECTION, &[], &question.repeat(100), true).await;
                let reply = peer.reply(stream).await;
                answers += reply.messages.len();
                bytes += reply.messages.iter().map(bytes::Bytes::len).sum::<usize>();
            }
            let seen = Seen::default().to_the_end(&mut peer).await;
            Seen { note: format!("{answers} answers; {bytes} bytes"), ..seen }
        })
    },
    ..WATCHES
};

/// A thousand questions on each of a hundred streams, whose answers, forty times as long, get no window: the server
/// stops reading questions once some answers wait.
pub const SYMBOLS_NOBODY_READS: Attack = Attack {
    name: "100,000 questions to reflection, nobody reads",
    reply: "open",
    memory: 16 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer_with(PeerConfig::with_stream_window(0)).await;
            let body = question().repeat(1_000);
            let mut seen = Seen::default();
            for _ in 0..STREAMS {
                let mut bytes = Vec::new();
                let stream = call(&mut peer, REFLECTION, &[], &[], false, &mut bytes);
                for part in body.chunks(16_000) {
                    data_frame(stream, part, false).encode(&mut bytes);
                }
                peer.send_bytes(&bytes).await;
                seen.glance(&mut peer).await;
            }
            seen.to_the_end(&mut peer).await
        })
    },
    ..SYMBOLS
};
