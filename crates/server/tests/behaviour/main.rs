//! What a client sees of the server, byte for byte: every test is a scripted peer on an in-memory connection.
//!
//! Each test runs in every [`Execution`] mode, since where a call runs must not show, and in virtual time unless
//! its subject is threads. Names say the behaviour; comments cite the project's wire rules by number.

mod accepting;
mod attacked_again;
mod backlog;
mod bodies;
mod broken_frames;
mod cancellation;
mod channels;
mod compressed_formats;
mod compression;
mod deadlines;
mod errors;
mod feed;
mod formats;
mod heads;
mod hostile_code;
mod hostile_heads;
mod inflating;
mod interceptors;
mod life;
mod limits;
mod metadata;
mod method_config;
mod moments;
mod observe;
mod observe_messages;
mod panics;
mod per_core;
mod repeated_heads;
mod reports;
mod routing;
mod runtimes;
mod shutdown;
mod starting;
mod streaming;

use std::sync::Arc;

use peregrine_server::{Execution, Server};
use peregrine_testkit::{Counts, Journal, Peer, Served, TestService, serve, virtual_time};

/// Every way to run calls.
const MODES: [Execution; 3] = [Execution::Inline, Execution::Spawn, Execution::Auto];

/// Runs `test` once in each mode, each time in a runtime of its own and in virtual time.
fn in_each_mode(test: impl AsyncFn(Stage)) {
    for mode in MODES {
        let _named = NamedOnPanic(mode);
        let stage = Stage::new(mode);
        let journal = Arc::downgrade(&stage.journal);
        virtual_time(test(stage));
        // Every call and the service hold a share, so none of them is left in a pool, a memo or a cycle.
        assert_eq!(journal.strong_count(), 0, "calls or services are left behind");
    }
}

/// What a test starts from: the test service and the mode to run its calls in.
#[derive(Clone)]
struct Stage {
    mode: Execution,
    journal: Arc<Journal>,
}

impl Stage {
    fn new(mode: Execution) -> Self {
        Self { mode, journal: Arc::default() }
    }

    /// A server with the test service, to be set up further.
    fn server(&self) -> Server {
        let service = TestService::new(Arc::clone(&self.journal));
        Server::builder().execution(self.mode).add_service(service)
    }

    fn serve(&self) -> Served {
        serve(self.server())
    }

    /// A server with default settings, and a peer connected to it.
    async fn start(&self) -> (Served, Peer) {
        let served = self.serve();
        let peer = served.peer().await;
        (served, peer)
    }

    fn counts(&self) -> Counts {
        self.journal.counts()
    }
}

/// Says in which mode a test failed.
struct NamedOnPanic(Execution);

impl Drop for NamedOnPanic {
    #[expect(clippy::print_stderr, reason = "the test harness shows it with the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with Execution::{:?}", self.0);
        }
    }
}

/// The status codes that tests name, as numbers on the wire.
mod code {
    pub(crate) const OK: u32 = 0;
    pub(crate) const UNKNOWN: u32 = 2;
    pub(crate) const INVALID_ARGUMENT: u32 = 3;
    pub(crate) const DEADLINE_EXCEEDED: u32 = 4;
    pub(crate) const NOT_FOUND: u32 = 5;
    pub(crate) const PERMISSION_DENIED: u32 = 7;
    pub(crate) const RESOURCE_EXHAUSTED: u32 = 8;
    pub(crate) const UNIMPLEMENTED: u32 = 12;
    pub(crate) const INTERNAL: u32 = 13;
    pub(crate) const UNAUTHENTICATED: u32 = 16;
}
