//! The little language in which a request says what its handler does.
//!
//! Steps are separated by `;`. The words:
//!
//! | step | does |
//! |---|---|
//! | `send TEXT` | makes a message |
//! | `many COUNT SIZE` | makes so many messages of so many bytes |
//! | `echo` | takes a request message and makes the same |
//! | `echo-all` | does so until the requests end |
//! | `count` | takes all request messages, makes `<count> messages, <total> bytes` |
//! | `read` | takes a request message |
//! | `leave` | drops the request stream |
//! | `tell` | makes a message that lists the request's metadata, a line each, bytes in hex |
//! | `time-left` | makes a message with the milliseconds until the deadline, or `none` |
//! | `peer` | makes a message with the peer's address |
//! | `identity` | makes a message with the names in the peer's certificate, or `none` |
//! | `compressed yes` or `no` | says so of the next message |
//! | `yield` | is pending once, and asks to be polled again at once |
//! | `hold` | blocks its thread until the test [lets go](super::Journal::let_go), as a computation would |
//! | `gate` | waits until the test [opens the gate](super::Journal::open_gate) |
//! | `sleep MS` | waits on the runtime's clock |
//! | `never` | waits for ever |
//! | `fail CODE TEXT` | ends with a status |
//! | `fail-with CODE NAME VALUE` | ends with a status that carries metadata and details |
//! | `fail-request CODE` | ends with a status whose text is the next request message |
//! | `panic TEXT` | panics |
//!
//! Taken from the script before the first step, wherever they stand:
//!
//! | word | does |
//! |---|---|
//! | `refuse CODE TEXT` | the handler fails before there is a response |
//! | `head NAME VALUE` | initial metadata |
//! | `trail NAME VALUE` | trailing metadata |
//! | `compress SETTING` | how the response is compressed |
//!
//! Methods that answer with one message send the last one that was made.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use peregrine_core::compression::{Compression, compress_next};
use peregrine_core::{
    Code, MetadataMap, MetadataValue, PeerIdentity, Request, Response, Status, Stream, Streaming, unfold,
};

use super::Journal;

/// The metadata entry that holds the script.
pub const ENTRY: &str = "script";

/// The request messages of a call.
#[derive(Debug)]
pub(super) enum Requests {
    One(Bytes),
    Many(Box<Streaming<Bytes>>),
    None,
}

impl Requests {
    pub(super) fn many(stream: Streaming<Bytes>) -> Self {
        Self::Many(Box::new(stream))
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        match self {
            Self::Many(stream) => stream.message().await,
            Self::One(_) => match std::mem::replace(self, Self::None) {
                Self::One(message) => Ok(Some(message)),
                Self::Many(_) | Self::None => Ok(None),
            },
            Self::None => Ok(None),
        }
    }
}

/// A call that follows its script.
#[derive(Debug)]
pub(super) struct Call {
    steps: VecDeque<Step>,
    requests: Requests,
    told: String,
    peer: String,
    identity: String,
    deadline: Option<Instant>,
    head: MetadataMap,
    trailers: MetadataMap,
    compression: Option<Compression>,
    running: Running,
}

