//! The call itself: requests out, replies in, both at the same time.
//!
//! Every shape is made as a bidirectional call, which is what it is on the wire; that gives headers, messages and
//! trailers apart from each other, each with its time. How many messages a shape may have is checked here.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    time::{Duration, Instant},
};

use bytes::Bytes;
use peregrine_core::{
    BytesCodec, Code, MethodDescriptor as Path, Request, Sender, Status, Streaming, stream::pipe,
};
use prost_reflect::{MessageDescriptor, MethodDescriptor};
use tokio::sync::Mutex;

use super::{
    super::list,
    input::{Input, InputOptions},
    show::{Replies, Talk},
};
use crate::{
    connect::Connection,
    console::Console,
    exit::Exit,
    report::{self, Kind, Report},
    runtime,
    schema::source::Source,
};

/// What is sent.
pub(super) enum Requests {
    /// Messages that are all there.
    Ready(Vec<Bytes>),
    /// Messages that are read while the call runs.
    Live(Input, InputOptions),
}

/// A call about to be made.
pub(super) struct Exchange<'c> {
    pub(super) connection: &'c Connection,
    pub(super) method: MethodDescriptor,
    pub(super) source: Source,
    pub(super) emit_defaults: bool,
    /// Largest reply message, in bytes.
    pub(super) max_message_size: usize,
    /// Number of `-v`.
    pub(super) verbose: u8,
}

/// Messages that have passed so far. Both halves of the call count, and Ctrl-C may ask at any time.
#[derive(Debug, Default)]
struct Passed {
    sent: Cell<u64>,
    received: Cell<u64>,
    /// Size of the largest request message, in bytes.
    largest: Cell<usize>,
    /// Paths of request fields that were skipped; said when the call is over, since the replies have the console.
    skipped: RefCell<BTreeSet<String>>,
}

impl Exchange<'_> {
    pub(super) async fn run(self, requests: Requests, console: &mut Console) -> Result<Exit, Report> {
        let Self { connection, method, source, .. } = self;
        let talk = Talk::new(connection, self.verbose);
        let path_text = format!("/{}", list::path(method.parent_service(), &method));
        let path = Path {
            path: &path_text,
            service: method.parent_service().full_name(),
            name: method.name(),
            client_streaming: method.is_client_streaming(),
            server_streaming: method.is_server_streaming(),
            file_descriptor_set: &[],
        };
        talk.request(&path_text, &mut console.err)?;

        let start = Instant::now();
        let (sender, stream) = pipe(PIPE_CAPACITY);
        let mut request = Request::new(stream).max_response_size(self.max_message_size);
        *request.metadata_mut() = connection.call_metadata().clone();
        request.set_deadline(connection.deadline());
        let source = Mutex::new(source);
        let passed = Passed::default();
        let input = method.input();
        let feed = feed(requests, sender, &input, &source, &passed);
        let receive = async {
            let opened =
                peregrine_client::bidi::<BytesCodec, Bytes, Bytes, _>(connection.channel(), &path, request)
                    .await;
            let streaming = method.is_server_streaming();
            let replies = Replies::new(&source, method.output(), streaming, self.emit_defaults);
            receive(opened, replies, talk, start, &passed, console).await
        };
        let outcome = tokio::select! {
            biased;
            outcome = both(feed, receive) => outcome?,
            () = runtime::interrupt() => return Err(passed.facts(runtime::interrupted(), &method)),
        };
        for path in passed.skipped.take() {
            console.note(super::skipped(&path))?;
        }
        outcome.into_result(&method, connection, &passed)
    }
}

/// Request messages that may be read ahead of the connection.
const PIPE_CAPACITY: usize = 8;

impl Passed {
    fn on_sending(&self, message: &Bytes) {
        self.largest.set(self.largest.get().max(message.len()));
    }

    fn on_sent(&self) {
        self.sent.set(self.sent.get() + 1);
    }

    fn on_received(&self) {
        self.received.set(self.received.get() + 1);
    }

