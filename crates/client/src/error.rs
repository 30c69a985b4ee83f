//! The sentences of failed connections: phase, peer, attempt, time, cause and a next step.

use std::io;
use std::time::Duration;

use peregrine_core::{Error, Phase, Status};
use peregrine_transport::net::{ConnectError, ConnectErrorKind, Target, TargetError};

/// The error of text that names no target.
pub(crate) fn bad_target(error: TargetError) -> Error {
    Error::new(Phase::Config, error.to_string()).with_source(error)
}

/// The error of an attempt that did not get as far as a socket.
pub(crate) fn not_connected(target: &Target, error: ConnectError) -> Error {
    let (phase, message, hint) = match error.kind() {
        ConnectErrorKind::Resolve => (
            Phase::Resolve,
            "the name is not known".to_owned(),
            "check the spelling of the host, or use its IP address",
        ),
        ConnectErrorKind::ResolveTimeout => (
            Phase::Resolve,
            format!("the name server did not answer within {:.1?}", error.elapsed()),
            "check the network, or use the IP address of the host",
        ),
        ConnectErrorKind::ConnectTimeout => (
            Phase::Connect,
            format!("no answer within {:.1?}", error.elapsed()),
            "is the host up, and does a firewall let this port through?",
        ),
        _ => {
            let (clause, hint) = refusal(error.io_error(), target);
            (Phase::Connect, clause, hint)
        }
    };
    let elapsed = error.elapsed();
    Error::new(phase, message).with_peer(target).with_elapsed(elapsed).with_source(error).with_hint(hint)
}

/// What an address answered, in a clause, and what to do about it.
fn refusal(error: Option<&io::Error>, target: &Target) -> (String, &'static str) {
    use io::ErrorKind;
    let Some(error) = error else {
        return ("the name has no address".to_owned(), "check the spelling of the host");
    };
    let is_unix = target.unix_path().is_some();
    let (clause, hint) = match error.kind() {
        ErrorKind::ConnectionRefused if is_unix => {
            ("nobody listens on this socket any more", "is the server running?")
        }
        ErrorKind::ConnectionRefused => ("connection refused", "is the server running, and on this port?"),
        ErrorKind::NotFound if is_unix => {
            ("there is no such socket", "is the server running, with this path?")
        }
        ErrorKind::PermissionDenied => ("permission denied", "may this user open the connection?"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            ("the host cannot be reached", "check the address and the network")
        }
        _ => return (error.to_string(), "check the address and the network"),
    };
    (clause.to_owned(), hint)
}

/// Adds what the peer's GOAWAY said to the error of a connection that ended after one.
pub(crate) fn after_go_away(error: &Error, words: &str) -> Error {
    let mut full = Error::new(error.phase(), format!("{}; {words}", error.message()));
    if let Some(peer) = error.peer() {
        full = full.with_peer(peer);
    }
    full.with_source(error.clone())
}

/// The status of a call that is not started because the last attempt to connect failed a moment ago.
pub(crate) fn unavailable(error: &Error, next_attempt: Duration) -> Status {
    let status = Status::from(error.clone());
    if next_attempt.is_zero() {
        return status;
    }
    let message = format!("{} (next attempt in {:.1?})", status.message(), next_attempt);
    status.with_message(message)
}

/// There is no tokio runtime to put a connection's driver on.
pub(crate) fn no_runtime() -> Error {
    Error::new(Phase::Connect, "there is no tokio runtime here, or it has ended")
        .with_hint("make calls inside of a tokio runtime, for example under #[tokio::main]")
}
