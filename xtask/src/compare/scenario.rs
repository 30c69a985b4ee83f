//! What is measured: kinds of calls, and how many at once.

/// One kind of load.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// For a reader.
    pub(super) title: &'static str,
    /// Words for the program that makes the load.
    pub(super) load: &'static str,
    pub(super) kind: Kind,
}

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every server, on processor 0, under the load of bare sockets on processor 1.
    Server,
    /// Servers with one thread and with two, on both processors, which also make the load.
    Threads,
    /// Clients, on processor 1, against our server on processor 0.
    Client,
}

impl Scenario {
    pub(super) const ALL: &'static [Self] = &[
        server("U16", "unary, 16 B", "unary size=16 conns=4 conc=128"),
        server("U256", "unary, 256 B", "unary size=256 conns=4 conc=128"),
        server("U4K", "unary, 4 KiB", "unary size=4096 conns=4 conc=128"),
        server("U1M", "unary, 1 MiB, 16 at once", "unary size=1048576 conns=4 conc=16"),
        server("S16x256", "stream of 16 x 256 B", "stream size=256 count=16 conns=4 conc=128"),
        server("C16x256", "collect 16 x 256 B", "collect size=256 count=16 conns=4 conc=128"),
        server("U256c1000", "unary, 256 B, 1,000 connections", "unary size=256 conns=1000 conc=1000"),
        Self {
            name: "threads",
            title: "unary, 256 B, two threads",
            load: "unary size=256 conns=4 conc=64",
            kind: Kind::Threads,
        },
        Self {
            name: "clients",
            title: "unary, 256 B, clients",
            load: "unary size=256 conns=4 conc=128",
            kind: Kind::Client,
        },
    ];

    pub(super) fn named(word: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|scenario| scenario.name == word)
    }

    pub(super) fn is_unary(&self) -> bool {
        self.load.starts_with("unary")
    }
}

const fn server(name: &'static str, title: &'static str, load: &'static str) -> Scenario {
    Scenario { name, title, load, kind: Kind::Server }
}