    /// What to do about a message that was too large: whose limit it was shows in its size, which the stacks word in
    /// one of two ways.
    fn over_the_limit(&self, status: &Status) -> Option<&'static str> {
        let text = status.message();
        let about_size = text.contains("limit") || text.contains("larger than max");
        if status.code() != Code::ResourceExhausted || !about_size {
            return None;
        }
        let size = self.largest.get();
        let request = [format!("message of {size} bytes"), format!("({size} vs")];
        Some(if request.iter().any(|words| text.contains(words)) {
            "the request is larger than the server takes; the limit is the server's to raise"
        } else {
            "a larger reply is accepted with --max-message-size"
        })
    }

    /// Adds the counts that say something about a method of this shape.
    fn facts(&self, report: Report, method: &MethodDescriptor) -> Report {
        let messages = |number: u64| report::counted(number, "message");
        let mut report = report;
        if method.is_client_streaming() {
            report = report.fact("sent", messages(self.sent.get()));
        }
        if method.is_server_streaming() {
            report = report.fact("received", messages(self.received.get()));
        }
        report
    }
}

/// How a call ended; without a status, well.
struct Outcome {
    status: Option<Status>,
    took: Duration,
}

impl Outcome {
    fn into_result(
        self,
        method: &MethodDescriptor,
        connection: &Connection,
        passed: &Passed,
    ) -> Result<Exit, Report> {
        let name = list::path(method.parent_service(), method);
        let received = passed.received.get();
        if let Some(status) = self.status {
            let mut report =
                passed.facts(report::status_of(&status, &name, Some(method.parent_pool())), method);
            if status.code() == Code::DeadlineExceeded {
                let (connecting, calling) = (connection.connect_time(), self.took);
                report = report.fact("spent", format!("connecting {connecting:.1?}, calling {calling:.1?}"));
            }
            if let Some(step) = passed.over_the_limit(&status) {
                report = report.next(step);
            }
            return Err(report);
        }
        if !method.is_server_streaming() && received != 1 {
            let headline = format!("{name}: the server ended the call well but with {received} messages");
            return Err(Report::new(Kind::Call, Exit::Call(Code::Internal.value() as u8), headline)
                .fact("expected", "one message, as the method has no server stream")
                .fact("peer", connection.address()));
        }
        Ok(Exit::Ok)
    }
}

/// Runs both halves; the call is over when the receiving half is, or when the request cannot be read.
async fn both(
    feed: impl Future<Output = Result<(), Report>>,
    receive: impl Future<Output = Result<Outcome, Report>>,
) -> Result<Outcome, Report> {
    tokio::pin!(feed, receive);
    let mut fed = false;
    loop {
        tokio::select! {
            biased;
            outcome = &mut receive => return outcome,
            result = &mut feed, if !fed => {
                result?;
                fed = true;
            }
        }
    }
}

/// Sends the requests and ends the client's half of the call.
async fn feed(
    requests: Requests,
    sender: Sender<Bytes>,
    descriptor: &MessageDescriptor,
    source: &Mutex<Source>,
    passed: &Passed,
) -> Result<(), Report> {
    match requests {
        Requests::Ready(messages) => {
            for message in messages {
                passed.on_sending(&message);
                // A send fails when the call has ended, and how it ended is the receiver's to tell.
                if sender.send(message).await.is_err() {
                    return Ok(());
                }
                passed.on_sent();
            }
        }
        Requests::Live(mut input, options) => {
            while let Some(text) = input.next_text().await? {
                let message = text.decode(descriptor, options, &mut *source.lock().await).await?;
                passed.on_sending(&message.bytes);
                passed.skipped.borrow_mut().extend(message.ignored);
                if sender.send(message.bytes).await.is_err() {
                    return Ok(());
                }
                passed.on_sent();
            }
        }
    }
    Ok(())
}

/// Prints headers, messages and trailers as they come.
async fn receive(
    opened: Result<Streaming<Bytes>, Status>,
    mut replies: Replies<'_>,
    mut talk: Talk<'_>,
    start: Instant,
    passed: &Passed,
    console: &mut Console,
) -> Result<Outcome, Report> {
    let mut streaming = match opened {
        Ok(streaming) => streaming,
        Err(status) => {
            let took = start.elapsed();
            talk.end(Some(&status), None, took, &mut console.err)?;
            return Ok(Outcome { status: Some(status), took });
        }
    };
    // Headers that never come are explained by the status that comes instead.
    if let Ok(headers) = streaming.headers().await {
        talk.headers(headers, start.elapsed(), &mut console.err)?;
    }
    let status = loop {
        match streaming.message().await {
            Ok(Some(message)) => {
                passed.on_received();
                replies.print(message, console).await?;
            }
            Ok(None) => break None,
            Err(status) => break Some(status),
        }
    };
    let took = start.elapsed();
    talk.end(status.as_ref(), streaming.trailers(), took, &mut console.err)?;
    Ok(Outcome { status, took })
}
