//! Calls that are wrong or too many by what they say (rows 33, 35, 40, 48, 50).

use peregrine_http2::ErrorCode;
use peregrine_server::Server;
use peregrine_services::health::Health;
use peregrine_services::reflection::Reflection;
use peregrine_testkit::peer::message;
use peregrine_testkit::service::{SERVER_STREAM, UNARY};

use super::tools::{call, flood, headers, literal, raw_head};
use super::{Attack, STREAMS, plain};
use crate::Seen;

/// All of this file.
pub const ALL: &[&Attack] = &[&BAD_TE, &UNKNOWN_FIELDS, &NESTED_GROUPS, &GO_AWAY, &WATCHES, &SYMBOLS];

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

/// The same file asked for over and over, on a hundred reflection streams one after another.
pub const SYMBOLS: Attack = Attack {
    row: 50,
    name: "10,000 questions to reflection",
    reply: "10000 answers",
    memory: 4 * 1_024,
    server: |server: Server| {
        let server = with_health(server);
        let reflection = Reflection::of(&server).expect("the descriptors of the services are sound");
        reflection.mount(server)
    },
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
            // ServerReflectionRequest.file_containing_symbol is field 4.
            let symbol = b"grpc.health.v1.Health";
            let question = message(&[&[0x22, symbol.len() as u8][..], symbol].concat());
            let (mut answers, mut bytes) = (0, 0);
            for _ in 0..100 {
                let stream = peer.request(path, &[], &question.repeat(100), true).await;
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
