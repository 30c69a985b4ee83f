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

use super::response_head::{self, ResponseHead};
use crate::call_error::hinted;

/// Bytes of a page that is not gRPC shown in the status message (57).
const PAGE_LIMIT: usize = 1024;

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

/// A response that something other than a gRPC server gave.
#[derive(Debug)]
pub(super) struct Page {
    http_status: u16,
    content_type: String,
    body: Vec<u8>,
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

impl Page {
    fn new(head: &Head) -> Self {
        let content_type = head.field(b"content-type").map(|value| value.escape_ascii().to_string());
        Self {
            http_status: head.status().unwrap_or_default(),
            content_type: content_type.unwrap_or_default(),
            body: Vec::new(),
        }
    }

    /// Keeps the start of the body; true when there is enough.
    fn push(&mut self, data: &[u8]) -> bool {
        let room = PAGE_LIMIT - self.body.len();
        self.body.extend_from_slice(&data[..data.len().min(room)]);
        self.body.len() == PAGE_LIMIT
    }

    /// The code follows the HTTP status (55), the message shows what came instead of gRPC (57).
    fn status(&self) -> Status {
        let status = Status::from_http_status(self.http_status);
        let mut message = format!("the peer answered HTTP status {}", self.http_status);
        message += match self.content_type.as_str() {
            "" => ", which is not gRPC",
            _ => " with content-type ",
        };
        message += &self.content_type;
        let body = String::from_utf8_lossy(&self.body);
        if !body.trim().is_empty() {
            message += ": ";
            message += body.trim();
        }
        hinted(
            status.with_message(message),
            "not the gRPC server answered but a web server or a proxy before it: check the port, and that the proxy \
             passes gRPC on",
        )
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
mod tests {
    use peregrine_core::message::DEFAULT_MAX_RECEIVE;
    use peregrine_http2::Field;

    use super::*;

    /// A single-response call outside of any connection.
    struct Reader {
        stage: Stage,
        body: UnaryBody,
        head: Option<Arc<Head>>,
    }

    impl Reader {
        fn new() -> Self {
            let body = UnaryBody::new(Encoding::Identity, DEFAULT_MAX_RECEIVE);
            Self { stage: Stage::Head(Format::Proto), body, head: None }
        }

        fn head(&mut self, fields: &[(&str, &str)], end_stream: bool) -> Step {
            let mut sink = Sink::Single { body: &mut self.body, head: &mut self.head };
            let head = block(fields);
            self.stage.on_head(&head, ResponseHead::of(&head), end_stream, &mut sink)
        }

        fn data(&mut self, data: &[u8], end_stream: bool) -> Step {
            let mut sink = Sink::Single { body: &mut self.body, head: &mut self.head };
            self.stage.on_data(data, end_stream, &mut sink).0
        }

        fn trailers(&mut self, fields: &[(&str, &str)]) -> Step {
            Step::End(self.stage.on_trailers(&block(fields)))
        }
    }

    const GRPC: (&str, &str) = ("content-type", "application/grpc");
    const OK: (&str, &str) = (":status", "200");

    fn block(fields: &[(&str, &str)]) -> Arc<Head> {
        let fields = fields.iter().map(|(name, value)| Field::new(name.as_bytes(), value.as_bytes()));
        Arc::new(Head::from_fields(fields))
    }

    fn code(step: Step) -> Code {
        match step {
            Step::End(End { result: Ok(_), .. }) => Code::Ok,
            Step::End(End { result: Err(status), .. }) => status.code(),
            Step::More => panic!("the call goes on"),
        }
    }

    #[test]
    fn head_message_and_trailers_make_a_response() {
        // wire-rules 49
        let mut reader = Reader::new();
        assert!(matches!(reader.head(&[OK, GRPC], false), Step::More));
        assert!(matches!(reader.data(b"\0\0\0\0\x02hi", false), Step::More));
        assert_eq!(code(reader.trailers(&[("grpc-status", "0")])), Code::Ok);
        assert_eq!(reader.body.finish().unwrap().as_slice(), b"hi");
        assert!(reader.head.is_none(), "a head without metadata is not kept");
    }

    #[test]
    fn trailers_only_is_an_immediate_end() {
        // wire-rules 50, bug-reports 27
        let mut reader = Reader::new();
        let step = reader.head(&[OK, GRPC, ("grpc-status", "14")], true);
        assert_eq!(code(step), Code::Unavailable);
    }

    #[test]
    fn grpc_status_wins_over_http_status() {
        // wire-rules 54, bug-reports 30
        let status = |http: &str, rest: &[(&str, &str)]| {
            let fields: Vec<_> = [(":status", http)].iter().chain(rest).copied().collect();
            code(Reader::new().head(&fields, true))
        };
        assert_eq!(status("503", &[GRPC, ("grpc-status", "0")]), Code::Ok);
        assert_eq!(status("503", &[("grpc-status", "5")]), Code::NotFound);
        assert_eq!(status("503", &[GRPC]), Code::Internal);
        assert_eq!(status("200", &[GRPC]), Code::Unknown);
        assert_eq!(status("503", &[("content-type", "text/html")]), Code::Unavailable);
        assert_eq!(status("404", &[]), Code::Unimplemented);
    }

    #[test]
    fn a_missing_status_is_unknown_and_missing_trailers_are_internal() {
        // wire-rules 52, 53, bug-reports 22
        let mut reader = Reader::new();
        reader.head(&[OK, GRPC], false);
        assert_eq!(code(reader.trailers(&[])), Code::Unknown);
        let mut reader = Reader::new();
        reader.head(&[OK, GRPC], false);
        assert_eq!(code(reader.trailers(&[("grpc-status", "OK")])), Code::Unknown);
        let mut reader = Reader::new();
        reader.head(&[OK, GRPC], false);
        assert_eq!(code(reader.data(b"\0\0\0\0\0", true)), Code::Internal);
    }

    #[test]
    fn a_page_that_is_not_grpc_is_shown() {
        // wire-rules 55, 57, bug-reports 32, 33
        let mut reader = Reader::new();
        reader.head(&[(":status", "502"), ("content-type", "text/html")], false);
        assert!(matches!(reader.data(b"<h1>Bad", false), Step::More));
        let Step::End(end) = reader.data(b" Gateway</h1>", true) else { panic!("the call goes on") };
        let status = end.result.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("502") && status.message().contains("text/html"), "{status}");
        assert!(status.message().ends_with("<h1>Bad Gateway</h1>"), "{status}");
        assert_eq!(end.reset, ErrorCode::PROTOCOL_ERROR);
    }

    #[test]
    fn a_page_is_cut_at_one_kibibyte() {
        let mut reader = Reader::new();
        reader.head(&[OK, ("content-type", "text/html")], false);
        assert!(matches!(reader.data(&[b'a'; 1000], false), Step::More));
        assert_eq!(code(reader.data(&[b'b'; 1000], false)), Code::Unknown);
    }

    #[test]
    fn a_second_message_ends_the_call_at_once() {
        // wire-rules 48, bug-reports 35
        let mut reader = Reader::new();
        reader.head(&[OK, GRPC], false);
        assert!(matches!(reader.data(b"\0\0\0\0\x01a", false), Step::More));
        assert_eq!(code(reader.data(b"\0\0\0\0\x01b", false)), Code::Unimplemented);
    }

    // wire-rules N1
    #[test]
    fn a_reply_in_another_format_than_its_request_is_internal() {
        let json = ("content-type", "application/grpc+json");
        assert_eq!(code(Reader::new().head(&[OK, json], false)), Code::Internal);
        assert_eq!(
            code(Reader::new().head(&[OK, ("content-type", "application/grpc+x")], false)),
            Code::Internal
        );
        let mut asked_in_json = Reader { stage: Stage::Head(Format::Json), ..Reader::new() };
        assert!(matches!(asked_in_json.head(&[OK, json], false), Step::More));
        let mut asked_in_json = Reader { stage: Stage::Head(Format::Json), ..Reader::new() };
        assert_eq!(code(asked_in_json.head(&[OK, GRPC], false)), Code::Internal);
        // An error has no message, so its format does not matter.
        let trailers_only = [OK, GRPC, ("grpc-status", "5")];
        let mut asked_in_json = Reader { stage: Stage::Head(Format::Json), ..Reader::new() };
        assert_eq!(code(asked_in_json.head(&trailers_only, true)), Code::NotFound);
    }

    #[test]
    fn an_unknown_encoding_is_internal() {
        // wire-rules 35, F3: ignored in trailers-only
        let encoding = ("grpc-encoding", "foo");
        assert_eq!(code(Reader::new().head(&[OK, GRPC, encoding], false)), Code::Internal);
        let trailers_only = [OK, GRPC, encoding, ("grpc-status", "5")];
        assert_eq!(code(Reader::new().head(&trailers_only, true)), Code::NotFound);
    }
}
