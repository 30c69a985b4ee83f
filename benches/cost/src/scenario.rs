//! What is measured: one line a scenario.

/// Which side is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
}

/// How messages are encoded on the measured side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Buffa,
    Prost,
    Bytes,
}

/// What one call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One message of `size` bytes of payload each way.
    Unary { size: usize },
    /// A call that ends with INVALID_ARGUMENT and a text.
    Error,
    /// `count` messages to the client.
    Stream { count: usize, size: usize },
    /// `count` messages to the server.
    Collect { count: usize, size: usize },
    /// One message each way on a bidirectional call that is open all the time.
    PingPong { size: usize },
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    pub(crate) shape: Shape,
    /// Calls that are under way at once and whose bytes arrive together.
    pub(crate) burst: usize,
    pub(crate) codec: Codec,
    /// Fields of metadata in the request, and as many in the head of the response.
    pub(crate) metadata: usize,
    /// The call has a deadline of some seconds.
    pub(crate) deadline: bool,
    /// The measured side compresses with gzip where it pays, the other one accepts it.
    pub(crate) gzip: bool,
    /// The server gives each call a task of its own.
    pub(crate) spawned: bool,
}

impl Scenario {
    const fn new(name: &'static str, side: Side, shape: Shape) -> Self {
        let burst = match shape {
            Shape::Unary { size } if size >= 1 << 20 => 4,
            Shape::Unary { .. } | Shape::Error => 32,
            Shape::Stream { .. } | Shape::Collect { .. } => 8,
            Shape::PingPong { .. } => 1,
        };
        Self {
            name,
            side,
            shape,
            burst,
            codec: Codec::Buffa,
            metadata: 0,
            deadline: false,
            gzip: false,
            spawned: false,
        }
    }

    const fn server(name: &'static str, shape: Shape) -> Self {
        Self::new(name, Side::Server, shape)
    }

    const fn client(name: &'static str, shape: Shape) -> Self {
        Self::new(name, Side::Client, shape)
    }

    const fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    const fn metadata(mut self, entries: usize) -> Self {
        self.metadata = entries;
        self
    }

    const fn deadline(mut self) -> Self {
        self.deadline = true;
        self
    }

    const fn gzip(mut self) -> Self {
        self.gzip = true;
        self
    }

    const fn spawned(mut self) -> Self {
        self.spawned = true;
        self
    }

    /// Name and a number of calls that takes about as long as the other scenarios do.
    pub(crate) fn line(&self) -> String {
        let calls = match self.shape {
            Shape::Unary { size } if size >= 1 << 20 => 16,
            Shape::Unary { size } if size >= 1 << 14 => 320,
            Shape::Unary { .. } | Shape::Error | Shape::PingPong { .. } => 1_600,
            Shape::Stream { count, .. } | Shape::Collect { count, .. } => 32_000 / count.max(32),
        };
        format!("{} {calls}", self.name)
    }
}

const UNARY_64: Shape = Shape::Unary { size: 64 };

pub(crate) const SCENARIOS: [Scenario; 42] = [
    Scenario::server("server/unary-0", Shape::Unary { size: 0 }),
    Scenario::server("server/unary-64", UNARY_64),
    Scenario::server("server/unary-256", Shape::Unary { size: 256 }),
    Scenario::server("server/unary-1Ki", Shape::Unary { size: 1 << 10 }),
    Scenario::server("server/unary-16Ki", Shape::Unary { size: 1 << 14 }),
    Scenario::server("server/unary-1Mi", Shape::Unary { size: 1 << 20 }),
    Scenario::server("server/metadata-4", UNARY_64).metadata(4),
    Scenario::server("server/metadata-12", UNARY_64).metadata(12),
    Scenario::server("server/metadata-48", UNARY_64).metadata(48),
    Scenario::server("server/deadline", UNARY_64).deadline(),
    Scenario::server("server/error", Shape::Error),
    Scenario::server("server/unary-200", Shape::Unary { size: 200 }),
    Scenario::server("server/gzip-200", Shape::Unary { size: 200 }).gzip(),
    Scenario::server("server/gzip-16Ki", Shape::Unary { size: 1 << 14 }).gzip(),
    Scenario::server("server/prost", UNARY_64).codec(Codec::Prost),
    Scenario::server("server/bytes", UNARY_64).codec(Codec::Bytes),
    Scenario::server("server/spawned", UNARY_64).spawned(),
    Scenario::server("server/stream-16x256", Shape::Stream { count: 16, size: 256 }),
    Scenario::server("server/stream-1000x32", Shape::Stream { count: 1_000, size: 32 }),
    Scenario::server("server/collect-16x256", Shape::Collect { count: 16, size: 256 }),
    Scenario::server("server/collect-1000x32", Shape::Collect { count: 1_000, size: 32 }),
    Scenario::server("server/ping-pong", Shape::PingPong { size: 64 }),
    Scenario::client("client/unary-0", Shape::Unary { size: 0 }),
    Scenario::client("client/unary-64", UNARY_64),
    Scenario::client("client/unary-256", Shape::Unary { size: 256 }),
    Scenario::client("client/unary-1Ki", Shape::Unary { size: 1 << 10 }),
    Scenario::client("client/unary-16Ki", Shape::Unary { size: 1 << 14 }),
    Scenario::client("client/unary-1Mi", Shape::Unary { size: 1 << 20 }),
    Scenario::client("client/metadata-4", UNARY_64).metadata(4),
    Scenario::client("client/metadata-12", UNARY_64).metadata(12),
    Scenario::client("client/metadata-48", UNARY_64).metadata(48),
    Scenario::client("client/deadline", UNARY_64).deadline(),
    Scenario::client("client/error", Shape::Error),
    Scenario::client("client/unary-200", Shape::Unary { size: 200 }),
    Scenario::client("client/gzip-200", Shape::Unary { size: 200 }).gzip(),
    Scenario::client("client/gzip-16Ki", Shape::Unary { size: 1 << 14 }).gzip(),
    Scenario::client("client/prost", UNARY_64).codec(Codec::Prost),
    Scenario::client("client/stream-16x256", Shape::Stream { count: 16, size: 256 }),
    Scenario::client("client/stream-1000x32", Shape::Stream { count: 1_000, size: 32 }),
    Scenario::client("client/collect-16x256", Shape::Collect { count: 16, size: 256 }),
    Scenario::client("client/collect-1000x32", Shape::Collect { count: 1_000, size: 32 }),
    Scenario::client("client/ping-pong", Shape::PingPong { size: 64 }),
];
