//! How connections begin: slowly, never, over and over, in another language (rows 10, 27, 42, 45, 49).

use std::time::Duration;

use peregrine_http2::StreamId;
use peregrine_http2::frame::{Flags, FrameHeader, FrameType, Setting, Settings};
use peregrine_testkit::peer::PREFACE;
use peregrine_testkit::{Peer, PeerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Attack, plain};
use crate::{Ground, Line, Seen};

/// All of this file.
pub const ALL: &[&Attack] = &[
    &SETTINGS_NEVER_ACKNOWLEDGED,
    &FRAME_SIZE_ZERO,
    &FRAME_SIZE_BELOW,
    &FRAME_SIZE_ABOVE,
    &SILENT_CONNECTIONS,
    &HALF_PREFACES,
    &NO_SETTINGS,
    &HTTP1_REQUEST,
    &HTTP1_UPGRADE,
    &CHURN,
];

/// Everything is right but that our SETTINGS are never acknowledged.
pub const SETTINGS_NEVER_ACKNOWLEDGED: Attack = Attack {
    row: 10,
    name: "SETTINGS never acknowledged",
    reply: "GOAWAY SETTINGS_TIMEOUT SETTINGS not acknowledged in time; closed",
    handlers: 0,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let config = PeerConfig { answer_settings: false, ..PeerConfig::default() };
            let mut peer = ground.peer_with(config).await;
            tokio::time::sleep(TIMERS).await;
            Seen::default().to_the_end(&mut peer).await
        })
    },
};

/// Longer than the timers of a connection's start, which are 10 s each by default.
const TIMERS: Duration = Duration::from_millis(10_500);

/// A frame size of 0, by which a client of another stack was sent into a loop.
pub const FRAME_SIZE_ZERO: Attack = Attack {
    row: 27,
    name: "MAX_FRAME_SIZE of 0",
    reply: "GOAWAY PROTOCOL_ERROR",
    run: |ground| Box::pin(frame_size(ground, 0)),
    ..SETTINGS_NEVER_ACKNOWLEDGED
};

/// One below what every endpoint takes.
pub const FRAME_SIZE_BELOW: Attack = Attack {
    name: "MAX_FRAME_SIZE of 16,383",
    run: |ground| Box::pin(frame_size(ground, 16_383)),
    ..FRAME_SIZE_ZERO
};

/// One above what a frame can say.
pub const FRAME_SIZE_ABOVE: Attack = Attack {
    name: "MAX_FRAME_SIZE of 2^24",
    run: |ground| Box::pin(frame_size(ground, 1 << 24)),
    ..FRAME_SIZE_ZERO
};

async fn frame_size(ground: &Ground, size: u32) -> Seen {
    let mut peer = Peer::new(ground.line().await, PeerConfig::default());
    let mut bytes = PREFACE.to_vec();
    Settings::encode_entries(&[Setting::MaxFrameSize(size)], &mut bytes);
    peer.send_bytes(&bytes).await;
    Seen::default().to_the_end(&mut peer).await
}

/// Sockets of an attack.
const SOCKETS: usize = 1_000;

/// Connections on which nothing is ever said.
pub const SILENT_CONNECTIONS: Attack = Attack {
    row: 42,
    name: "1,000 silent connections",
    reply: "1000 of 1000 ended",
    memory: 24 * 1_024,
    run: |ground| Box::pin(lines(ground, b"")),
    ..SETTINGS_NEVER_ACKNOWLEDGED
};

/// Connections that stop in the middle of the preface.
pub const HALF_PREFACES: Attack = Attack {
    name: "1,000 half prefaces",
    run: |ground| Box::pin(lines(ground, &PREFACE[..12])),
    ..SILENT_CONNECTIONS
};

