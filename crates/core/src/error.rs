//! Failures that come before a status exists: addresses, sockets, TLS, the
//! start of HTTP/2, serving.
//!
//! Made by the transport, the client and the server; seen by users as the
//! error of `serve` and `connect` and as the source of a call's
//! [`Status`].

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::report;
use crate::status::Status;

/// A failure outside of any call's own status. One word wide.
///
/// `Display` says one level: what failed, to whom, why. `Debug` is the full
/// report with phase, attempt, time, causes and the next step.
#[derive(Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    phase: Phase,
    message: Cow<'static, str>,
    /// Target or peer as the user wrote it or the socket names it.
    peer: Option<Arc<str>>,
    /// Counted from 1; 0 where attempts make no sense.
    attempt: u32,
    elapsed: Option<Duration>,
    hint: Option<Cow<'static, str>>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Reading a target, an address or an option: the caller's mistake.
    Config,
    /// Turning a name into addresses.
    Resolve,
    /// Opening a socket to the peer.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Preface and SETTINGS of HTTP/2.
    Http2Start,
    /// An established connection or a call on it.
    Call,
    /// Taking a local address to listen on.
    Bind,
    /// Accepting and serving connections.
    Serve,
}

impl Error {
    /// A failure in `phase`; `message` says why in one short clause.
    pub fn new(phase: Phase, message: impl Into<Cow<'static, str>>) -> Self {
        let inner = Inner {
            phase,
            message: message.into(),
            peer: None,
            attempt: 0,
            elapsed: None,
            hint: None,
            source: None,
        };
        Self { inner: Box::new(inner) }
    }

    /// To whom: the target or peer address.
    #[must_use]
    pub fn with_peer(mut self, peer: impl fmt::Display) -> Self {
        self.inner.peer = Some(peer.to_string().into());
        self
    }

    /// The same, with a name that the errors of a connection share.
    #[must_use]
    pub fn with_shared_peer(mut self, peer: Arc<str>) -> Self {
        self.inner.peer = Some(peer);
        self
    }

    /// Replaces the clause that says why.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// Which attempt this was, counted from 1.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.inner.attempt = attempt;
        self
    }

    /// How long it took to fail.
    #[must_use]
    pub fn with_elapsed(mut self, elapsed: Duration) -> Self {
        self.inner.elapsed = Some(elapsed);
        self
    }

    /// The error below this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.inner.source = Some(Arc::from(source.into()));
        self
    }

    /// The error below this one, which others may have as well.
    #[must_use]
    pub(crate) fn with_shared_source(mut self, source: Option<Arc<dyn StdError + Send + Sync>>) -> Self {
        self.inner.source = source;
        self
    }

    /// One thing the reader can do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.inner.hint = Some(hint.into());
        self
    }

    /// What was being done.
    pub fn phase(&self) -> Phase {
        self.inner.phase
    }

    /// Why, in one clause. Empty where this is the [source](StdError::source) of a failed call's status, which says
    /// that itself.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The target or peer, if one was known.
    pub fn peer(&self) -> Option<&str> {
        self.inner.peer.as_deref()
    }

    /// The attempt, counted from 1; 0 where attempts make no sense.
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// Time from the start of the attempt to the failure.
    pub fn elapsed(&self) -> Option<Duration> {
        self.inner.elapsed
    }

    /// The status of the call that failed, if this is about one.
    pub fn status(&self) -> Option<&Status> {
        self.source().and_then(|source| source.downcast_ref())
    }

    /// The next step for the reader.
    pub fn hint(&self) -> Option<&str> {
        self.inner.hint.as_deref()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.inner.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.inner.phase.failure())?;
        if let Some(peer) = self.peer() {
            write!(f, " {}{peer}", self.inner.phase.preposition())?;
        }
        if self.inner.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.inner.message) }
    }
}

/// A failed call as an error, so that `?` works for both in one function.
impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::new(Phase::Call, status.to_string()).with_source(status)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status() {
            // Its report says all, and its first line what `Display` says.
            return write!(f, "{}: {status:?}", self.inner.phase.failure());
        }
        let headline = self.to_string();
        f.write_str(&headline)?;
        self.write_facts(f)?;
        report::Report { headline: &headline, hint: self.hint() }.write_causes(f, self.source())
    }
}

impl Error {
    /// The lines of a report that only this type knows.
    pub(crate) fn write_facts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n  phase: {}", self.inner.phase)?;
        if self.inner.attempt > 0 {
            write!(f, "\n  attempt: {}", self.inner.attempt)?;
        }
        match self.inner.elapsed {
            Some(elapsed) => write!(f, "\n  after: {elapsed:.1?}"),
            None => Ok(()),
        }
    }
}