impl Call {
    pub(super) fn begin<T>(
        journal: &Arc<Journal>,
        request: Request<T>,
        requests: impl FnOnce(T) -> Requests,
        otherwise: &str,
    ) -> Result<Self, Status> {
        let running = Running::begin(journal);
        let script = request.metadata().get(ENTRY).unwrap_or(otherwise).to_owned();
        let mut call = Self {
            steps: VecDeque::new(),
            told: listing(request.metadata()),
            peer: request.peer().to_string(),
            identity: request.peer_identity().map_or_else(|| "none".to_owned(), names),
            deadline: request.deadline(),
            requests: requests(request.into_inner()),
            head: MetadataMap::new(),
            trailers: MetadataMap::new(),
            compression: None,
            running,
        };
        for text in script.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
            match word {
                "head" => insert(&mut call.head, rest),
                "trail" => insert(&mut call.trailers, rest),
                "compress" => call.compression = Some(rest.parse().expect("a setting of compression")),
                "refuse" => {
                    call.running.end();
                    return Err(status(rest));
                }
                _ => call.steps.push_back(Step::parse(word, rest)),
            }
        }
        Ok(call)
    }

    /// Follows the script to its end and answers with the last message.
    pub(super) async fn one_reply(mut self) -> Result<Response<Bytes>, Status> {
        let mut last = Bytes::new();
        while let Some(item) = self.next().await {
            last = item?;
        }
        let mut response = Response::new(last);
        if let Some(compression) = self.compression {
            response = response.compress(compression);
        }
        *response.metadata_mut() = std::mem::take(&mut self.head);
        *response.trailers_mut() = std::mem::take(&mut self.trailers);
        Ok(response)
    }

    /// Answers with every message as it is made.
    pub(super) fn stream_reply(mut self) -> Response<impl Stream<Item = Result<Bytes, Status>> + Send> {
        let head = std::mem::take(&mut self.head);
        let trailers = std::mem::take(&mut self.trailers);
        let compression = self.compression;
        let mut response = Response::new(unfold(self, |mut call| async move {
            let item = call.next().await?;
            Some((item, call))
        }));
        if let Some(compression) = compression {
            response = response.compress(compression);
        }
        *response.metadata_mut() = head;
        *response.trailers_mut() = trailers;
        response
    }

    async fn next(&mut self) -> Option<Result<Bytes, Status>> {
        loop {
            let Some(step) = self.steps.pop_front() else {
                self.running.end();
                return None;
            };
            match self.take(step).await {
                Ok(None) => {}
                Ok(Some(message)) => {
                    self.running.journal.note(|counts| counts.made += 1);
                    return Some(Ok(message));
                }
                Err(status) => {
                    self.steps.clear();
                    self.running.end();
                    return Some(Err(status));
                }
            }
        }
    }

    async fn take(&mut self, step: Step) -> Result<Option<Bytes>, Status> {
        match step {
            Step::Send(message) => return Ok(Some(message)),
            Step::Many { count: 0, .. } => {}
            Step::Many { count, size } => {
                self.steps.push_front(Step::Many { count: count - 1, size });
                return Ok(Some(vec![b'm'; size].into()));
            }
            Step::Echo => return self.read().await,
            Step::EchoAll => {
                let message = self.read().await?;
                if message.is_some() {
                    self.steps.push_front(Step::EchoAll);
                }
                return Ok(message);
            }
            Step::Count => {
                let (mut count, mut total) = (0, 0);
                while let Some(message) = self.read().await? {
                    count += 1;
                    total += message.len();
                }
                return Ok(Some(format!("{count} messages, {total} bytes").into()));
            }
            Step::Read => drop(self.read().await?),
            Step::Leave => self.requests = Requests::None,
            Step::Tell => return Ok(Some(self.told.clone().into())),
            Step::TimeLeft => return Ok(Some(self.time_left().into())),
            Step::Peer => return Ok(Some(self.peer.clone().into())),
            Step::Identity => return Ok(Some(self.identity.clone().into())),
            Step::Compressed(wish) => compress_next(wish),
            Step::Yield => yield_once().await,
            Step::Hold => self.running.journal.hold(),
            Step::Gate => self.running.journal.pass_gate().await,
            Step::Sleep(time) => tokio::time::sleep(time).await,
            Step::Never => pending().await,
            Step::FailRequest(code) => {
                let text = self.read().await?.unwrap_or_default();
                return Err(Status::new(code, String::from_utf8_lossy(&text).into_owned()));
            }
            Step::Fail(status) => return Err(status),
            Step::Panic(text) => panic!("{text}"),
        }
        Ok(None)
    }

    async fn read(&mut self) -> Result<Option<Bytes>, Status> {
        let message = self.requests.next().await?;
        if message.is_some() {
            self.running.journal.note(|counts| counts.read += 1);
        }
        Ok(message)
    }

    fn time_left(&self) -> String {
        match self.deadline {
            Some(at) => {
                let now = tokio::time::Instant::now().into_std();
                at.saturating_duration_since(now).as_millis().to_string()
            }
            None => "none".to_owned(),
        }
    }
}

