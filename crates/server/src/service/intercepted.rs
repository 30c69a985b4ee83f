//! The slot of a method with interceptors, around the method's own.
//!
//! ```text
//!  start ──► Intercepting ──► Handling ──► ended
//!                 │ refused, or answered     ▲
//!                 ╰──────────────────────────╯
//! ```
//!
//! The message waits, undecoded, until the interceptors have let the call through. A method without interceptors never
//! comes here.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use peregrine_core::call::{Peer, SharedInbox};
use peregrine_core::intercept::{EndHooks, Intercepted, InterceptedCall, Interceptors};
use peregrine_core::{
    BytesCodec, DecodeLimits, MetadataMap, MethodDescriptor, MethodFormat, Payload, Response, Status,
    Transcode,
};

use super::{CallExtra, CallResult, CallSlot, IncomingCall, PortPlace};
use crate::call::errors::{ErrorMapper, settled};
use crate::call::port::Watch;
use crate::method_config::MethodSettings;

/// The way of a method's calls: past these interceptors, then into the method's own slot.
pub(crate) struct InterceptedSlot {
    method: &'static MethodDescriptor<'static>,
    interceptors: Interceptors,
    is_secure: bool,
    error_mapper: Option<ErrorMapper>,
    inner: Pin<Box<dyn CallSlot>>,
    state: State,
}

enum State {
    Empty,
    /// The interceptors have the call.
    Intercepting {
        interceptors: RunInterceptors,
        request: Request,
    },
    /// The method's own slot has it.
    Handling {
        watch: Option<Box<Watch>>,
        end: End,
    },
}