impl Phase {
    /// Short name, as reports and JSON output show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "configuration",
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Http2Start => "http2-start",
            Self::Call => "call",
            Self::Bind => "bind",
            Self::Serve => "serve",
        }
    }

    fn failure(self) -> &'static str {
        match self {
            Self::Config => "invalid configuration",
            Self::Resolve => "could not resolve",
            Self::Connect => "could not connect",
            Self::Tls => "TLS handshake failed",
            Self::Http2Start => "HTTP/2 start failed",
            Self::Call => "call failed",
            Self::Bind => "could not listen",
            Self::Serve => "serving failed",
        }
    }

    /// Stands between the failure and the peer.
    fn preposition(self) -> &'static str {
        match self {
            Self::Config => "for ",
            Self::Resolve => "",
            Self::Connect => "to ",
            Self::Tls | Self::Http2Start => "with ",
            Self::Call => "on the connection to ",
            Self::Bind | Self::Serve => "on ",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Code;

    #[test]
    fn an_error_is_one_word() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn display_says_one_level_and_debug_everything() {
        let error = Error::new(Phase::Connect, "nothing listens there")
            .with_peer("127.0.0.1:1")
            .with_attempt(3)
            .with_elapsed(Duration::from_millis(1_234))
            .with_source(std::io::Error::other("connection refused"))
            .with_hint("start the server or check the port");
        assert_eq!(error.to_string(), "could not connect to 127.0.0.1:1: nothing listens there");
        assert_eq!(
            format!("{error:?}"),
            "could not connect to 127.0.0.1:1: nothing listens there\n  phase: connect\n  attempt: 3\n  \
             after: 1.2s\n  caused by: connection refused\n  next step: start the server or check the port"
        );
        assert_eq!(
            (error.phase(), error.message(), error.peer(), error.attempt()),
            (Phase::Connect, "nothing listens there", Some("127.0.0.1:1"), 3)
        );
        assert_eq!(error.hint(), Some("start the server or check the port"));
    }

    #[test]
    fn what_is_not_known_is_not_shown() {
        let error = Error::new(Phase::Config, "port 70000 is out of range");
        assert_eq!(error.to_string(), "invalid configuration: port 70000 is out of range");
        assert_eq!(format!("{error:?}"), format!("{error}\n  phase: configuration"));
    }

    #[test]
    fn every_phase_reads_as_a_sentence() {
        let sentence = |phase| Error::new(phase, "why").with_peer("peer").to_string();
        let expected = [
            (Phase::Config, "invalid configuration for peer: why"),
            (Phase::Resolve, "could not resolve peer: why"),
            (Phase::Connect, "could not connect to peer: why"),
            (Phase::Tls, "TLS handshake failed with peer: why"),
            (Phase::Http2Start, "HTTP/2 start failed with peer: why"),
            (Phase::Call, "call failed on the connection to peer: why"),
            (Phase::Bind, "could not listen on peer: why"),
            (Phase::Serve, "serving failed on peer: why"),
        ];
        for (phase, text) in expected {
            assert_eq!(sentence(phase), text);
        }
    }

    #[test]
    fn causes_that_repeat_what_was_said_are_left_out() {
        let refused = std::io::Error::other("refused (os error 111)");
        let error =
            Error::new(Phase::Connect, "refused (OS error 111)").with_peer("[::1]:9").with_source(refused);
        assert_eq!(format!("{error:?}"), format!("{error}\n  phase: connect"));
    }

    #[test]
    fn a_chain_without_end_is_cut() {
        #[derive(Debug)]
        struct Circle;
        impl fmt::Display for Circle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("round")
            }
        }
        impl StdError for Circle {
            fn source(&self) -> Option<&(dyn StdError + 'static)> {
                Some(self)
            }
        }
        let report = format!("{:?}", Error::new(Phase::Serve, "x").with_source(Circle));
        assert!(report.ends_with("caused by: round\n  caused by: (more causes left out)"), "{report}");
    }

    #[test]
    fn a_status_goes_through_an_error_unharmed() {
        let status = Status::not_found("no such book").with_details_bytes(vec![1, 2]);
        let error = Error::from(status);
        assert_eq!(error.to_string(), "call failed: NOT_FOUND: no such book");
        assert_eq!(format!("{error:?}"), "call failed: NOT_FOUND: no such book\n  details: 2 bytes");
        let back = Status::from(error);
        assert_eq!(
            (back.code(), back.message(), &back.details()[..]),
            (Code::NotFound, "no such book", &[1, 2][..])
        );
    }
}
