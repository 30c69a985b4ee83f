//! The sentences of failed connections: phase, peer, attempt, time, cause and a next step.

use std::io;
use std::time::Duration;

use peregrine_core::{Error, Phase, Status};
use peregrine_transport::net::{ConnectError, ConnectErrorKind, Target, TargetError};
#[cfg(feature = "_tls")]
use peregrine_transport::tls::{HandshakeError, HandshakeErrorKind};

/// The error of text that names no target.
pub(crate) fn bad_target(error: TargetError) -> Error {
    Error::new(Phase::Config, error.to_string()).with_source(error)
}

/// Credentials that could only be sent in the clear, which they never are (wire-rules 94).
pub(crate) fn plaintext_credentials(target: &Target) -> Error {
    Error::new(
        Phase::Config,
        "the channel has credentials, and on its plaintext connections anybody could read them",
    )
    .with_peer(format!("http://{target}"))
    .with_hint("write https://, or give the channel .tls(..), or leave .credentials(..) out")
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

/// The error of an attempt that failed in its TLS handshake.
#[cfg(feature = "_tls")]
pub(crate) fn not_secured(target: &Target, error: HandshakeError) -> Error {
    use HandshakeErrorKind as Kind;
    let hint = match error.kind() {
        Kind::PlainHttp2 => {
            "this port speaks plaintext: use http:// and no .tls(..), or the server's TLS port"
        }
        Kind::PlainHttp1(_) | Kind::NotTls(_) => {
            "this port belongs to another service; use the TLS port of the gRPC server"
        }
        Kind::NoHttp2 => {
            "is this a gRPC server, or a proxy without HTTP/2? ClientTls::allow_missing_alpn takes servers without ALPN"
        }
        Kind::WrongName { .. } => {
            "connect by one of the certificate's names, or name the one to expect with ClientTls::server_name"
        }
        Kind::OutOfDate => "renew the server's certificate, and check the clocks of both machines",
        Kind::NotYetValid => "check the clocks of both machines, and the certificate that was installed",
        Kind::UnknownIssuer => {
            "give the certificate of the authority that issued it to ClientTls::with_ca_pem"
        }
        Kind::BadCertificate => "the cause below says what is wrong with the server's certificate",
        Kind::Closed => "is this the TLS port of a gRPC server? plaintext ports hang up like this",
        Kind::ClientCertificateMissing => {
            "give the client a certificate and its key with ClientTls::identity_files"
        }
        Kind::ClientCertificateRefused(_) => {
            "is it of an authority that the server trusts, for use by clients, and in date? the server's log says more"
        }
        Kind::NoCommonVersion => {
            "TLS 1.2 is the oldest that is spoken here, or what ClientTls::min_version says: renew the server's settings"
        }
        Kind::Refused(alert) if alert == "HandshakeFailure" => {
            "does the server ask for a client certificate, or for ciphers that TLS libraries gave up? its log says which"
        }
        Kind::Refused(_) => "the server's log should say why it refused",
        _ => "check what listens on this port, and the network in between",
    };
    Error::new(Phase::Tls, error.to_string()).with_peer(target).with_source(error).with_hint(hint)
}

/// The error of an attempt whose peer did not finish the TLS handshake in time.
#[cfg(feature = "_tls")]
pub(crate) fn silent_in_tls(target: &Target, limit: Duration) -> Error {
    Error::new(Phase::Tls, format!("no answer within {limit:.1?}")).with_peer(target).with_hint(
        "is this the TLS port of a gRPC server? servers that wait for plaintext are silent like this",
    )
}

/// Adds what the peer's GOAWAY said to the error of a connection that ended after one.
pub(crate) fn after_go_away(error: &Error, words: &str) -> Error {
    error.clone().with_message(format!("{}; {words}", error.message()))
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

/// Connections come about, and the peer ends each before a call can be made on it.
pub(crate) fn keeps_closing(target: &Target) -> Error {
    Error::new(Phase::Http2Start, "the peer keeps closing new connections")
        .with_peer(target)
        .with_hint("is the server ending, or a proxy before it? make the call again after a moment, or let it wait for ready")
}

/// There is no tokio runtime to put a connection's driver on.
pub(crate) fn no_runtime() -> Error {
    Error::new(Phase::Connect, "there is no tokio runtime here, or it has ended")
        .with_hint("make calls inside of a tokio runtime, for example under #[tokio::main]")
}
