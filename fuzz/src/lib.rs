//! Fuzz targets over the HTTP/2 engine, the gRPC on it and what comes with TLS, each a function of octets that panics if something is wrong.
//!
//! `cargo xtask fuzz` runs them under libFuzzer; `cargo test -p peregrine-fuzz` replays the seeds, every input
//! that ever failed (`fuzz/corpus`), and some thousand mutations of them; `cargo run -p peregrine-fuzz TARGET
//! FILE..` replays single files.
//!
//! | module | what a target in it checks |
//! |---|---|
//! | `bodies` | no target: bodies of calls, right and wrong |
//! | [`certificates`] | any octets as a certificate: what is found are names that can be shown |
//! | [`frames`] | what parses is written back as it was; agreement with the `h2` crate's frames |
//! | [`hpack`] | the decoder is bounded and its result survives another round; agreement with `loona-hpack` |
//! | [`json`] | any text as a message and any message as text: what is printed is read as the same |
//! | [`machine`] | one connection, fed anything: no panic, rules of sending kept, slicing changes nothing |
//! | [`operations`] | two connections that do anything allowed: nothing lost, both ends come to rest |
//! | [`referee`] | the rules of sending, judged by the octets alone and without the engine's code |
//! | [`details`] | the details of a status are read without a panic and survive another round |
//! | [`unary_paths`] | a body means the same however it is delivered: whole servers and channels, fast path against slow |
//! | [`seeds`] | where the fuzzer starts: public vectors, recordings of the engine |
#![expect(clippy::missing_panics_doc, reason = "panicking at what is wrong is what a target is for")]

mod bodies;
pub mod bytes;
pub mod certificates;
pub mod details;
pub mod frames;
pub mod hpack;
pub mod json;
pub mod machine;
pub mod operations;
pub mod referee;
pub mod seeds;
pub mod unary_paths;

/// A target: octets in, a panic if the engine does what it must not.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What the command line and the folder under `fuzz/corpus` call it.
    pub name: &'static str,
    /// Checks one input.
    pub run: fn(&[u8]),
    /// Longest input worth trying, in octets.
    pub max_len: usize,
}

/// All of them.
pub const TARGETS: [Target; 13] = [
    Target { name: "frames", run: frames::round_trip, max_len: 1024 },
    Target { name: "frames_differential", run: frames::differential, max_len: 1024 },
    Target { name: "hpack_decode", run: hpack::decode, max_len: 4096 },
    Target { name: "hpack_roundtrip", run: hpack::round_trip, max_len: 4096 },
    Target { name: "hpack_differential", run: hpack::differential, max_len: 4096 },
    Target { name: "server_connection", run: machine::server, max_len: 8192 },
    Target { name: "client_connection", run: machine::client, max_len: 8192 },
    Target { name: "operations", run: operations::run, max_len: 2048 },
    Target { name: "status_details", run: details::read, max_len: 512 },
    Target { name: "unary_paths", run: unary_paths::run, max_len: 512 },
    Target { name: "certificate_names", run: certificates::names, max_len: 2048 },
    Target { name: "json_read", run: json::read, max_len: 2048 },
    Target { name: "json_print", run: json::print, max_len: 1024 },
];

/// The target called `name`.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