#[derive(Debug)]
enum Step {
    Send(Bytes),
    Many { count: usize, size: usize },
    Echo,
    EchoAll,
    Count,
    Read,
    Leave,
    Tell,
    TimeLeft,
    Peer,
    Identity,
    Compressed(bool),
    Yield,
    Hold,
    Gate,
    Sleep(Duration),
    Never,
    FailRequest(Code),
    Fail(Status),
    Panic(String),
}

impl Step {
    fn parse(word: &str, rest: &str) -> Self {
        match word {
            "send" => Self::Send(Bytes::copy_from_slice(rest.as_bytes())),
            "many" => {
                let (count, size) = rest.split_once(' ').expect("many COUNT SIZE");
                Self::Many { count: number(count), size: number(size) }
            }
            "compressed" => Self::Compressed(rest == "yes"),
            "echo" => Self::Echo,
            "echo-all" => Self::EchoAll,
            "count" => Self::Count,
            "read" => Self::Read,
            "leave" => Self::Leave,
            "tell" => Self::Tell,
            "time-left" => Self::TimeLeft,
            "peer" => Self::Peer,
            "identity" => Self::Identity,
            "yield" => Self::Yield,
            "hold" => Self::Hold,
            "gate" => Self::Gate,
            "sleep" => Self::Sleep(Duration::from_millis(number(rest) as u64)),
            "never" => Self::Never,
            "fail-request" => Self::FailRequest(status(rest).code()),
            "fail" => Self::Fail(status(rest)),
            "fail-with" => {
                let (code, entry) = rest.split_once(' ').expect("fail-with CODE NAME VALUE");
                let mut metadata = MetadataMap::new();
                insert(&mut metadata, entry);
                let status = status(code).with_message("with metadata").with_metadata(metadata);
                Self::Fail(status.with_details_bytes(&b"details"[..]))
            }
            "panic" => Self::Panic(rest.to_owned()),
            _ => panic!("no step of a script: {word}"),
        }
    }
}

/// Counts a handler from its beginning to its end, or to its being dropped.
#[derive(Debug)]
struct Running {
    journal: Arc<Journal>,
    ended: bool,
}

impl Running {
    fn begin(journal: &Arc<Journal>) -> Self {
        journal.note(|counts| counts.started += 1);
        Self { journal: Arc::clone(journal), ended: false }
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.journal.note(|counts| counts.ended += 1);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.journal.note(|counts| counts.panicked += 1);
        } else if !self.ended {
            self.journal.note(|counts| counts.cancelled += 1);
        }
    }
}

/// `CODE TEXT` as a status; code 0 makes the status OK that no error may be (wire-rules E1).
fn status(text: &str) -> Status {
    let (code, message) = text.split_once(' ').unwrap_or((text, ""));
    Status::new(Code::from_i32(number(code) as i32), message.to_owned())
}

fn insert(metadata: &mut MetadataMap, entry: &str) {
    let (name, value) = entry.split_once(' ').expect("NAME VALUE");
    let appended = if name.ends_with("-bin") {
        metadata.append_bin(name, value.as_bytes())
    } else {
        metadata.append(name, value)
    };
    appended.expect("metadata that a call can carry");
}

/// Every name in a certificate: the common name, then the alternative ones by kind, separated by spaces.
fn names(identity: &PeerIdentity) -> String {
    let common = identity.common_name().unwrap_or("-").replace(' ', "_");
    let addresses = identity.ip_addresses().iter().map(ToString::to_string);
    let kinds = [identity.dns_names(), identity.uris(), identity.emails()];
    [common].into_iter().chain(kinds.concat()).chain(addresses).collect::<Vec<_>>().join(" ")
}

fn listing(metadata: &MetadataMap) -> String {
    let mut text = String::new();
    for (name, value) in metadata.iter().filter(|(name, _)| *name != ENTRY) {
        match value {
            MetadataValue::Ascii(value) => writeln!(text, "{name}: {value}"),
            MetadataValue::Binary(bytes) => {
                let hex = bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
                writeln!(text, "{name}: {hex}")
            }
        }
        .expect("a String takes all");
    }
    text
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// Pending once, with a wake-up at once: what cooperative sources do.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
