//! The reply to one call, put together from its frames.

use bytes::{Buf, Bytes, BytesMut};
use peregrine_http2::ErrorCode;

use super::received::{Fields, Received};

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a frame with END_STREAM.
    Stream,
    /// By RST_STREAM.
    Reset(ErrorCode),
    /// The connection closed before.
    Closed,
}

/// What a server answered, so far.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The first header block.
    pub head: Fields,
    /// The last header block, if it is not the first one as well.
    pub trailers: Option<Fields>,
    /// Complete messages, prefixes taken off.
    pub messages: Vec<Bytes>,
    /// The flag of each.
    pub flags: Vec<u8>,
    /// How long the body was in each DATA frame.
    pub data_frames: Vec<usize>,
    /// Body bytes that are no complete message.
    pub rest: BytesMut,
    /// How it ended; `None` while it has not.
    pub ending: Option<Ending>,
    head_seen: bool,
}

impl Reply {
    /// Whether nothing more can come.
    pub fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether head and status came in one block (wire-rules 50).
    pub fn is_trailers_only(&self) -> bool {
        self.head_seen && self.trailers.is_none() && self.ending == Some(Ending::Stream)
    }

    /// The value of `:status`.
    pub fn http_status(&self) -> u16 {
        let status = find(&self.head, ":status").expect("every reply has a :status");
        std::str::from_utf8(status).ok().and_then(|text| text.parse().ok()).expect(":status is a number")
    }

    /// `grpc-status` as a number and `grpc-message` decoded.
    ///
    /// Fails the test if there is no status where a finished reply has it.
    pub fn status(&self) -> (u32, String) {
        assert_eq!(self.ending, Some(Ending::Stream), "no status: {self:?}");
        let block = self.trailers.as_ref().unwrap_or(&self.head);
        let code = find(block, "grpc-status").unwrap_or_else(|| panic!("no grpc-status: {self:?}"));
        let code = std::str::from_utf8(code).ok().and_then(|text| text.parse().ok());
        let text = find(block, "grpc-message").map(|bytes| percent_decoded(bytes)).unwrap_or_default();
        (code.expect("grpc-status is a number"), text)
    }

    /// `grpc-status` as a number.
    pub fn code(&self) -> u32 {
        self.status().0
    }

    /// The first value of a name in the first block.
    pub fn head_value(&self, name: &str) -> Option<&str> {
        find(&self.head, name).map(|value| std::str::from_utf8(value).expect("the value is text"))
    }

    /// The first value of a name in the trailers, wherever those are.
    pub fn trailer_value(&self, name: &str) -> Option<&str> {
        find(self.trailers.as_ref().unwrap_or(&self.head), name)
            .map(|value| std::str::from_utf8(value).expect("the value is text"))
    }

    /// The messages as text.
    pub fn texts(&self) -> Vec<&str> {
        self.messages.iter().map(|message| std::str::from_utf8(message).expect("text")).collect()
    }

    /// Takes a frame of the reply's stream.
    pub(super) fn on_frame(&mut self, frame: Received) {
        let ended = match frame {
            Received::Headers { fields, end_stream, .. } => {
                if self.head_seen {
                    assert!(self.trailers.is_none(), "a third header block");
                    assert!(end_stream, "trailers without END_STREAM");
                    // RFC 9113 8.1
                    let pseudo = fields.iter().find(|(name, _)| name.starts_with(':'));
                    assert_eq!(pseudo, None, "a pseudo-header field in trailers");
                    self.trailers = Some(fields);
                } else {
                    self.head_seen = true;
                    self.head = fields;
                }
                end_stream
            }
            Received::Data { data, end_stream, .. } => {
                assert!(self.head_seen, "DATA before the head");
                self.data_frames.push(data.len());
                self.rest.extend_from_slice(&data);
                self.take_messages();
                end_stream
            }
            Received::Reset { code, .. } => {
                self.ending = Some(Ending::Reset(code));
                false
            }
            other => panic!("not a frame of a reply: {other:?}"),
        };
        if ended {
            self.ending = Some(Ending::Stream);
        }
    }

    pub(super) fn on_closed(&mut self) {
        self.ending = Some(Ending::Closed);
    }

    fn take_messages(&mut self) {
        while let Some((&[flag, a, b, c, d], _)) = self.rest.split_first_chunk() {
            let len = u32::from_be_bytes([a, b, c, d]) as usize;
            if self.rest.len() - 5 < len {
                return;
            }
            let is_agreed = find(&self.head, "grpc-encoding").is_some_and(|name| *name != "identity");
            assert!(flag == 0 || is_agreed, "a compressed message although no compression was agreed on");
            self.flags.push(flag);
            self.rest.advance(5);
            self.messages.push(self.rest.split_to(len).freeze());
        }
    }
}

/// The first value of a name.
fn find<'a>(fields: &'a Fields, name: &str) -> Option<&'a Bytes> {
    fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

/// Undoes the percent-encoding of `grpc-message` (wire-rules 58), independently of the code under test.
fn percent_decoded(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                out.push(decoded);
                rest = &after[2..];
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(out).expect("grpc-message is UTF-8")
}

#[cfg(test)]
mod tests {
    use peregrine_http2::StreamId;

    use super::*;
    use crate::peer::message;

    const STREAM: StreamId = StreamId::FIRST_CLIENT;

    fn headers(fields: &[(&str, &str)], end_stream: bool) -> Received {
        let fields =
            fields.iter().map(|(name, value)| (name.to_string(), value.to_string().into())).collect();
        Received::Headers { stream: STREAM, fields, end_stream }
    }

    fn data(bytes: &[u8]) -> Received {
        Received::Data { stream: STREAM, data: Bytes::copy_from_slice(bytes), end_stream: false }
    }

    #[test]
    fn a_reply_is_put_together_from_its_frames() {
        let mut reply = Reply::default();
        let body = [message(b"one"), message(b"two")].concat();
        reply.on_frame(headers(&[(":status", "200"), ("x-first", "1")], false));
        reply.on_frame(data(&body[..10]));
        assert_eq!((reply.texts(), &reply.rest[..]), (vec!["one"], &body[8..10]));
        reply.on_frame(data(&body[10..]));
        reply.on_frame(headers(&[("grpc-status", "5"), ("grpc-message", "50%25 of %E2%98%BA%2")], true));
        assert_eq!(reply.status(), (5, "50% of \u{263a}%2".to_owned()));
        assert_eq!((reply.texts(), reply.data_frames.len()), (vec!["one", "two"], 2));
        assert_eq!((reply.head_value("x-first"), reply.trailer_value("x-first")), (Some("1"), None));
        assert!(reply.is_over() && !reply.is_trailers_only());
    }

    #[test]
    fn one_block_is_head_and_trailers() {
        let mut reply = Reply::default();
        reply.on_frame(headers(&[(":status", "200"), ("grpc-status", "0")], true));
        assert!(reply.is_trailers_only());
        assert_eq!((reply.http_status(), reply.code()), (200, 0));
    }

    #[test]
    fn a_reset_and_a_closed_connection_end_a_reply_too() {
        let mut reply = Reply::default();
        reply.on_frame(Received::Reset { stream: STREAM, code: ErrorCode::CANCEL });
        assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::CANCEL)));
        let mut reply = Reply::default();
        reply.on_closed();
        assert_eq!(reply.ending, Some(Ending::Closed));
    }
}
