//! What the owner of a connection may choose.

use std::time::Duration;

use super::{AdaptiveWindows, Keepalive, PingPolicy};
use crate::{LimitConfig, StreamId};

/// Which end of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens streams; sends the preface.
    Client,
    /// Answers streams; expects the preface.
    Server,
}

/// Settings of a [`Connection`](crate::Connection). Start from [`Config::server`] or [`Config::client`] and
/// change fields; what the peer would refuse as a protocol error is clamped when the connection is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Streams the peer may have open at once (SETTINGS_MAX_CONCURRENT_STREAMS); `None` sets no bound.
    /// Default: 100 on a server; a client allows no pushed streams whatever is set here.
    pub max_concurrent_streams: Option<u32>,
    /// Octets of DATA a stream may receive before the upper layer releases any
    /// (SETTINGS_INITIAL_WINDOW_SIZE). Default 256 KiB, at most 2^31-1.
    pub initial_window_size: u32,
    /// Octets of DATA the connection may have in flight towards us; at least 65,535 (RFC 9113 6.9.2), at most
    /// 2^31-1. Default 1 MiB.
    pub connection_window_size: u32,
    /// Largest frame payload we accept (SETTINGS_MAX_FRAME_SIZE), 16,384 to 2^24-1. Default 16,384.
    pub max_frame_size: u32,
    /// Largest header list we accept, counted as RFC 9113 6.5.2 does (SETTINGS_MAX_HEADER_LIST_SIZE). A
    /// longer one becomes [`Event::HeadersTooLarge`](crate::Event::HeadersTooLarge). Default 16 KiB. Each
    /// field counts 32 octets more than its text, so this bounds the number of fields as well.
    pub max_header_list_size: u32,
    /// Decoder table we offer the peer's encoder (SETTINGS_HEADER_TABLE_SIZE), and the most our encoder uses
    /// of what the peer offers. Default 4,096 octets.
    pub header_table_size: u32,
    /// Stream data waiting for a window before [`poll_writable`](crate::Connection::poll_writable) turns
    /// false. Soft: writing more is never refused. Default 32 KiB.
    pub send_buffer_per_stream: usize,
    /// Octets of output not yet taken by the socket above which nothing more is scheduled. Default 256 KiB.
    pub write_buffer_high_water: usize,
    /// Server: whether a request whose data lies behind its head, in one frame and whole, comes as one
    /// [`Event::Request`](crate::Event::Request) instead of two events. Without meaning on a client. Default false.
    pub whole_requests: bool,
    /// Client: the id of the first stream; an even one counts as the odd one above it. For tests of what happens
    /// when the ids run out, which nobody can wait for. Default 1.
    pub first_stream_id: StreamId,
    /// Octets of stream data that may wait for the socket or the connection's window before
    /// [`is_congested`](crate::Connection::is_congested) turns true. Default 16 MiB.
    pub max_backlog: usize,
    /// Seed of the hashes over bytes the peer chooses (stream ids, header blocks). Should be unpredictable.
    pub hash_seed: u64,
    /// How long the peer may take for its preface and first SETTINGS. Default 10 s; `None` waits for ever.
    pub handshake_timeout: Option<Duration>,
    /// How long the peer may take to acknowledge our SETTINGS (RFC 9113 6.5.3). Default 10 s; `None` for
    /// ever.
    pub settings_timeout: Option<Duration>,
    /// How long the first GOAWAY of a graceful shutdown waits for the acknowledgement of the PING that
    /// follows it before the final one goes out anyway. Default 5 s.
    pub drain_ping_timeout: Duration,
    /// PINGs of ours when nothing comes from the peer; see [`Keepalive`]. Default `None`: none.
    pub keepalive: Option<Keepalive>,
    /// How often the peer may send PING; see [`PingPolicy`]. Default: the policy's own defaults on a server,
    /// `None` (as often as [`LimitConfig::housekeeping`] allows) on a client.
    pub ping_policy: Option<PingPolicy>,
    /// A connection without a stream for so long is shut down gracefully; noticed up to an eighth late. Default
    /// `None`: never.
    pub max_idle: Option<Duration>,
    /// A connection of this age is shut down gracefully. Connections opened together should not end together:
    /// whoever sets this adds jitter. Default `None`: never.
    pub max_age: Option<Duration>,
    /// How long the streams of a graceful shutdown, whatever its cause, may take to end; what is open then is
    /// cut. Default `None`: as long as they like.
    pub drain_timeout: Option<Duration>,
    /// How long output may wait for a socket that takes none of it; noticed up to an eighth late. Default 2
    /// minutes; `None` for ever.
    pub write_stall_timeout: Option<Duration>,
    /// How long the data of a stream may wait for window that the peer does not give; the stream is reset with
    /// CANCEL then, which is noticed up to a quarter late. Default 5 minutes on a server, `None` (for ever) on a
    /// client, whose calls have deadlines of their own.
    pub stream_stall_timeout: Option<Duration>,
    /// A connection on which nothing was received for so long, and nothing waits to be sent, gives memory kept for
    /// reuse back ([`Connection::trim`](crate::Connection::trim)). Default 10 s; `None`: never.
    pub trim_after: Option<Duration>,
    /// Windows that grow with the path; see [`AdaptiveWindows`]. Default: that type's own defaults; `None`
    /// keeps them as configured.
    pub adaptive_windows: Option<AdaptiveWindows>,
    /// Bounds on what a peer may make us do; see [`LimitConfig`].
    pub limits: LimitConfig,
}

impl Config {
    /// Defaults for the end that accepts connections.
    pub fn server() -> Self {
        Config {
            max_concurrent_streams: Some(100),
            ping_policy: Some(PingPolicy::default()),
            stream_stall_timeout: Some(Duration::from_mins(5)),
            ..Config::client()
        }
    }

    /// Defaults for the end that opens connections.
    pub fn client() -> Self {
        Config {
            max_concurrent_streams: None,
            initial_window_size: 256 * 1024,
            connection_window_size: 1024 * 1024,
            max_frame_size: 16_384,
            max_header_list_size: 16 * 1024,
            header_table_size: 4_096,
            send_buffer_per_stream: 32 * 1024,
            write_buffer_high_water: 256 * 1024,
            whole_requests: false,
            first_stream_id: StreamId::FIRST_CLIENT,
            max_backlog: 16 * 1024 * 1024,
            hash_seed: 0x243f_6a88_85a3_08d3,
            handshake_timeout: Some(Duration::from_secs(10)),
            settings_timeout: Some(Duration::from_secs(10)),
            drain_ping_timeout: Duration::from_secs(5),
            keepalive: None,
            ping_policy: None,
            max_idle: None,
            max_age: None,
            drain_timeout: None,
            write_stall_timeout: Some(Duration::from_mins(2)),
            stream_stall_timeout: None,
            trim_after: Some(Duration::from_secs(10)),
            adaptive_windows: Some(AdaptiveWindows::default()),
            limits: LimitConfig::default(),
        }
    }
}
