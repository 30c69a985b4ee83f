//! Reports of connections that could not be made and of calls that failed.

use std::{error::Error as _, time::Duration};

use peregrine_client::{HandshakeError, HandshakeErrorKind};
use peregrine_core::{Code, Error, MetadataValue, Phase, Status};
use prost_reflect::DescriptorPool;
use serde_json::{Map, Value, json};

use super::{Kind, Report, causes, details};
use crate::{
    exit::Exit,
    target::{Reason, Target},
};

/// A connection that could not be made.
pub(crate) fn connect(error: &Error, target: Option<&Target>) -> Report {
    if error.phase() == Phase::Config {
        let report = Report::usage(error.to_string());
        return match error.hint() {
            Some(hint) => report.next(hint),
            None => report,
        };
    }
    let mut report =
        Report::new(Kind::Connect, Exit::Connect, error.to_string()).fact("phase", error.phase());
    if let Some(elapsed) = error.elapsed() {
        report = report.fact("after", format!("{elapsed:.1?}"));
    }
    if error.attempt() > 1 {
        report = report.fact("attempt", error.attempt());
    }
    for cause in news(&error.to_string(), causes(error)) {
        report = report.fact("cause", cause);
    }
    if let Some(hint) = tls_step(error).or(error.hint()) {
        report = report.next(hint);
    }
    if error.phase() == Phase::Tls && target.is_some_and(|target| target.reason == Reason::Remote) {
        report =
            report.next("TLS was chosen because the address is not on this machine; http:// means plaintext");
    }
    let guessed = target.is_some_and(|target| target.reason == Reason::Loopback);
    let tls_suspected =
        error.message().contains("TLS") || error.hint().is_some_and(|hint| hint.contains("TLS"));
    if guessed && error.phase() == Phase::Http2Start && tls_suspected {
        report =
            report.next("plaintext was chosen because the address is on this machine; https:// means TLS");
    }
    report
}

/// What to do about a failed TLS handshake in terms of our flags; the library speaks of its own settings.
fn tls_step(error: &Error) -> Option<&'static str> {
    let handshake = error.source()?.downcast_ref::<HandshakeError>()?;
    Some(match handshake.kind() {
        HandshakeErrorKind::PlainHttp2 => {
            "the server speaks plaintext on this port: use http:// or --plaintext"
        }
        HandshakeErrorKind::WrongName { .. } => {
            "call it by one of the certificate's names, or say which one to expect with --server-name"
        }
        HandshakeErrorKind::UnknownIssuer => {
            "give the certificate of the authority that issued the server's to --cacert"
        }
        HandshakeErrorKind::ClientCertificateMissing => "show it a certificate with --cert FILE --key FILE",
        HandshakeErrorKind::ClientCertificateRefused(_) => {
            "is the certificate of --cert by an authority that the server trusts, for use by clients, and in date?"
        }
        HandshakeErrorKind::NoHttp2 => "is this a gRPC server, or a proxy without HTTP/2?",
        _ => return None,
    })
}

/// A call whose time was up before there was a connection to make it on.
pub(crate) fn out_of_time(error: &Error, timeout: Duration) -> Report {
    let code = Code::DeadlineExceeded;
    let number = code.value() as u8;
    let headline = format!("{code}: {timeout:.1?} went by while connecting");
    Report::new(Kind::Call, Exit::Call(number), headline)
        .fact("status", format!("{code} ({number})"))
        .fact("phase", error.phase())
        .fact("cause", error)
        .fact("spent", format!("connecting {timeout:.1?}, calling nothing"))
        .next("give it more time with --timeout")
        .data("grpc", json!({"code": number, "name": code.name(), "message": error.to_string()}))
}

/// A call that ended with `status`. `doing` says what was being done, for the headline.
pub(crate) fn status(status: &Status, doing: &str) -> Report {
    status_of(status, doing, None)
}

