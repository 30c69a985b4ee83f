//! What holds for the whole of a call, however many starts it takes: options, deadline, head, and how often a start
//! that the peer did not see is repeated.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use peregrine_core::compression::{InvalidCompression, Packer, Packing};
use peregrine_core::message::Encoding;
use peregrine_core::observe::{Direction, MessageObserver, Side, tell_message};
use peregrine_core::{CallOptions, Format, MetadataMap, MethodDescriptor, MethodFormat, Request, Status};
use tokio::time::Sleep;

use super::deadline::{deadline, now, recurring_timeout};
use super::starts::{Earlier, Starts};
use crate::call_error::{CallFacts, explained, hinted};
use crate::channel::{Channel, backoff};
use crate::connection::{
    CallDeadline, CallId, Fate, NewCall, Opener, Outgoing, RequestHead, SharedConnection, StartError,
    Timeout, not_encoded,
};
use crate::error;

/// A call between its making and its start.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    channel: &'a Channel,
    path: &'a str,
    metadata: MetadataMap,
    options: CallOptions,
    /// Set if messages are not in the codec's own format.
    format: Option<Arc<MethodFormat>>,
    /// How messages are compressed, if they are.
    packer: Option<Arc<Packer>>,
    deadline: Option<CallDeadline>,
    /// Whether time has passed since the call was made, so that the time left has to be measured.
    has_waited: bool,
    starts: Starts,
}

/// A [`Plan`] that borrows nothing.
pub(super) struct LaterStart {
    channel: Channel,
    path: Box<str>,
    metadata: MetadataMap,
    options: CallOptions,
    format: Option<Arc<MethodFormat>>,
    packer: Option<Arc<Packer>>,
    deadline: Option<CallDeadline>,
    pub(super) starts: Starts,
}

impl LaterStart {
    /// The plan of the next start.
    pub(super) fn plan(&self) -> Plan<'_> {
        Plan {
            channel: &self.channel,
            path: &self.path,
            metadata: self.metadata.clone(),
            options: self.options,
            format: self.format.clone(),
            packer: self.packer.clone(),
            deadline: self.deadline,
            has_waited: true,
            starts: self.starts,
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// A call that is on its way.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) connection: Arc<SharedConnection>,
    pub(super) id: CallId,
}

impl<'a> Plan<'a> {
    /// The plan of a call of `method` and what is left of `request`.
    ///
    /// # Errors
    /// DEADLINE_EXCEEDED if there is no time at all (wire-rules 16); UNIMPLEMENTED in a format that the channel does
    /// not have.
    pub(super) fn new<T>(
        channel: &'a Channel,
        method: &MethodDescriptor<'a>,
        request: Request<T>,
        earlier: Earlier,
    ) -> Result<(Self, T), Status> {
        let options = request.options().or(*channel.defaults(method.path));
        let explain = |status| explained(status, facts(target_name(channel), 1, None));
        let format = channel.method_format(options.format, method).map_err(explain)?;
        if let Some(own) = &request.options().compression {
            own.check().map_err(|error| explain(bad_compression(error)))?;
        }
        let deadline = earlier.deadline.or_else(|| deadline(options.timeout, request.deadline()));
        let (message, metadata, _extensions) = request.into_parts();
        if let Some(deadline) = &deadline
            && deadline.at <= deadline.started
        {
            let status = deadline.exceeded("the call was made");
            return Err(explained(status, facts(target_name(channel), 1, Some(deadline))));
        }
        let compression = options.compression.as_ref();
        let packer = compression.and_then(|setting| channel.packers().packer(method.path, setting));
        let mut starts = earlier.starts;
        starts.waits = options.wait_for_ready.unwrap_or(false);
        let plan = Self {
            channel,
            path: method.path,
            metadata,
            options,
            format,
            packer,
            deadline,
            has_waited: earlier.starts.next() > 1,
            starts,
        };
        Ok((plan, message))
    }

    pub(super) fn channel(&self) -> &'a Channel {
        self.channel
    }

    /// Who is told of the call's messages, if anybody is.
    pub(super) fn message_observer(&self) -> Option<MessageObserver> {
        let observer = self.channel.message_observer()?;
        Some(MessageObserver::new(Arc::clone(observer), Side::Client, self.path.to_owned()))
    }

