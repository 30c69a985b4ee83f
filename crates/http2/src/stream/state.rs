//! The life of a stream (RFC 9113, 5.1), kept as its two halves.
//!
//! ```text
//!                    this side (SendHalf)                 the peer's side (RecvHalf)
//!
//!     open():      +---------+      request received:     +---------+  open(): a response is due
//!                  | HeadDue |<--- a response is due      | HeadDue |
//!                  +----+----+                            +----+----+
//!          head sent    |                   head received      |
//!          (open(): at  v                   (request: at       v
//!           once)  +---------+              once)         +---------+
//!                  |  Open   |                            |  Open   |
//!                  +----+----+                            +----+----+
//!     end asked for,    |    \  end asked for,                 |  END_STREAM received
//!     data is queued    v     \ nothing queued                 v
//!                  +---------+ |                          +---------+
//!                  | Ending  | |                          |  Ended  |
//!                  +----+----+ |                          +---------+
//!     END_STREAM in     |      |
//!     the output        v      v
//!                  +---------+
//!                  |  Ended  |
//!                  +---------+
//! ```
//!
//! A stream whose halves are both `Ended` is closed and leaves the slab at once, as does one that is reset.
//! The RFC's names: HeadDue or Open on both halves is "open", one half Ended is "half-closed". Idle and
//! closed streams have no entry; `connection::ids` tells them apart. Reserved streams do not exist: push is
//! off.

/// What this side may still send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendHalf {
    /// Server: the response head comes first.
    HeadDue,
    /// Data or trailers.
    Open,
    /// Nothing more; END_STREAM follows what is queued.
    Ending,
    /// Nothing; END_STREAM is in the output.
    Ended,
}

/// What the peer may still send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecvHalf {
    /// Client: informational heads, then the response head.
    HeadDue,
    /// Data or trailers.
    Open,
    /// Nothing but WINDOW_UPDATE, PRIORITY and RST_STREAM.
    Ended,
}
