//! Streams that end before their work: by the client, or by the server because the client makes it (rows 1 to 3,
//! 29).

use peregrine_http2::frame::{Dependency, Frame, Priority, RstStream, WindowUpdate};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_server::{Execution, Server};
use peregrine_testkit::Peer;
use peregrine_testkit::peer::{data_frame, message};
use peregrine_testkit::service::{BIDI, UNARY};

use super::tools::{call, empty_window_update, flood};
use super::{Attack, STREAMS, plain};
use crate::{Ground, Line, Seen};

/// All of this file.
pub const ALL: &[&Attack] = &[
    &RAPID_RESET,
    &RESET_BEFORE_BODY,
    &RESET_BEFORE_RUN,
    &ZERO_WINDOW_UPDATE,
    &WINDOW_OVERFLOW,
    &DATA_BEYOND_WINDOW,
    &HEADERS_AFTER_END,
    &DATA_AFTER_END,
    &BODY_LONGER_THAN_SAID,
    &BAD_TRAILERS,
    &BAD_PRIORITY,
    &MORE_STREAMS_THAN_ALLOWED,
];

/// The calls whose handlers never end by themselves.
const NEVER: [(&str, &str); 1] = [("script", "never")];

/// Pairs of an attack.
const PAIRS: usize = 20_000;

/// Provocations of an attack.
const PROVOCATIONS: usize = 3_000;

/// Each call's handler starts, then the call is reset.
pub const RAPID_RESET: Attack = Attack {
    row: 1,
    name: "rapid reset",
    reply: "GOAWAY ENHANCE_YOUR_CALM resets_received; closed",
    handlers: STREAMS,
    memory: 1_024,
    server: plain,
    run: |ground| Box::pin(rapid_reset(ground, true)),
};

/// HEADERS and RST_STREAM alone: nothing has started.
pub const RESET_BEFORE_BODY: Attack = Attack {
    row: 1,
    name: "rapid reset of bare heads",
    handlers: 0,
    run: |ground| Box::pin(rapid_reset(ground, false)),
    ..RAPID_RESET
};

/// Calls get tasks of their own, which all pairs of one read reset before they first run.
pub const RESET_BEFORE_RUN: Attack = Attack {
    row: 2,
    name: "reset before the handler's task runs",
    server: |server: Server| server.execution(Execution::Spawn),
    ..RAPID_RESET
};

async fn rapid_reset(ground: &Ground, with_body: bool) -> Seen {
    let mut peer = ground.peer().await;
    let body = if with_body { message(b"") } else { Vec::new() };
    flood(&mut peer, PAIRS, |peer, _, out| {
        let stream = call(peer, UNARY, &NEVER, &body, with_body, out);
        RstStream { stream, code: ErrorCode::CANCEL }.encode(out);
    })
    .await
}

/// WINDOW_UPDATE of nothing is a stream error (RFC 9113 6.9).
pub const ZERO_WINDOW_UPDATE: Attack = Attack {
    row: 3,
    name: "provoked reset: WINDOW_UPDATE of 0",
    reply: "GOAWAY ENHANCE_YOUR_CALM resets_provoked; closed",
    run: |ground| {
        Box::pin(provoke(ground, false, |_, stream, out| {
            empty_window_update(stream, out);
        }))
    },
    ..RAPID_RESET
};

/// A stream's window beyond 2^31-1 is a stream error (RFC 9113 6.9.1).
pub const WINDOW_OVERFLOW: Attack = Attack {
    name: "provoked reset: window overflow",
    run: |ground| {
        Box::pin(provoke(ground, false, |_, stream, out| {
            WindowUpdate { stream, increment: 0x7fff_ffff }.encode(out);
        }))
    },
    ..ZERO_WINDOW_UPDATE
};

/// More DATA than the stream's window takes, within the connection's.
pub const DATA_BEYOND_WINDOW: Attack = Attack {
    name: "provoked reset: DATA beyond the window",
    server: |server: Server| server.initial_stream_window(1_000),
    run: |ground| {
        Box::pin(provoke(ground, false, |_, stream, out| {
            data_frame(stream, &[0; 1_001], false).encode(out);
        }))
    },
    ..ZERO_WINDOW_UPDATE
};

/// A second head on a stream whose sender has ended it.
pub const HEADERS_AFTER_END: Attack = Attack {
    name: "provoked reset: HEADERS after END_STREAM",
    run: |ground| {
        Box::pin(provoke(ground, true, |peer, stream, out| {
            peer.encode_headers(stream, &[("x", "y")], true, out);
        }))
    },
    ..ZERO_WINDOW_UPDATE
};

/// DATA on a stream whose sender has ended it.
pub const DATA_AFTER_END: Attack = Attack {
    name: "provoked reset: DATA after END_STREAM",
    run: |ground| {
        Box::pin(provoke(ground, true, |_, stream, out| {
            data_frame(stream, b"x", false).encode(out);
        }))
    },
    ..ZERO_WINDOW_UPDATE
};

/// More body than `content-length` says.
pub const BODY_LONGER_THAN_SAID: Attack = Attack {
    name: "provoked reset: more than content-length",
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, PROVOCATIONS, |peer, _, out| {
                let fields = [NEVER[0], ("content-length", "5")];
                call(peer, BIDI, &fields, &message(b"x"), false, out);
            })
            .await
        })
    },
    ..ZERO_WINDOW_UPDATE
};

/// Trailers with a field that no block may have.
pub const BAD_TRAILERS: Attack = Attack {
    name: "provoked reset: malformed trailers",
    run: |ground| {
        Box::pin(provoke(ground, false, |peer, stream, out| {
            peer.encode_headers(stream, &[("connection", "close")], true, out);
        }))
    },
    ..ZERO_WINDOW_UPDATE
};

/// A stream that depends on itself.
pub const BAD_PRIORITY: Attack = Attack {
    name: "provoked reset: PRIORITY on itself",
    run: |ground| {
        Box::pin(provoke(ground, false, |_, stream, out| {
            let dependency = Dependency { exclusive: false, parent: stream, weight: 1 };
            Frame::Priority(Priority { stream, dependency }).encode(out);
        }))
    },
    ..ZERO_WINDOW_UPDATE
};

/// Begins calls whose handlers run, and makes the server reset each.
async fn provoke(
    ground: &Ground,
    end_stream: bool,
    offend: impl Fn(&mut Peer<Line>, StreamId, &mut Vec<u8>),
) -> Seen {
    let mut peer = ground.peer().await;
    flood(&mut peer, PROVOCATIONS, |peer, _, out| {
        let stream = call(peer, BIDI, &NEVER, b"", end_stream, out);
        offend(peer, stream, out);
    })
    .await
}

/// Twice as many calls as are allowed in one write, over and over: the excess is refused, which is no offence by
/// itself, since a client may not know the limit yet.
pub const MORE_STREAMS_THAN_ALLOWED: Attack = Attack {
    row: 29,
    name: "more streams than allowed",
    reply: "open; 4900 x RST_STREAM REFUSED_STREAM",
    handlers: STREAMS,
    memory: 1_024,
    server: plain,
    run: |ground| {
        Box::pin(async {
            let mut peer = ground.peer().await;
            flood(&mut peer, 5_000, |peer, _, out| {
                call(peer, UNARY, &NEVER, &message(b""), true, out);
            })
            .await
        })
    },
};
