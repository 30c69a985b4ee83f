//! The states of a response, without any connection.

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
