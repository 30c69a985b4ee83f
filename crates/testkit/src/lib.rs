//! What Peregrine's own tests stand on. Never a dependency of anything that ships.
//!
//! | module | holds |
//! |---|---|
//! | [`certificates`] | an authority of the test's own, and certificates by it |
//! | [`Moody`] | a codec that goes wrong |
//! | [`mod@pipe`] | an in-memory connection that can be cut, filled up, and sliced into chosen pieces |
//! | [`peer`] | an HTTP/2 client, or server, that says whatever the test tells it to, legal or not |
//! | [`Recorder`], [`MessageRecorder`] | observers that write down what they hear |
//! | [`runtime`] | runs a test in virtual time or on several threads, with a leak check at its end |
//! | [`service`] | a gRPC service without generated code whose calls do what their request asks for |
//! | [`serving`] | a server in the same runtime, reached through pipes |
//!
//! Tests never sleep for real and never look at a wall clock: in virtual time the clock moves only when nothing
//! else can happen, so "nothing more comes" is a fact and not a guess.
#![expect(
    clippy::missing_panics_doc,
    reason = "an expectation that fails ends its test by a panic; all of these do"
)]

pub mod certificates;
mod counting_allocator;
mod moody;
pub mod peer;
pub mod pipe;
mod recorder;
pub mod runtime;
pub mod service;
pub mod serving;

pub use self::certificates::Authority;
pub use self::counting_allocator::CountingAllocator;
pub use self::moody::Moody;
pub use self::peer::{Peer, PeerConfig, Received, Reply, ServerPeer};
pub use self::pipe::{PipeEnd, Slicing, pipe};
pub use self::recorder::{MessageRecorder, Recorder};
pub use self::runtime::{LeakCheck, on_threads, settle, virtual_time};
pub use self::service::{Counts, Journal, TestService};
pub use self::serving::{Served, serve};