/// Connections that stop in the middle of their first frame, after most of it.
pub const NO_SETTINGS: Attack = Attack {
    name: "1,000 prefaces with most of a SETTINGS frame",
    memory: 96 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut bytes = PREFACE.to_vec();
            let header = FrameHeader {
                len: 16_380,
                kind: FrameType::Settings,
                flags: Flags::NONE,
                stream: StreamId::CONNECTION,
            };
            header.encode(&mut bytes);
            bytes.resize(bytes.len() + 16_000, 0);
            lines(ground, &bytes).await
        })
    },
    ..SILENT_CONNECTIONS
};

/// Opens lines that say `bytes` and then nothing; counts those that the server has ended when its timers are over.
async fn lines(ground: &Ground, bytes: &[u8]) -> Seen {
    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..SOCKETS {
        let mut line = ground.line().await;
        // A server that has too many of these may refuse this one.
        let _ = line.write_all(bytes).await;
        lines.push(line);
    }
    tokio::time::sleep(TIMERS + Duration::from_secs(2)).await;
    let mut ended = 0;
    for line in &mut lines {
        let mut said = Vec::new();
        let end = tokio::time::timeout(Duration::from_millis(1), line.read_to_end(&mut said)).await;
        ended += usize::from(end.is_ok());
    }
    Seen { note: format!("{ended} of {SOCKETS} ended"), ..Seen::default() }
}

/// A request of HTTP/1 with what looks like HTTP/2 behind it, which nobody may take for that.
pub const HTTP1_REQUEST: Attack = Attack {
    row: 45,
    name: "HTTP/1 request, HTTP/2 behind it",
    reply: "ended after",
    run: |ground| {
        Box::pin(async {
            let mut bytes = b"GET / HTTP/1.1\r\nHost: test.example\r\n\r\n".to_vec();
            bytes.extend_from_slice(PREFACE);
            Settings::encode_entries(&[], &mut bytes);
            foreign(ground, &bytes).await
        })
    },
    ..SETTINGS_NEVER_ACKNOWLEDGED
};

/// The upgrade that RFC 9113 has done away with, and a body that is the start of HTTP/2.
pub const HTTP1_UPGRADE: Attack = Attack {
    name: "upgrade to h2c with a body",
    run: |ground| {
        Box::pin(async {
            let mut bytes = b"POST /test.Test/Unary HTTP/1.1\r\nHost: test.example\r\nConnection: Upgrade, \
                HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: 33\r\n\r\n"
                .to_vec();
            bytes.extend_from_slice(PREFACE);
            Settings::encode_entries(&[], &mut bytes);
            foreign(ground, &bytes).await
        })
    },
    ..HTTP1_REQUEST
};

/// What comes back for bytes that are not HTTP/2: at most an answer in that language, then the end.
async fn foreign(ground: &Ground, bytes: &[u8]) -> Seen {
    let mut line = ground.line().await;
    let _ = line.write_all(bytes).await;
    let mut said = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(2), line.read_to_end(&mut said)).await;
    let mut seen = Seen { closed: end.is_ok(), ..Seen::default() };
    // A HEADERS frame would mean that the leftovers were served.
    let begins: String = said.iter().take(24).map(|octet| octet.escape_ascii().to_string()).collect();
    seen.note =
        format!("{} after {} bytes: {begins}", if seen.closed { "ended" } else { "open" }, said.len());
    seen
}

/// Connections made and dropped, some of them in the middle of their start.
pub const CHURN: Attack = Attack {
    row: 49,
    name: "5,000 connects and closes",
    reply: "5000 made",
    memory: 16 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut made = 0;
            for number in 0..5_000_usize {
                let mut line = ground.line().await;
                let said: &[u8] = [b"", &PREFACE[..5], PREFACE][number % 3];
                let _ = line.write_all(said).await;
                drop(line);
                made += 1;
                if made % 100 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            Seen { note: format!("{made} made"), ..Seen::default() }
        })
    },
    ..SETTINGS_NEVER_ACKNOWLEDGED
};
