//! The response of one call, read event by event (wire-rules 49 to 57).
//!
//! ```text
//!            gRPC head                 trailers
//!  Head ──────────────────▶ Body ───────────────────▶ End
//!   │  ╲ another content-type                          ▲
//!   │   ╲──────────────────▶ Page ── end or 1 KiB ─────┤
//!   ╰── trailers-only ─────────────────────────────────╯
//! ```
//!
//! Pure: it takes what the engine reports and says how the call goes on. The caller (`connection/mod.rs`) resets
//! streams, gives credit back and wakes whoever waits.

use std::sync::Arc;

use peregrine_core::call::SharedInbox;
use peregrine_core::message::{Encoding, UnaryBody};
use peregrine_core::{Code, Format, Status};
use peregrine_http2::{ErrorCode, Head};

use super::page::Page;
use super::response_head::{self, ResponseHead};
use crate::call_error::hinted;

/// Where a response stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// The first block is awaited; messages shall come in this format.
    Head(Format),
    /// Messages, then trailers.
    Body,
    /// Not gRPC at all: the start of its body is kept for the message.
    Page(Box<Page>),
}

/// Where the messages of a response go.
#[derive(Debug)]
pub(super) enum Sink<'a> {
    /// Nowhere.
    Nobody,
    /// One message for a caller that waits for the whole response.
    Single { body: &'a mut UnaryBody, head: &'a mut Option<Arc<Head>> },
    /// Messages one by one.
    Stream(&'a SharedInbox),
}

/// How a call goes on after an event.
#[derive(Debug)]
pub(super) enum Step {
    /// More is to come.
    More,
    /// The call is over.
    End(End),
}

/// The end of a call.
#[derive(Debug)]
pub(super) struct End {
    /// The trailers of a success, if they have metadata, or what went wrong.
    pub(super) result: Result<Option<Arc<Head>>, Status>,
    /// What RST_STREAM says if the stream is still open.
    pub(super) reset: ErrorCode,
    /// Whether the peer may have worked on the call.
    pub(super) fate: Fate,
    /// What the code was taken from, if the response has no status of gRPC's.
    pub(super) http_status: Option<u16>,
}

/// Whether a failed call may have had an effect at the peer (wire-rules 67, 75; bug-reports 55).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    /// It may have.
    Unknown,
    /// The peer refused this one call (REFUSED_STREAM): it may be made again once.
    Refused,
    /// The connection went away before the peer looked at this call or at any other.
    Missed,
    /// The connection went away before the peer looked at this call, but it had served others: it belongs on the
    /// next one, however often that happens, since each time others have been served.
    Late,
}

impl End {
    /// The peer said that all went well; `facts` are those of the trailers.
    #[inline]
    fn success(trailers: &Arc<Head>, facts: &ResponseHead) -> Self {
        let trailers = facts.has_metadata().then(|| Arc::clone(trailers));
        Self { result: Ok(trailers), reset: ErrorCode::NO_ERROR, fate: Fate::Unknown, http_status: None }
    }

    /// The call failed with `status`.
    pub(super) fn failed(status: Status, reset: ErrorCode) -> Self {
        Self { result: Err(status), reset, fate: Fate::Unknown, http_status: None }
    }

    /// `page` came instead of a response.
    fn page(page: &Page, reset: ErrorCode) -> Self {
        Self { http_status: Some(page.http_status), ..Self::failed(page.status(), reset) }
    }

    /// The same failure with another code.
    pub(super) fn with_code(self, code: Code) -> Self {
        let result = self.result.map_err(|status| Status::new(code, status.message().to_owned()));
        Self { result, ..self }
    }

    /// The call failed before the peer worked on it.
    pub(super) fn unprocessed(status: Status, fate: Fate) -> Self {
        Self { result: Err(status), reset: ErrorCode::CANCEL, fate, http_status: None }
    }
}

impl Stage {
    /// The first header block, and its facts. `end_stream`: nothing follows (trailers-only, 50).
    #[inline]
    pub(super) fn on_head(
        &mut self,
        head: &Arc<Head>,
        facts: &ResponseHead,
        end_stream: bool,
        sink: &mut Sink<'_>,
    ) -> Step {
        if end_stream {
            return Step::End(Self::trailers_only(head, facts));
        }
        if !facts.is_grpc {
            *self = Self::Page(Box::new(Page::new(head)));
            return Step::More;
        }
        // A reply of one block has no messages, so its encoding was not looked at (wire-rules F3).
        if let Err(unsupported) = &facts.encoding {
            // wire-rules 35
            return fail(Status::internal(unsupported.to_string()), ErrorCode::CANCEL);
        }
        if let Self::Head(asked) = *self
            && facts.format != Some(asked)
        {
            return fail(other_format(head, asked), ErrorCode::CANCEL);
        }
        *self = Self::Body;
        if let Ok(encoding) = facts.encoding
            && encoding != Encoding::Identity
        {
            match sink {
                Sink::Nobody => {}
                Sink::Single { body, .. } => body.set_encoding(encoding),
                Sink::Stream(inbox) => inbox.set_encoding(encoding),
            }
        }
        match sink {
            Sink::Nobody => {}
            Sink::Single { head: place, .. } => {
                **place = facts.has_metadata().then(|| Arc::clone(head));
            }
            Sink::Stream(inbox) => match response_head::metadata(head) {
                Ok(metadata) => inbox.set_headers(metadata),
                // wire-rules 25
                Err(status) => return fail(status, ErrorCode::PROTOCOL_ERROR),
            },
        }
        Step::More
    }