/// The same of a call with a schema, for the details that only that knows.
pub(crate) fn status_of(status: &Status, doing: &str, schema: Option<&DescriptorPool>) -> Report {
    if let Some(error) = connection_failure(status) {
        return connect(error, None);
    }
    let code = status.code();
    let number = code.value() as u8;
    let headline = if status.message().is_empty() {
        format!("{doing}: {code}")
    } else {
        format!("{doing}: {code}: {}", status.message())
    };
    let mut report =
        Report::new(Kind::Call, Exit::Call(number), headline).fact("status", format!("{code} ({number})"));
    if let Some(call) = call_error(status) {
        report = report.fact("phase", call.phase());
        if let Some(peer) = call.peer() {
            report = report.fact("peer", peer);
        }
        if call.attempt() > 1 {
            report = report.fact("attempt", call.attempt());
        }
        if let Some(elapsed) = call.elapsed() {
            report = report.fact("after", format!("{elapsed:.1?}"));
        }
    }
    for cause in news(status.message(), call_causes(status)) {
        report = report.fact("cause", cause);
    }
    let mut data = json!({"code": number, "name": code.name(), "message": status.message()});
    let decoded = details::decode(&status.details(), schema);
    for detail in &decoded {
        report = report.fact("detail", detail.text());
    }
    if !decoded.is_empty() {
        data["details"] = decoded.iter().map(details::Detail::json).collect();
    }
    let trailers = trailers(status);
    if !trailers.is_empty() {
        data["trailers"] = Value::Object(trailers);
    }
    if let Some(step) = next_step(code, status) {
        report = report.next(step);
    }
    report.data("grpc", data)
}

/// What the client tells of a call beside its status.
fn call_error(status: &Status) -> Option<&Error> {
    status.source()?.downcast_ref::<Error>().filter(|error| error.phase() == Phase::Call)
}

/// The causes of a failed call; what the client tells of the call is none.
fn call_causes(status: &Status) -> Vec<String> {
    match call_error(status) {
        Some(call) if call.message().is_empty() => causes(call),
        _ => causes(status),
    }
}

/// The causes that say more than the headline and the causes before them: wrappers tend to repeat what they wrap.
fn news(headline: &str, causes: Vec<String>) -> Vec<String> {
    let mut said = headline.to_lowercase();
    let mut news = Vec::new();
    for cause in causes {
        let folded = cause.to_lowercase();
        if !said.contains(&folded) {
            said.push('\n');
            said.push_str(&folded);
            news.push(cause);
        }
    }
    news
}

/// The connection that was never there, if that is why the call failed.
fn connection_failure(status: &Status) -> Option<&Error> {
    let mut source = status.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<Error>() {
            let never_there = matches!(
                error.phase(),
                Phase::Config | Phase::Resolve | Phase::Connect | Phase::Tls | Phase::Http2Start
            );
            return never_there.then_some(error);
        }
        source = error.source();
    }
    None
}

fn trailers(status: &Status) -> Map<String, Value> {
    status
        .metadata()
        .iter()
        .filter(|(name, _)| *name != "grpc-status-details-bin")
        .map(|(name, value)| (name.to_owned(), metadata_text(value).into()))
        .collect()
}

/// A metadata value as text: base64 if it is bytes.
pub(crate) fn metadata_text(value: MetadataValue<'_>) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    match value {
        MetadataValue::Ascii(text) => text.to_owned(),
        MetadataValue::Binary(bytes) => STANDARD.encode(bytes),
    }
}

fn next_step(code: Code, status: &Status) -> Option<&'static str> {
    // The connection's end has words of its own; what is told of other failed calls has not.
    let is_broken = call_error(status).is_some_and(|call| !call.message().is_empty());
    // What our client says of peers that are there and yet answer no call.
    let says = |words| status.message().contains(words);
    if says("the peer answered HTTP status") {
        return Some(
            "not the gRPC server answered but a web server or a proxy before it: check the port, and that the \
             proxy passes gRPC on",
        );
    }
    match code {
        Code::Unauthenticated => Some("send credentials: -H 'authorization: Bearer ${TOKEN}'"),
        Code::DeadlineExceeded => {
            Some("give it more time with --timeout, or see with -v where the time went")
        }
        Code::Unavailable if says("ENHANCE_YOUR_CALM") => Some(
            "the server has had too much of this client, its words say of what: wait, then send less at a time",
        ),
        Code::Unavailable if says("GOAWAY") && !is_broken => {
            Some("the server is ending or restarting: try again")
        }
        Code::Unavailable if is_broken => Some(
            "the connection broke during the call: has the server ended? its log may say why; then try again",
        ),
        Code::Unimplemented => Some("`peregrine list` shows what the server says it has"),
        _ => None,
    }
}
