//! The test service as a function: what came in, to what goes out.

use std::io::{Read, Write};

use buffa::Message;
use bytes::{Buf, BytesMut};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use peregrine_interop::payload;
use peregrine_interop::pb::{
    BoolValue, SimpleRequest, SimpleResponse, StreamingInputCallRequest, StreamingInputCallResponse,
    StreamingOutputCallRequest, StreamingOutputCallResponse,
};

/// What a call is answered with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Encoded messages, each with whether it shall be compressed.
    pub(crate) messages: Vec<(Vec<u8>, bool)>,
    /// `grpc-status`; not 0 goes without messages.
    pub(crate) status: u32,
}

impl Answer {
    fn one(message: &impl Message, compressed: bool) -> Self {
        Self { messages: vec![(message.encode_to_vec(), compressed)], status: 0 }
    }

    pub(crate) fn failed(status: u32) -> Self {
        Self { messages: Vec::new(), status }
    }

    /// The body: prefixes and messages.
    pub(crate) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for (message, compressed) in &self.messages {
            let message = if *compressed { gzip(message) } else { message.clone() };
            body.push(u8::from(*compressed));
            body.extend_from_slice(&(message.len() as u32).to_be_bytes());
            body.extend_from_slice(&message);
        }
        body
    }
}

pub(crate) const INVALID_ARGUMENT: u32 = 3;
pub(crate) const UNIMPLEMENTED: u32 = 12;
pub(crate) const INTERNAL: u32 = 13;

/// One call as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Call {
    method: String,
    /// `grpc-encoding` is gzip.
    gzip: bool,
    body: BytesMut,
    /// The last message, uncompressed.
    message: Vec<u8>,
    /// Payload bytes of all messages.
    total: usize,
}

impl Call {
    pub(crate) fn new(path: &str, encoding: Option<&str>) -> Self {
        let method = path.strip_prefix("/grpc.testing.TestService/").unwrap_or_default().to_owned();
        Self { method, gzip: encoding == Some("gzip"), ..Self::default() }
    }

    /// Takes body bytes; tells of each complete message's flag. An error is how the call ends at once.
    pub(crate) fn on_data(&mut self, data: &[u8], mut on_flag: impl FnMut(u8)) -> Result<(), Answer> {
        self.body.extend_from_slice(data);
        while let Some((&[flag, a, b, c, d], rest)) = self.body.split_first_chunk() {
            let len = u32::from_be_bytes([a, b, c, d]) as usize;
            if rest.len() < len {
                break;
            }
            self.body.advance(5);
            let message = self.body.split_to(len);
            on_flag(flag);
            self.message = match (flag, self.gzip) {
                (0, _) => message.to_vec(),
                (1, true) => gunzip(&message).ok_or_else(|| Answer::failed(INTERNAL))?,
                _ => return Err(Answer::failed(INTERNAL)),
            };
            self.on_message(flag == 1)?;
        }
        Ok(())
    }

    /// The probe of the compression cases: the request says whether it is compressed, and lies.
    fn on_message(&mut self, compressed: bool) -> Result<(), Answer> {
        let expected = match self.method.as_str() {
            "UnaryCall" => decode::<SimpleRequest>(&self.message)?.expect_compressed,
            "StreamingInputCall" => {
                let request = decode::<StreamingInputCallRequest>(&self.message)?;
                self.total += request.payload.as_option().map_or(0, |payload| payload.body.len());
                request.expect_compressed
            }
            _ => return Ok(()),
        };
        match expected.as_option() {
            Some(expected) if expected.value != compressed => Err(Answer::failed(INVALID_ARGUMENT)),
            _ => Ok(()),
        }
    }

    /// The answer to the call, now that the request has ended.
    pub(crate) fn answer(&self) -> Answer {
        self.try_answer().unwrap_or_else(|failed| failed)
    }

    fn try_answer(&self) -> Result<Answer, Answer> {
        Ok(match self.method.as_str() {
            "EmptyCall" => Answer { messages: vec![(Vec::new(), false)], status: 0 },
            "UnaryCall" => {
                let request = decode::<SimpleRequest>(&self.message)?;
                let payload = Some(payload(request.response_size as usize)).into();
                let compressed = is_set(request.response_compressed.as_option());
                Answer::one(&SimpleResponse { payload, ..Default::default() }, compressed)
            }
            "StreamingInputCall" => {
                let aggregated_payload_size = self.total as i32;
                let sum = StreamingInputCallResponse { aggregated_payload_size, ..Default::default() };
                Answer::one(&sum, false)
            }
            "StreamingOutputCall" => {
                let request = decode::<StreamingOutputCallRequest>(&self.message)?;
                let messages = request.response_parameters.iter().map(|asked| {
                    let payload = Some(payload(asked.size as usize)).into();
                    let message = StreamingOutputCallResponse { payload, ..Default::default() };
                    (message.encode_to_vec(), is_set(asked.compressed.as_option()))
                });
                Answer { messages: messages.collect(), status: 0 }
            }
            _ => Answer::failed(UNIMPLEMENTED),
        })
    }
}

fn is_set(value: Option<&BoolValue>) -> bool {
    value.is_some_and(|value| value.value)
}

fn decode<M: Message>(bytes: &[u8]) -> Result<M, Answer> {
    M::decode_from_slice(bytes).map_err(|_| Answer::failed(INTERNAL))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes any number of bytes")
}

fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unary(request: &SimpleRequest, compressed: bool) -> Result<Answer, Answer> {
        let mut call = Call::new("/grpc.testing.TestService/UnaryCall", Some("gzip"));
        let body = Answer::one(request, compressed).body();
        let (first, rest) = body.split_at(3);
        call.on_data(first, |_| panic!("not complete"))?;
        call.on_data(rest, |flag| assert_eq!(flag == 1, compressed))?;
        Ok(call.answer())
    }

    fn saying(expect: bool) -> SimpleRequest {
        let expect_compressed = Some(BoolValue { value: expect, ..Default::default() }).into();
        SimpleRequest { response_size: 3, expect_compressed, ..Default::default() }
    }

    #[test]
    fn a_request_that_lies_about_its_flag_is_refused() {
        for compressed in [false, true] {
            let answer = unary(&saying(compressed), compressed).unwrap();
            let reply = SimpleResponse::decode_from_slice(&answer.messages[0].0).unwrap();
            assert_eq!(reply.payload.body.len(), 3);
            let refused = unary(&saying(!compressed), compressed).unwrap_err();
            assert_eq!(refused, Answer::failed(INVALID_ARGUMENT));
        }
    }

    #[test]
    fn what_the_service_does_not_have_is_unimplemented() {
        assert_eq!(Call::new("/other.Service/UnaryCall", None).answer(), Answer::failed(UNIMPLEMENTED));
    }
}
