//! What it means when a peer does not answer our preface with SETTINGS.
//!
//! Someone has typed a wrong port. The first bytes, or their absence, mostly tell what listens there.

use std::io;
use std::time::Duration;

use peregrine_core::{Error, Phase};
use peregrine_http2::{Blame, ConnectionError};
use peregrine_transport::driver::Closed;

/// Bytes of the peer kept for the diagnosis.
pub(super) const FIRST_BYTES: usize = 256;
/// Characters of the peer's first line shown.
const SHOWN: usize = 80;

/// Whether `first` can be nothing but a TLS record: an alert, which is how TLS servers answer plaintext. There is
/// no need to wait for the peer to hang up.
pub(super) fn is_tls(first: &[u8]) -> bool {
    matches!(first, [0x15 | 0x16, 0x03, 0x00..=0x04, ..])
}

/// Why a connection that never became ready ended. `first` is what the peer sent first, `silence` how long it may
/// take for its SETTINGS.
pub(super) fn diagnose(closed: &Closed, first: &[u8], silence: Duration) -> Error {
    if is_tls(first) {
        return Error::new(Phase::Http2Start, "the peer speaks TLS, this channel speaks plaintext")
            .with_hint("use https:// and .tls(..), or the server's plaintext port");
    }
    if let Some(line) = first_line(first) {
        let speaks = if line.starts_with("HTTP/1") { "HTTP/1" } else { "no HTTP/2" };
        return Error::new(Phase::Http2Start, format!("the peer speaks {speaks}; it answered \"{line}\""))
            .with_hint("this port belongs to another service; use the port of the gRPC server");
    }
    match closed {
        Closed::Protocol(error) if error.blame() == Blame::Timeout => silent(error, silence),
        Closed::Protocol(error) => Error::new(Phase::Http2Start, "the peer does not speak HTTP/2")
            .with_source(*error)
            .with_hint("this port belongs to another service; use the port of the gRPC server"),
        Closed::Io(error) if !is_hang_up(error) => {
            Error::new(Phase::Http2Start, format!("the connection failed: {error}"))
                .with_source(io::Error::new(error.kind(), error.to_string()))
        }
        _ => Error::new(Phase::Http2Start, "the peer closed the connection before HTTP/2 began").with_hint(
            "is this the plaintext port of a gRPC server? TLS ports and proxies hang up like this",
        ),
    }
}

/// The peer speaks HTTP/2 and sent GOAWAY before anything else.
pub(super) fn refused(words: &str) -> Error {
    let hint = if words.contains("TLS") {
        "use https:// and .tls(..), or the server's plaintext port"
    } else {
        "the peer's words say why"
    };
    Error::new(Phase::Http2Start, format!("the peer does not want the connection; {words}")).with_hint(hint)
}

fn silent(error: &ConnectionError, silence: Duration) -> Error {
    Error::new(
        Phase::Http2Start,
        format!("the peer accepted the connection and then said nothing for {silence:.1?}"),
    )
    .with_source(*error)
    .with_hint("is this the plaintext port of a gRPC server? TLS ports wait like this")
}

/// A peer that closes with our preface unread causes a TCP reset instead of an orderly end.
fn is_hang_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

/// The first line, if the bytes are text.
fn first_line(first: &[u8]) -> Option<String> {
    let line = first.split(|&byte| byte == b'\r' || byte == b'\n').find(|line| !line.is_empty())?;
    let line = &line[..line.len().min(SHOWN)];
    let is_text = line.len() >= 4 && line.iter().all(|byte| (0x20..0x7f).contains(byte) || *byte == b'\t');
    is_text.then(|| String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(closed: &Closed, first: &[u8]) -> String {
        diagnose(closed, first, Duration::from_secs(10)).message().to_owned()
    }

    #[test]
    fn the_first_bytes_tell_who_answered() {
        let closed = Closed::PeerClosed;
        let http = sentence(&closed, b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n");
        assert_eq!(http, "the peer speaks HTTP/1; it answered \"HTTP/1.1 400 Bad Request\"");
        assert!(sentence(&closed, b"\x15\x03\x01\0\x02\x02\x46").contains("TLS"));
        assert!(sentence(&closed, b"SSH-2.0-OpenSSH_9.6\r\n").contains("SSH-2.0"));
        assert!(sentence(&closed, b"<!DOCTYPE HTML>\n<html>").contains("no HTTP/2"));
        assert!(sentence(&closed, b"").contains("closed the connection"));
        let reset = Closed::Io(io::ErrorKind::ConnectionReset.into());
        assert!(sentence(&reset, b"").contains("closed the connection"));
    }

    #[test]
    fn long_lines_are_cut() {
        let sentence = sentence(&Closed::PeerClosed, &[b'x'; 256]);
        assert!(sentence.len() < 150, "{sentence}");
    }
}