type RunInterceptors = Pin<Box<dyn Future<Output = (InterceptedCall<'static>, Result<(), Status>)> + Send>>;

/// What the method's slot is started with.
struct Request {
    inbox: Option<Arc<SharedInbox>>,
    limits: DecodeLimits,
    deadline: Option<Instant>,
    body: Payload<'static>,
    peer: Arc<Peer>,
    /// Set if the call is in a format that is not the codec's own.
    format: Option<MethodFormat>,
}

impl InterceptedSlot {
    pub(crate) fn boxed(
        method: &'static MethodDescriptor<'static>,
        settings: &MethodSettings,
        inner: Pin<Box<dyn CallSlot>>,
    ) -> Pin<Box<dyn CallSlot>> {
        Box::pin(Self {
            method,
            interceptors: settings.interceptors.clone(),
            is_secure: settings.is_secure,
            error_mapper: settings.error_mapper.clone(),
            inner,
            state: State::Empty,
        })
    }

    /// The interceptors are done: goes on with the handler, with an answer, or to the end.
    fn on_intercepted(
        &mut self,
        call: InterceptedCall<'static>,
        outcome: Result<(), Status>,
        request: Request,
        port: &mut PortPlace,
    ) -> Option<CallResult> {
        let mut call = call.into_parts();
        let mut end = End { hooks: std::mem::take(&mut call.end_hooks), deadline: request.deadline };
        let begun = outcome.and_then(|()| match call.answer.take() {
            Some(answer) => {
                let transcode = request.format.as_ref().map(|format| &*format.response);
                answer_with(answer, &call.response_metadata, transcode, port).map(Some)
            }
            None => self.start_handler(&mut call, request).map(|()| None),
        });
        let result = match begun {
            Ok(None) => {
                let watch = Watch::new(call.response_metadata, call.response_hooks);
                self.state = State::Handling { watch, end };
                return None;
            }
            Ok(Some(trailers)) => Ok(trailers),
            Err(status) => Err(status),
        };
        Some(end.hooks.run(result))
    }

    fn start_handler(&mut self, call: &mut Intercepted, request: Request) -> Result<(), Status> {
        let extra = CallExtra {
            extensions: std::mem::take(&mut call.extensions),
            request_hooks: std::mem::take(&mut call.request_hooks),
        };
        self.inner.as_mut().start(&mut IncomingCall {
            metadata: call.take_metadata(),
            body: request.body,
            inbox: request.inbox,
            deadline: request.deadline,
            peer: &request.peer,
            limits: &request.limits,
            format: request.format.as_ref(),
            extra: Some(Box::new(extra)),
        })
    }
}

impl CallSlot for InterceptedSlot {
    fn start(mut self: Pin<&mut Self>, call: &mut IncomingCall<'_>) -> Result<(), Status> {
        let this = &mut *self;
        let metadata = std::mem::take(&mut call.metadata);
        let IncomingCall { deadline, peer, limits, format, .. } = *call;
        let inbox = call.inbox.take();
        let body = std::mem::replace(&mut call.body, Payload::Borrowed(&[])).into_owned();
        let shown = inbox.is_none().then(|| body.clone().into_bytes());
        let mut seen =
            InterceptedCall::on_server(*this.method, metadata, deadline, peer.addr.clone(), this.is_secure)
                .with_identity(peer.identity.clone())
                .with_body(shown);
        let interceptors = this.interceptors.clone();
        let interceptors = Box::pin(async move {
            let outcome = interceptors.run(&mut seen).await;
            (seen, outcome)
        });
        let request = Request {
            inbox,
            limits: *limits,
            deadline,
            body,
            peer: Arc::clone(peer),
            format: format.cloned(),
        };
        this.state = State::Intercepting { interceptors, request };
        Ok(())
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>, port: &mut PortPlace) -> Poll<CallResult> {
        let this = &mut *self;
        if let State::Intercepting { interceptors, .. } = &mut this.state {
            let (call, outcome) = ready!(interceptors.as_mut().poll(cx));
            if let State::Intercepting { request, .. } = std::mem::replace(&mut this.state, State::Empty)
                && let Some(result) = this.on_intercepted(call, outcome, request, port)
            {
                return Poll::Ready(result);
            }
        }
        let State::Handling { watch, end } = &mut this.state else {
            return Poll::Ready(Err(Status::internal("polled a call that is not running")));
        };
        let inner = this.inner.as_mut();
        let polled = port.watched(watch, |port| catch_unwind(AssertUnwindSafe(|| inner.poll(cx, port))));
        let result = match polled {
            // Before the hooks, so that they see what the client gets (wire-rules E2).
            Ok(polled) => ready!(polled).map_err(|status| settled(status, this.error_mapper.as_ref())),
            Err(panic) => {
                // What the client will be told; the panic itself goes on to whoever ends the call.
                end.hooks.run_abandoned(Status::unknown("the handler panicked"));
                resume_unwind(panic);
            }
        };
        Poll::Ready(end.hooks.run(result))
    }

    fn clear(mut self: Pin<&mut Self>) {
        self.inner.as_mut().clear();
        self.state = State::Empty;
    }
}

/// The end hooks of a call, which hear why if the call does not get there.
struct End {
    hooks: EndHooks,
    deadline: Option<Instant>,
}

impl Drop for End {
    fn drop(&mut self) {
        if self.hooks.is_empty() {
            return;
        }
        // The runtime's clock, by which deadlines go.
        let now = tokio::time::Instant::now().into_std();
        self.hooks.run_abandoned(match self.deadline {
            Some(at) if at <= now => Status::deadline_exceeded("the call's deadline passed on the server"),
            _ => Status::cancelled("the client gave the call up"),
        });
    }
}

/// Answers in the handler's place.
fn answer_with(
    answer: Response<Bytes>,
    more: &MetadataMap,
    transcode: Option<&dyn Transcode>,
    port: &mut PortPlace,
) -> CallResult {
    let compression = answer.compression().copied();
    let (message, mut metadata, trailers, _extensions) = answer.into_parts();
    metadata.extend_from(more)?;
    port.send_head(metadata, compression.as_ref())?;
    port.send_message::<BytesCodec, Bytes>(&message, transcode)?;
    Ok(trailers)
}

impl fmt::Debug for InterceptedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptedSlot").field("path", &self.method.path).finish_non_exhaustive()
    }
}
