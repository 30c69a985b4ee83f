//! Clients that ask and do not read (rows 4, 7, 8, 16, 17).

use std::time::Duration;

use peregrine_http2::frame::{Frame, Ping, Settings};
use peregrine_testkit::PeerConfig;
use peregrine_testkit::peer::message;
use peregrine_testkit::service::{SERVER_STREAM, UNARY};

use super::tools::{call, deaf_flood, headers, literal, raw_head};
use super::{Attack, STREAMS, plain};
use crate::Seen;

/// All of this file.
pub const ALL: &[&Attack] =
    &[&BAD_HEADS, &PINGS, &SETTINGS, &REFUSALS, &UNKNOWN_PATHS, &HUGE_WINDOW, &ZERO_WINDOWS];

/// Malformed requests, each of which the server has to reset.
pub const BAD_HEADS: Attack = Attack {
    row: 4,
    name: "bad frames, nothing read",
    reply: "GOAWAY ENHANCE_YOUR_CALM resets_provoked; closed",
    handlers: 0,
    memory: 1_536,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut block = raw_head(UNARY);
            literal(b"Upper", b"case", &mut block);
            deaf_flood(&mut peer, 50_000, |peer, _, out| headers(peer.open(), &block, true, out)).await
        })
    },
};

/// PINGs, each of which wants an answer.
pub const PINGS: Attack = Attack {
    row: 7,
    name: "PING flood, nothing read",
    reply: "GOAWAY ENHANCE_YOUR_CALM control_backlog; closed|GOAWAY ENHANCE_YOUR_CALM too_many_pings; closed",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            deaf_flood(&mut peer, 20_000, |_, number, out| {
                let payload = (number as u64).to_be_bytes();
                Frame::Ping(Ping { ack: false, payload }).encode(out);
            })
            .await
        })
    },
    ..BAD_HEADS
};

/// Empty SETTINGS, each of which wants an acknowledgement.
pub const SETTINGS: Attack = Attack {
    row: 8,
    name: "SETTINGS flood, nothing read",
    reply: "GOAWAY ENHANCE_YOUR_CALM control_backlog; closed|GOAWAY ENHANCE_YOUR_CALM housekeeping; closed",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            deaf_flood(&mut peer, 20_000, |_, _, out| Settings::encode_entries(&[], out)).await
        })
    },
    ..BAD_HEADS
};

/// Calls beyond the limit, each refused by a frame of its own.
pub const REFUSALS: Attack = Attack {
    row: 29,
    name: "refused streams, nothing read",
    reply: "REFUSED_STREAM",
    handlers: STREAMS,
    memory: 6 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            deaf_flood(&mut peer, 200_000, |peer, _, out| {
                call(peer, UNARY, &[("script", "never")], &message(b""), true, out);
            })
            .await
        })
    },
    ..BAD_HEADS
};

/// Calls to a method that does not exist: answered at once, and never more than the streams at a time.
pub const UNKNOWN_PATHS: Attack = Attack {
    row: 4,
    name: "unknown methods, nothing read",
    reply: "x status 12",
    handlers: 0,
    memory: 6 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            deaf_flood(&mut peer, 100_000, |peer, _, out| {
                call(peer, "/test.Test/None", &[], &message(b""), true, out);
            })
            .await
        })
    },
    ..BAD_HEADS
};

/// All the window there is, a reply of 1 GiB, and nobody who reads it: what is made is bounded by what may wait.
pub const HUGE_WINDOW: Attack = Attack {
    row: 16,
    name: "1 GiB asked for, nothing read",
    reply: "open",
    handlers: 1,
    memory: 2 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let script = [("script", "many 65536 16384")];
            peer.request(SERVER_STREAM, &script, &message(b""), true).await;
            // Nothing is read while the server does what it can.
            tokio::time::sleep(Duration::from_secs(1)).await;
            Seen::default()
        })
    },
    ..BAD_HEADS
};

/// Every stream of ten connections wants a reply and gives it no window. What waits is the replies and little more;
/// it is given up when the stall timeout is over, which this attacker does not wait for.
pub const ZERO_WINDOWS: Attack = Attack {
    row: 17,
    name: "1,000 replies without window",
    reply: "open",
    handlers: 10 * STREAMS,
    memory: 8 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peers = Vec::new();
            for _ in 0..10 {
                let mut peer = ground.peer_with(PeerConfig::with_stream_window(0)).await;
                let mut bytes = Vec::new();
                for _ in 0..STREAMS {
                    call(&mut peer, UNARY, &[("script", "many 1 1000")], &message(b""), true, &mut bytes);
                }
                peer.send_bytes(&bytes).await;
                peers.push(peer);
            }
            let mut all = Seen::default();
            for peer in &mut peers {
                all.glance(peer).await;
            }
            assert_eq!(all.data_bytes, 0, "no window was given");
            all
        })
    },
    ..BAD_HEADS
};