    /// What a later start needs, for whoever makes the call again after its caller has gone on.
    pub(super) fn for_later(&self) -> LaterStart {
        LaterStart {
            channel: self.channel.clone(),
            path: self.path.into(),
            metadata: self.metadata.clone(),
            options: self.options,
            format: self.format.clone(),
            packer: self.packer.clone(),
            deadline: self.deadline,
            starts: self.starts,
        }
    }

    pub(super) fn starts(&self) -> Starts {
        self.starts
    }

    /// How messages are rewritten, if they are not in the codec's own format.
    pub(super) fn format(&self) -> Option<&Arc<MethodFormat>> {
        self.format.as_ref()
    }

    /// How messages are compressed, if they are.
    pub(super) fn packer(&self) -> Option<&Arc<Packer>> {
        self.packer.as_ref()
    }

    /// Longest request message in bytes.
    pub(super) fn max_request(&self) -> usize {
        self.options.max_request_size.unwrap_or(usize::MAX)
    }

    /// Longest response message in bytes.
    pub(super) fn max_response(&self) -> usize {
        self.options.max_response_size.unwrap_or(usize::MAX)
    }

    /// Makes a connection if there is none and starts the call on it.
    ///
    /// # Errors
    /// No connection, no time, or a message that cannot be sent.
    pub(super) async fn start(&mut self, outgoing: &mut (impl Outgoing + Send)) -> Result<Started, Status> {
        loop {
            let ready = if self.starts.pauses() > 0 { None } else { self.channel.ready_connection() };
            let connection = match ready {
                Some(connection) => connection,
                // The usual call does not come here, so its future does not have to hold this one.
                None => match Box::pin(self.connection()).await {
                    Ok(connection) => connection,
                    Err(status) => return Err(self.explain(status, target_name(self.channel))),
                },
            };
            if let Err(error) =
                outgoing.prepare(Packing::of(self.packer.as_deref(), None), self.max_request())
            {
                return Err(self.explain(not_encoded(error), Arc::clone(connection.name())));
            }
            let mut opener = Opener::new(connection);
            match self.open(&mut opener, outgoing).await {
                Ok(id) => return Ok(Started { connection: opener.into_connection(), id }),
                Err(StartError::Failed(status)) => {
                    let peer = Arc::clone(opener.connection().name());
                    return Err(self.explain(status, peer));
                }
                // The connection said goodbye since it was handed out (bug-reports 53).
                Err(StartError::Gone(fate)) if self.starts_again(fate) => {}
                Err(StartError::Gone(_)) => {
                    let status = Status::unavailable("the peer keeps closing new connections");
                    let peer = Arc::clone(opener.connection().name());
                    return Err(self.explain(status, peer));
                }
            }
        }
    }

    /// A status that this side came to, with what is known of the call.
    #[cold]
    pub(super) fn explain(&self, status: Status, peer: Arc<str>) -> Status {
        explained(status, facts(peer, self.starts.next(), self.deadline.as_ref()))
    }

    /// Whether a call that failed so is started again.
    pub(super) fn starts_again(&mut self, fate: Fate) -> bool {
        self.has_waited = true;
        self.starts.allow_another(fate)
    }

    async fn connection(&mut self) -> Result<Arc<SharedConnection>, Status> {
        self.has_waited = true;
        let (channel, pauses) = (self.channel, self.starts.pauses());
        let wait_for_ready = self.options.wait_for_ready.unwrap_or(false);
        let connecting = async {
            if pauses > 0 {
                tokio::time::sleep(backoff::wait(pauses)).await;
            }
            channel.connection(wait_for_ready).await
        };
        let result = match &self.deadline {
            None => connecting.await,
            Some(deadline) => match tokio::time::timeout_at(deadline.at.into(), connecting).await {
                Ok(result) => result,
                // wire-rules 98
                Err(_) => return Err(self.no_time_to_connect(deadline)),
            },
        };
        result.map_err(|(error, next_attempt)| error::unavailable(&error, next_attempt))
    }

