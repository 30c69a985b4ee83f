//! What a connection keeps for each of its calls.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use peregrine_core::call::SharedInbox;
use peregrine_core::message::UnaryBody;
use peregrine_core::{Format, Status};
use peregrine_http2::{Head, StreamKey};

use super::response::{self, Fate, Stage};
use super::response_head::metadata;
use crate::call_error::hinted;

/// A call between its start and the moment its caller has all of it.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) stream: StreamKey,
    pub(super) stage: Stage,
    pub(super) deadline: Option<CallDeadline>,
    /// Starts of the call, this one included.
    pub(super) attempt: u32,
    /// How often the driver had written when the call was started: if it has not written since, the peer has
    /// seen nothing of the call.
    pub(super) writes_at_start: u64,
    /// Whoever pumps the request stream.
    pub(super) pump: Option<Waker>,
    pub(super) sink: Sink,
}

/// Where the response of a new call shall go.
#[derive(Debug)]
pub(crate) enum NewSink {
    /// To the future that starts the call; one message of at most `max_response` bytes.
    Single { max_response: usize },
    /// To a reader.
    Stream(StreamSink),
}

/// Where the response of a call goes.
#[derive(Debug)]
pub(super) enum Sink {
    /// To a future that waits for all of it.
    Single(SingleSink),
    /// To a reader that takes message by message.
    Stream(StreamSink),
}

/// A response with one message.
#[derive(Debug, Default)]
pub(super) struct SingleSink {
    pub(super) caller: Option<Waker>,
    /// Boxed, so that the calls of a connection pass its storage on. `None` where there is no call.
    pub(super) body: Option<Box<Body>>,
    /// The response head, if it has metadata.
    pub(super) head: Option<Arc<Head>>,
    /// Set at the end: the trailers, if they have metadata, or the failure.
    pub(super) result: Option<Result<Option<Arc<Head>>, CallFailure>>,
}

/// A response with any number of messages.
#[derive(Debug)]
pub(crate) struct StreamSink {
    pub(crate) inbox: Arc<SharedInbox>,
    /// The request, as long as the call could be made again.
    pub(crate) replay: Option<Box<dyn Replay>>,
}

/// The body of a single response.
pub(crate) type Body = UnaryBody;

/// A finished call with a single response.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Success; the body is still to be decoded.
    Received {
        /// The response head, if it has metadata.
        head: Option<Arc<Head>>,
        body: Box<Body>,
        /// The trailers, if they have metadata.
        trailers: Option<Arc<Head>>,
    },
    /// Anything else.
    Failed(CallFailure),
}

/// How a call failed.
#[derive(Debug)]
pub(crate) struct CallFailure {
    pub(crate) status: Status,
    pub(crate) fate: Fate,
}

impl CallFailure {
    /// With the initial metadata of the response `head` that came before it (wire-rules 97). Metadata that cannot be
    /// read is left out: the call has failed, and its own status says more.
    pub(super) fn after(self, head: Option<Arc<Head>>) -> Self {
        match head.map(|head| metadata(&head)) {
            Some(Ok(metadata)) => Self { status: self.status.with_initial_metadata(metadata), ..self },
            Some(Err(_)) | None => self,
        }
    }
}

/// A refused call that can be made again. It holds the request, and where the response goes.
pub(crate) trait Replay: fmt::Debug + Send {
    /// Makes the call again if its `fate` allows it, on a task of its own. `refusal` is what it ends with otherwise.
    fn again(self: Box<Self>, refusal: Status, fate: Fate);
}

/// When a call has to be over (wire-rules 16, 71, 98).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallDeadline {
    pub(crate) at: Instant,
    /// When the call was made.
    pub(crate) started: Instant,
    /// How long it took to get a connection and a stream; zero if there was one already.
    pub(crate) waited: Duration,
}

impl CallDeadline {
    /// The status of a call that ran out of time while doing `what`.
    pub(crate) fn exceeded(&self, what: &str) -> Status {
        let limit = rounded(self.at.saturating_duration_since(self.started));
        let mut message = format!("the call's time of {limit:?} ran out while {what}");
        if self.waited >= ONE_MILLISECOND {
            let waited = rounded(self.waited);
            message = format!("{message}; {waited:?} of it went by before there was a connection");
        }
        let hint = if self.waited * 2 > limit {
            "most of the time went by before there was a connection: is this the right address, and is the server up?"
        } else {
            "give the call more time, or find out what the server waits for"
        };
        hinted(Status::deadline_exceeded(message), hint)
    }

    /// Since the call was made.
    pub(crate) fn elapsed(&self) -> Duration {
        // The runtime's clock, so that tests can hold it.
        rounded(tokio::time::Instant::now().into_std().saturating_duration_since(self.started))
    }
}

/// To milliseconds, but never to zero, for people.
fn rounded(duration: Duration) -> Duration {
    if duration < ONE_MILLISECOND { duration } else { Duration::from_millis(duration.as_millis() as u64) }
}

const ONE_MILLISECOND: Duration = Duration::from_millis(1);

impl Call {
    /// A place for calls of which nothing is known yet but the `stream` of the first.
    pub(super) fn new(stream: StreamKey) -> Self {
        Self {
            stream,
            stage: Stage::Head(Format::Proto),
            deadline: None,
            attempt: 0,
            writes_at_start: 0,
            pump: None,
            sink: Sink::default(),
        }
    }
}

impl Sink {
    /// A reply of one message shall come into `body`, and be told to `caller`.
    #[inline]
    pub(super) fn expect_reply(&mut self, body: Box<Body>, caller: Waker) {
        if let Self::Single(single) = self {
            // In place: most calls follow one of their kind.
            (single.caller, single.body) = (Some(caller), Some(body));
        } else {
            *self =
                Self::Single(SingleSink { caller: Some(caller), body: Some(body), ..SingleSink::default() });
        }
    }

    /// The part that reads events.
    #[inline]
    pub(super) fn reader(&mut self) -> response::Sink<'_> {
        match self {
            Self::Single(SingleSink { body: Some(body), head, .. }) => response::Sink::Single { body, head },
            Self::Single(_) => response::Sink::Nobody,
            Self::Stream(stream) => response::Sink::Stream(&stream.inbox),
        }
    }
}

/// That of a vacant place.
impl Default for Sink {
    fn default() -> Self {
        Self::Single(SingleSink::default())
    }
}