    /// Body bytes. The second value is the credit to give back to the peer at once.
    #[inline]
    pub(super) fn on_data(&mut self, data: &[u8], end_stream: bool, sink: &mut Sink<'_>) -> (Step, usize) {
        match self {
            Self::Head(_) => {
                (fail(unexpected("DATA before the response head"), ErrorCode::PROTOCOL_ERROR), 0)
            }
            Self::Page(page) => {
                let step = if page.push(data) || end_stream {
                    Step::End(End::page(page, ErrorCode::PROTOCOL_ERROR))
                } else {
                    Step::More
                };
                (step, data.len())
            }
            Self::Body => {
                let credit = match sink {
                    Sink::Nobody => data.len(),
                    Sink::Single { body, .. } => {
                        if let Err(status) = body.push(data) {
                            return (fail(too_large_hint(status), ErrorCode::CANCEL), 0);
                        }
                        data.len()
                    }
                    Sink::Stream(inbox) => inbox.push(data),
                };
                let step = if end_stream {
                    // wire-rules 52; bug-reports 21, 22
                    fail(unexpected("the response ended without trailers"), ErrorCode::PROTOCOL_ERROR)
                } else {
                    Step::More
                };
                (step, credit)
            }
        }
    }

    /// Trailers: the end of every gRPC response that had a head of its own.
    #[inline]
    pub(super) fn on_trailers(&self, head: &Arc<Head>) -> End {
        let facts = ResponseHead::of(head);
        let status = match (facts.code, self) {
            // What came was no message, and must not be lost as a success.
            (None | Some(Code::Ok), Self::Page(page)) => return End::page(page, ErrorCode::NO_ERROR),
            (Some(Code::Ok), _) => return End::success(head, facts),
            (Some(_), _) => response_head::status(head),
            // wire-rules 53
            (None, _) => Status::unknown("the response has no grpc-status in its trailers"),
        };
        End::failed(status, ErrorCode::NO_ERROR)
    }

    /// What `end`, which came before the response was complete, means after what the response has said: something that
    /// is not gRPC said all in its head (wire-rules 55, bug-reports 33).
    pub(super) fn cut_short(&self, end: End) -> End {
        match self {
            Self::Page(page) => End::page(page, end.reset),
            Self::Head(_) | Self::Body => end,
        }
    }

    /// One block for all: what is the user's in it counts as trailers (wire-rules 62).
    fn trailers_only(head: &Arc<Head>, facts: &ResponseHead) -> End {
        let status = match facts.code {
            Some(Code::Ok) => return End::success(head, facts),
            Some(_) => response_head::status(head),
            None if facts.is_grpc => match head.status() {
                // wire-rules 53, 54
                Some(200) | None => Status::unknown("the response has no grpc-status"),
                // bug-reports 30: a gRPC response does not take its code from the HTTP status.
                Some(status) => {
                    Status::internal(format!("a gRPC response with HTTP status {status} and no grpc-status"))
                }
            },
            None => return End::page(&Page::new(head), ErrorCode::NO_ERROR),
        };
        End::failed(status, ErrorCode::NO_ERROR)
    }
}

/// A message over the limit says both numbers; this says whose limit it is.
pub(crate) fn too_large_hint(status: Status) -> Status {
    match status.code() {
        Code::ResourceExhausted => hinted(status, "allow more with Request::max_response_size"),
        _ => status,
    }
}

fn fail(status: Status, reset: ErrorCode) -> Step {
    Step::End(End::failed(status, reset))
}

/// A reply comes in the format of its request, or it cannot be read.
fn other_format(head: &Head, asked: Format) -> Status {
    let content_type = head.field(b"content-type").unwrap_or_default().escape_ascii();
    let asked = asked.content_type();
    Status::internal(format!(
        "the peer answered in another format than it was asked in: {content_type}, not {asked}"
    ))
}

fn unexpected(what: &'static str) -> Status {
    Status::internal(what)
}

#[cfg(test)]
mod tests;
