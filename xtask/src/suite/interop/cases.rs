//! The official cases, and who has which.

use super::peer::Peer;

/// The cases that need neither credentials, compression nor load reports. Everybody has them.
const BASIC: [&str; 16] = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "status_code_and_message",
    "special_status_message",
    "custom_metadata",
    "unimplemented_method",
    "unimplemented_service",
    "rpc_soak",
    "channel_soak",
];

/// Load reports, which clients hear through a balancer that their configuration names.
pub(super) const LOAD_REPORTS: [&str; 2] = ["orca_per_rpc", "orca_oob"];

/// Requests of both kinds, of which the first lies about itself. A server has to see the messages' flags.
const CLIENT_COMPRESSED: [&str; 2] = ["client_compressed_unary", "client_compressed_streaming"];

const SERVER_COMPRESSED: [&str; 2] = ["server_compressed_unary", "server_compressed_streaming"];

const VERY_LARGE: [&str; 1] = ["very_large_request"];

/// A server that breaks off or interrupts: nobody's but the raw one.
const NEGATIVE: [&str; 6] =
    ["goaway", "rst_after_header", "rst_during_data", "rst_after_data", "ping", "max_streams"];

/// Every case that `client` and `server` have both.
pub(super) fn between(client: Peer, server: Peer) -> impl Iterator<Item = &'static str> {
    let all = BASIC
        .into_iter()
        .chain(LOAD_REPORTS)
        .chain(CLIENT_COMPRESSED)
        .chain(SERVER_COMPRESSED)
        .chain(VERY_LARGE)
        .chain(NEGATIVE);
    all.filter(move |case| {
        client_has(client, case) && server_has(server, case) && !is_known_gap(client, server, case)
    })
}

fn client_has(client: Peer, case: &str) -> bool {
    let is = |list: &[&str]| list.contains(&case);
    let compression = || is(&CLIENT_COMPRESSED) || is(&SERVER_COMPRESSED);
    match client {
        Peer::Peregrine => true,
        Peer::GrpcGo => is(&BASIC) || is(&LOAD_REPORTS),
        Peer::GrpcJava => is(&BASIC) || is(&LOAD_REPORTS) || compression() || is(&VERY_LARGE),
        Peer::GrpcJavaOkHttp => is(&BASIC) || compression() || is(&VERY_LARGE),
        Peer::Grpcio => is(&BASIC) || (compression() && case != "client_compressed_streaming"),
        Peer::GrpcJs | Peer::Tonic => is(&BASIC),
        Peer::Raw => compression(),
    }
}

fn server_has(server: Peer, case: &str) -> bool {
    let is = |list: &[&str]| list.contains(&case);
    let compression = || is(&CLIENT_COMPRESSED) || is(&SERVER_COMPRESSED);
    match server {
        Peer::Peregrine => !is(&NEGATIVE),
        Peer::GrpcGo => is(&BASIC) || is(&LOAD_REPORTS),
        // It leaves server_compressed_streaming as it is, which our clients notice, and takes the lying probe.
        Peer::GrpcJava => is(&BASIC) || is(&LOAD_REPORTS) || case == "server_compressed_unary",
        // It cannot see the flags of requests.
        Peer::Grpcio => is(&BASIC) || is(&SERVER_COMPRESSED),
        Peer::GrpcJs | Peer::Tonic => is(&BASIC),
        // The one server that grpc-java has is on Netty.
        Peer::GrpcJavaOkHttp => false,
        Peer::Raw => is(&NEGATIVE) || compression(),
    }
}

/// What two peers that have a case are known to be unable to do together.
fn is_known_gap(client: Peer, server: Peer, case: &str) -> bool {
    // tonic keeps deadlines on either side until the response headers only, and its server sends them at once.
    client == Peer::Tonic && server == Peer::Tonic && case == "timeout_on_sleeping_server"
}

/// Cases in which a client races with itself, and which therefore get a second try.
pub(super) fn races(client: Peer, case: &str) -> bool {
    // grpc-go's client cancels, ends its side in good order all the same, and looks for the answer before it looks
    // at the cancellation. A machine that pauses it in between (1 run in 200) lets the answer win.
    client == Peer::GrpcGo && case == "cancel_after_begin"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_the_cases_that_both_have() {
        let count = |client, server| between(client, server).count();
        assert_eq!(count(Peer::Peregrine, Peer::Peregrine), 23);
        assert_eq!(count(Peer::GrpcGo, Peer::Peregrine), 18);
        assert_eq!(count(Peer::GrpcJavaOkHttp, Peer::Peregrine), 21);
        assert_eq!(count(Peer::Peregrine, Peer::GrpcJs), 16);
        assert_eq!(count(Peer::Peregrine, Peer::Raw), 10);
        assert_eq!(count(Peer::GrpcJava, Peer::GrpcJavaOkHttp), 0);
        assert_eq!(count(Peer::Tonic, Peer::Tonic), 15);
    }
}
