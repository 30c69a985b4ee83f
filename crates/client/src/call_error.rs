//! What is told of a failed call beside its status: to whom, at which attempt, after how long, and what to do next.
//!
//! It becomes the [`Error`] that is the status's source. Nothing of it is made for a call that succeeds.

use std::borrow::Cow;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use peregrine_core::{Code, Error, Phase, Status};

/// What a failed call knows of itself.
#[derive(Clone, Debug)]
pub(crate) struct CallFacts {
    /// The address, as errors show it.
    pub(crate) peer: Arc<str>,
    /// Starts of the call so far.
    pub(crate) attempt: u32,
    /// Since the call was made. Known for calls that have a deadline: others do not look at the clock.
    pub(crate) elapsed: Option<Duration>,
}

/// The status of a failed call with what is known of the call.
#[cold]
pub(crate) fn explained(status: Status, facts: CallFacts) -> Status {
    let CallFacts { peer, attempt, elapsed } = facts;
    match call_error(&status) {
        // The connection was never there, and the error says so with all there is to know of the attempt.
        Some(error) if error.phase() != Phase::Call => status,
        // Made for this call by `hinted`, or by the end of the connection for all its calls.
        Some(error) => {
            let known_peer = error.peer().is_some();
            let hint = error.hint().is_none().then(|| hint(&status)).flatten();
            let mut error = error.clone();
            if !known_peer {
                error = error.with_shared_peer(peer);
            }
            status.with_source(with_facts(error, attempt, elapsed, hint))
        }
        None => {
            let error = Error::new(Phase::Call, "").with_shared_peer(peer);
            let hint = hint(&status);
            status.in_call(with_facts(error, attempt, elapsed, hint))
        }
    }
}

/// A status of this side's own making, with the next step that only its maker knows.
#[cold]
pub(crate) fn hinted(status: Status, hint: impl Into<Cow<'static, str>>) -> Status {
    status.in_call(Error::new(Phase::Call, "").with_hint(hint))
}

fn with_facts(
    mut error: Error,
    attempt: u32,
    elapsed: Option<Duration>,
    hint: Option<&'static str>,
) -> Error {
    error = error.with_attempt(attempt);
    if let Some(elapsed) = elapsed {
        error = error.with_elapsed(elapsed);
    }
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn call_error(status: &Status) -> Option<&Error> {
    status.source()?.downcast_ref::<Error>().filter(|error| error.status().is_none())
}

/// The usual next step after a status, where there is one.
fn hint(status: &Status) -> Option<&'static str> {
    match status.code() {
        Code::Unimplemented => Some(
            "does the server have this method, by this name, and read this message format and compression? were both \
             sides built from the same proto?",
        ),
        Code::Unauthenticated => Some("send credentials, usually as the metadata entry authorization"),
        Code::DeadlineExceeded => Some("give the call more time, or find out what the server waits for"),
        Code::Unavailable => {
            Some("make the call again after a moment; the server's log may say why it was cut")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> CallFacts {
        CallFacts { peer: "10.0.0.1:50051".into(), attempt: 2, elapsed: Some(Duration::from_millis(1_500)) }
    }

    fn report(status: Status) -> String {
        format!("{:?}", explained(status, facts()))
    }

    #[test]
    fn a_servers_status_says_whose_it_is() {
        assert_eq!(
            report(Status::not_found("no such book")),
            "NOT_FOUND: no such book\n  peer: 10.0.0.1:50051\n  phase: call\n  attempt: 2\n  after: 1.5s"
        );
        let report = report(Status::unimplemented("no method /a.B/c"));
        assert!(
            report.contains(
                "next step: does the server have this method, by this name, and read this message format"
            ),
            "{report}"
        );
    }

    #[test]
    fn a_lost_connection_keeps_its_own_words_and_its_peer() {
        let lost = Error::new(Phase::Call, "the peer closed the connection").with_peer("10.0.0.7:1");
        let status = explained(Status::from(lost), facts());
        let error: &Error = status.source().unwrap().downcast_ref().unwrap();
        assert_eq!((error.peer(), error.attempt()), (Some("10.0.0.7:1"), 2));
        assert_eq!(error.message(), "the peer closed the connection");
        assert!(error.elapsed().is_some() && error.hint().is_some());
    }

    #[test]
    fn a_connection_that_never_was_speaks_for_itself() {
        let error = Error::new(Phase::Connect, "refused").with_peer("10.0.0.7:1").with_attempt(9);
        let status = explained(Status::from(error), facts());
        let error: &Error = status.source().unwrap().downcast_ref().unwrap();
        assert_eq!((error.phase(), error.attempt(), error.hint()), (Phase::Connect, 9, None));
    }

    #[test]
    fn the_hint_of_the_maker_wins_and_causes_stay() {
        let status = Status::unavailable("x").with_source(std::io::Error::other("cause"));
        let status = explained(hinted(status, "do this"), facts());
        let error: &Error = status.source().unwrap().downcast_ref().unwrap();
        assert_eq!((error.hint(), error.peer()), (Some("do this"), Some("10.0.0.1:50051")));
        assert_eq!(error.source().unwrap().to_string(), "cause");
    }
}
