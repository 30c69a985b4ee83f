//! Bodies: frames without data, frames with hardly any, prefixes that lie (rows 11, 12, 38).

use peregrine_http2::ErrorCode;
use peregrine_http2::frame::{Data, Frame, RstStream};
use peregrine_server::Server;
use peregrine_testkit::peer::{data_frame, message, prefixed};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, UNARY};

use super::tools::{call, flood};
use super::{Attack, STREAMS, plain};
use crate::Seen;

/// All of this file.
pub const ALL: &[&Attack] =
    &[&EMPTY_DATA, &PADDING_ONLY, &TINY_DATA, &TINY_MESSAGES, &PREFIX_LIE, &PREFIX_AT_LIMIT, &DATA_ON_CLOSED];

/// DATA without data on one stream, which never ends.
pub const EMPTY_DATA: Attack = Attack {
    row: 11,
    name: "empty DATA flood",
    reply: "GOAWAY ENHANCE_YOUR_CALM empty_data; closed",
    handlers: 1,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let stream = peer.request(BIDI, &[("script", "never")], b"", false).await;
            flood(&mut peer, 10_000, |_, _, out| data_frame(stream, b"", false).encode(out)).await
        })
    },
};

/// The same with padding, for which window is paid and given back.
pub const PADDING_ONLY: Attack = Attack {
    row: 11,
    name: "DATA of padding only",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let stream = peer.request(BIDI, &[("script", "never")], b"", false).await;
            flood(&mut peer, 10_000, |_, _, out| {
                Frame::Data(Data { stream, data: b"", end_stream: false, padding: Some(255) }).encode(out);
            })
            .await
        })
    },
    ..EMPTY_DATA
};

/// A window of 1 MiB filled octet by octet, and a handler that does not read.
pub const TINY_DATA: Attack = Attack {
    row: 12,
    name: "1 MiB in DATA of 1 octet",
    reply: "open",
    handlers: 1,
    memory: 3 * 1_024,
    server: |server: Server| server.initial_stream_window(1 << 20).initial_connection_window(2 << 20),
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let stream = peer.request(BIDI, &[("script", "never")], b"", false).await;
            flood(&mut peer, 1 << 20, |_, _, out| data_frame(stream, &[0], false).encode(out)).await
        })
    },
};

/// The same window full of empty messages, five octets each.
pub const TINY_MESSAGES: Attack = Attack {
    row: 12,
    name: "1 MiB of empty messages",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let stream = peer.request(BIDI, &[("script", "never")], b"", false).await;
            let messages = message(b"").repeat(3_000);
            flood(&mut peer, 69, |_, _, out| data_frame(stream, &messages, false).encode(out)).await
        })
    },
    ..TINY_DATA
};

/// Prefixes that announce 4 GiB, and nothing behind them.
pub const PREFIX_LIE: Attack = Attack {
    row: 38,
    name: "prefix of 4 GiB",
    reply: "100 x status 8",
    handlers: STREAMS,
    memory: 2 * 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 100, |peer, number, out| {
                let path = [UNARY, CLIENT_STREAM][number % 2];
                let end = number % 4 < 2;
                call(peer, path, &[], &prefixed(0, u32::MAX, b""), end, out);
            })
            .await
        })
    },
};

/// Prefixes that announce as much as is allowed, and nothing behind them: room is made by arrival.
pub const PREFIX_AT_LIMIT: Attack = Attack {
    name: "prefix of 4 MiB, then silence",
    reply: "open",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 100, |peer, number, out| {
                let path = [UNARY, CLIENT_STREAM][number % 2];
                call(peer, path, &[], &prefixed(0, 4 << 20, b"x"), false, out);
            })
            .await
        })
    },
    ..PREFIX_LIE
};

/// DATA of one octet for calls that were reset long ago: the window is given back, so nothing but work is spent.
pub const DATA_ON_CLOSED: Attack = Attack {
    row: 0,
    name: "DATA on streams that the server has reset",
    reply: "open|GOAWAY ENHANCE_YOUR_CALM",
    handlers: STREAMS,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            let mut bytes = Vec::new();
            let mut refused = Vec::new();
            for _ in 0..600 {
                refused.push(call(&mut peer, BIDI, &[("script", "never")], b"", false, &mut bytes));
            }
            peer.send_bytes(&bytes).await;
            let refused = &refused[STREAMS..];
            let seen = flood(&mut peer, 100_000, |_, number, out| {
                data_frame(refused[number % refused.len()], b"x", false).encode(out);
            })
            .await;
            if seen.closed {
                return seen;
            }
            let mut bytes = Vec::new();
            RstStream { stream: peregrine_http2::StreamId::FIRST_CLIENT, code: ErrorCode::CANCEL }
                .encode(&mut bytes);
            let _ = peer.try_send_bytes(&bytes).await;
            Seen::default().to_the_end(&mut peer).await
        })
    },
};
