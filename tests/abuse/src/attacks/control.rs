//! Frames that move no call forward (rows 7 to 9, 13, 15), read and answered all the while.

use peregrine_http2::StreamId;
use peregrine_http2::frame::{
    Dependency, Frame, Ping, Priority, RstStream, Setting, Settings, Unknown, WindowUpdate,
};
use peregrine_http2::{ErrorCode, frame::Flags};
use peregrine_testkit::PeerConfig;
use peregrine_testkit::peer::message;
use peregrine_testkit::service::{SERVER_STREAM, UNARY};

use super::tools::{call, flood};
use super::{Attack, STREAMS, plain};
use crate::Seen;

/// All of this file.
pub const ALL: &[&Attack] = &[
    &PINGS,
    &SETTINGS,
    &HUGE_SETTINGS,
    &PRIORITIES,
    &UNKNOWN_FRAMES,
    &RESETS_OF_CLOSED,
    &WINDOW_FLOOD,
    &WINDOW_DRIBBLE,
];

/// PINGs whose answers are read.
pub const PINGS: Attack = Attack {
    row: 7,
    name: "PING flood",
    reply: "GOAWAY ENHANCE_YOUR_CALM housekeeping; closed|GOAWAY ENHANCE_YOUR_CALM too_many_pings; closed",
    handlers: 0,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 20_000, |_, number, out| {
                let payload = (number as u64).to_be_bytes();
                Frame::Ping(Ping { ack: false, payload }).encode(out);
            })
            .await
        })
    },
};

/// Empty SETTINGS whose acknowledgements are read.
pub const SETTINGS: Attack = Attack {
    row: 8,
    name: "SETTINGS flood",
    reply: "GOAWAY ENHANCE_YOUR_CALM housekeeping; closed",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 20_000, |_, _, out| Settings::encode_entries(&[], out)).await
        })
    },
    ..PINGS
};

/// A hundred SETTINGS frames as long as a frame may be, which resize the table and all windows over and over, while
/// replies on all streams wait for the window: only the last value of a frame counts.
pub const HUGE_SETTINGS: Attack = Attack {
    row: 9,
    name: "SETTINGS of 2,700 entries",
    reply: "open",
    handlers: STREAMS,
    memory: 8 * 1_024,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer_with(PeerConfig::with_stream_window(0)).await;
            let mut bytes = Vec::new();
            for _ in 0..STREAMS {
                call(&mut peer, UNARY, &[("script", "many 1 1000")], &message(b""), true, &mut bytes);
            }
            peer.send_bytes(&bytes).await;
            let entries: Vec<Setting> = (0..2_700)
                .map(|number| match number % 3 {
                    0 => Setting::HeaderTableSize(number * 7 % 4_096),
                    1 => Setting::InitialWindowSize(number % 2),
                    _ => Setting::Unknown(0x4242, number),
                })
                .collect();
            flood(&mut peer, 100, |_, _, out| Settings::encode_entries(&entries, out)).await
        })
    },
    ..PINGS
};

/// A tree of priorities that nobody keeps.
pub const PRIORITIES: Attack = Attack {
    row: 13,
    name: "PRIORITY churn",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 50_000, |_, number, out| {
                let stream = StreamId::new(number as u32 * 2 + 1);
                let parent = StreamId::new(number as u32 / 2 * 2);
                let dependency = Dependency { exclusive: true, parent, weight: 1 };
                Frame::Priority(Priority { stream, dependency }).encode(out);
            })
            .await
        })
    },
    ..SETTINGS
};

/// Frames of a type that nobody knows.
pub const UNKNOWN_FRAMES: Attack = Attack {
    row: 0,
    name: "unknown frames",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 50_000, |_, number, out| {
                let stream = StreamId::new(number as u32);
                Frame::Unknown(Unknown { kind: 0x42, flags: Flags(0xff), stream, payload: b"" }).encode(out);
            })
            .await
        })
    },
    ..SETTINGS
};

/// RST_STREAM over and over for a call that is over, behind many others that were reset: each has to be looked up
/// among them.
pub const RESETS_OF_CLOSED: Attack = Attack {
    row: 0,
    name: "RST_STREAM on closed streams",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut bytes = Vec::new();
            let mut reset = Vec::new();
            for _ in 0..600 {
                let stream = call(&mut peer, UNARY, &[], b"", false, &mut bytes);
                RstStream { stream, code: ErrorCode::CANCEL }.encode(&mut bytes);
                reset.push(stream);
            }
            peer.send_bytes(&bytes).await;
            flood(&mut peer, 50_000, |_, number, out| {
                let stream = reset[number % reset.len()];
                RstStream { stream, code: ErrorCode::CANCEL }.encode(out);
            })
            .await
        })
    },
    ..SETTINGS
};

/// A reply of 10 MiB waits for a window that grows by an octet a frame, many frames in a write.
pub const WINDOW_FLOOD: Attack = Attack {
    row: 15,
    name: "WINDOW_UPDATE of 1 octet, 100,000 of them",
    reply: "GOAWAY ENHANCE_YOUR_CALM housekeeping; closed",
    handlers: 1,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer_with(PeerConfig::with_stream_window(0)).await;
            let script = [("script", "many 640 16384")];
            let stream = peer.request(SERVER_STREAM, &script, &message(b""), true).await;
            flood(&mut peer, 100_000, |_, _, out| WindowUpdate { stream, increment: 1 }.encode(out)).await
        })
    },
    ..PINGS
};

/// The same with one frame a write, each as soon as the server has made a frame of the one before: those frames are
/// no progress that would pay for the next.
pub const WINDOW_DRIBBLE: Attack = Attack {
    row: 15,
    name: "WINDOW_UPDATE of 1 octet, one by one",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer_with(PeerConfig::with_stream_window(0)).await;
            let script = [("script", "many 640 16384")];
            let stream = peer.request(SERVER_STREAM, &script, &message(b""), true).await;
            let mut seen = Seen::default();
            for _ in 0..100_000 {
                let mut bytes = Vec::new();
                WindowUpdate { stream, increment: 1 }.encode(&mut bytes);
                if peer.try_send_bytes(&bytes).await.is_err() || seen.is_over() {
                    break;
                }
                seen.next_data(&mut peer).await;
            }
            seen.to_the_end(&mut peer).await
        })
    },
    ..WINDOW_FLOOD
};