    /// The status of a call whose time ran out before there was a connection. The last attempt that failed is its cause.
    #[cold]
    fn no_time_to_connect(&self, deadline: &CallDeadline) -> Status {
        let status = deadline.exceeded(&format!("connecting to {}", self.channel.target()));
        let Some(cause) = self.channel.last_failure() else { return status };
        let message = format!("{}; attempt {} failed: {cause}", status.message(), cause.attempt());
        let hint = cause.hint().map(str::to_owned);
        let status = Status::deadline_exceeded(message).with_source(cause);
        hinted(status, hint.unwrap_or_else(|| "check the address and the network".to_owned()))
    }

    async fn open(
        &mut self,
        opener: &mut Opener,
        outgoing: &mut (impl Outgoing + Send),
    ) -> Result<CallId, StartError> {
        // Armed only if the call has to wait for a stream.
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|cx| {
            if let (Some(timer), Some(deadline)) = (&mut timer, &self.deadline)
                && timer.as_mut().poll(cx).is_ready()
            {
                let status = deadline.exceeded("waiting for one of the streams that the peer allows");
                return Poll::Ready(Err(StartError::Failed(status)));
            }
            let started = self.poll_open(cx, opener, outgoing);
            if started.is_pending() {
                self.has_waited = true;
                if let Some(deadline) = &self.deadline
                    && timer.is_none()
                {
                    let sleep = timer.insert(Box::pin(tokio::time::sleep_until(deadline.at.into())));
                    if sleep.as_mut().poll(cx).is_ready() {
                        cx.waker().wake_by_ref();
                    }
                }
            }
            started
        })
        .await
    }

    fn poll_open(
        &mut self,
        cx: &mut Context<'_>,
        opener: &mut Opener,
        outgoing: &mut (impl Outgoing + Send),
    ) -> Poll<Result<CallId, StartError>> {
        let timeout = match self.timeout() {
            Ok(timeout) => timeout,
            Err(status) => return Poll::Ready(Err(StartError::Failed(status))),
        };
        let head = RequestHead {
            channel: self.channel.head(),
            path: self.path,
            timeout,
            format: self.format.as_ref().map_or(Format::Proto, |format| format.format),
            encoding: self.packer.as_ref().map_or(Encoding::Identity, |packer| packer.encoding()),
            metadata: &self.metadata,
        };
        let (observer, report) = (self.channel.message_observer(), Cell::new(None));
        let call = NewCall {
            head: &head,
            deadline: self.deadline.as_ref(),
            max_request: self.max_request(),
            attempt: self.starts.next(),
            report: observer.map(|_| &report),
        };
        let started = opener.poll_start(cx, &call, outgoing);
        // The connection is not locked any more.
        if let (Some(observer), Some(written)) = (observer, report.take()) {
            let size = written.size(Packing::of(self.packer.as_deref(), None));
            tell_message(&**observer, Side::Client, Direction::Sent, self.path, size);
        }
        started
    }

    /// What goes into `grpc-timeout`.
    fn timeout(&mut self) -> Result<Option<Timeout>, Status> {
        let Some(deadline) = &mut self.deadline else { return Ok(None) };
        if !self.has_waited
            && let Some(timeout) = recurring_timeout(deadline, self.options.timeout)
        {
            return Ok(Some(timeout));
        }
        let now = now();
        deadline.waited = now.saturating_duration_since(deadline.started);
        let left = deadline.at.saturating_duration_since(now);
        if left.is_zero() {
            // wire-rules 16: a timeout of zero is not sent.
            return Err(deadline.exceeded("waiting to be sent"));
        }
        Ok(Some(Timeout { left, recurs: false }))
    }
}

/// A call with settings of compression that no channel would have been built with (wire-rules P2, T4).
#[cold]
fn bad_compression(error: InvalidCompression) -> Status {
    let status = Status::internal(format!("the request's setting of compression cannot be used: {error}"));
    hinted(status.with_source(error), "name only encodings that are compiled in, at a level that they have")
}

fn facts(peer: Arc<str>, attempt: u32, deadline: Option<&CallDeadline>) -> CallFacts {
    CallFacts { peer, attempt, elapsed: deadline.map(CallDeadline::elapsed) }
}

/// Whom a call was meant for that did not get as far as a connection.
fn target_name(channel: &Channel) -> Arc<str> {
    channel.target().to_string().into()
}
