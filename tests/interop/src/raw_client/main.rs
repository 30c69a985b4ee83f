//! `interop-raw-client --server_host=H --server_port=N --test_case=CASE`: the four compression cases on bare frames.
//!
//! No packaged client sees whether a reply was compressed, nor can it lie about its own messages; this one does both.
//! It ends with 0 only if each flag was as the case wants it.

use std::io::{Read, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use buffa::Message;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use peregrine_interop::flags::Flags;
use peregrine_interop::payload;
use peregrine_interop::pb::{
    BoolValue, ResponseParameters, SimpleRequest, SimpleResponse, StreamingInputCallRequest,
    StreamingInputCallResponse, StreamingOutputCallRequest, StreamingOutputCallResponse,
};
use peregrine_testkit::peer::{Fields, prefixed};
use peregrine_testkit::{Peer, PeerConfig, Received};
use tokio::net::TcpStream;

const FLAGS: &[&str] = &["server_host", "server_port", "test_case", "use_tls"];
const INVALID_ARGUMENT: &str = "3";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

async fn run() -> Result<()> {
    let flags = Flags::parse(std::env::args().skip(1), FLAGS)?;
    ensure!(!flags.is_set("use_tls")?, "bare frames are sent in plaintext only");
    let host = flags.text("server_host").unwrap_or("127.0.0.1");
    let port = u16::try_from(flags.number("server_port", 8080)?).context("--server_port is a port number")?;
    let socket = TcpStream::connect((host, port)).await?;
    socket.set_nodelay(true)?;
    let mut peer = Peer::new(socket, PeerConfig { refill_windows: true, ..PeerConfig::default() });
    peer.start().await;
    let mut client = Client { peer };
    match flags.text("test_case").context("--test_case is missing")? {
        "client_compressed_unary" => client.client_compressed_unary().await,
        "server_compressed_unary" => client.server_compressed_unary().await,
        "client_compressed_streaming" => client.client_compressed_streaming().await,
        "server_compressed_streaming" => client.server_compressed_streaming().await,
        other => bail!("unsupported test case {other}"),
    }
}

struct Client {
    peer: Peer<TcpStream>,
}

/// What came back.
#[derive(Debug, Default)]
struct Answer {
    head: Fields,
    trailers: Fields,
    body: Vec<u8>,
}

impl Client {
    /// The server finds out a request that says it is compressed and is not; then one of each kind is taken.
    async fn client_compressed_unary(&mut self) -> Result<()> {
        let request =
            |expected| SimpleRequest { expect_compressed: Some(is(expected)).into(), ..large_request() };
        let probe = self.call("UnaryCall", &[(&request(true), false)], Ending::Half).await?;
        probe.expect_status(INVALID_ARGUMENT)?;
        for compressed in [true, false] {
            let answer = self.call("UnaryCall", &[(&request(compressed), compressed)], Ending::Half).await?;
            answer.expect(&[(REPLY_SIZE, false)], |reply: SimpleResponse| reply.payload.body.len())?;
        }
        Ok(())
    }

    async fn server_compressed_unary(&mut self) -> Result<()> {
        for compressed in [true, false] {
            let request =
                SimpleRequest { response_compressed: Some(is(compressed)).into(), ..large_request() };
            let answer = self.call("UnaryCall", &[(&request, false)], Ending::Half).await?;
            answer.expect(&[(REPLY_SIZE, compressed)], |reply: SimpleResponse| reply.payload.body.len())?;
        }
        Ok(())
    }

    /// The probe has to be answered before the client ends its side.
    async fn client_compressed_streaming(&mut self) -> Result<()> {
        let request = |size, expected| StreamingInputCallRequest {
            payload: Some(payload(size)).into(),
            expect_compressed: Some(is(expected)).into(),
            ..Default::default()
        };
        let (first, second) = (request(27_182, true), request(45_904, false));
        let probe = self.call("StreamingInputCall", &[(&first, false)], Ending::Open).await?;
        probe.expect_status(INVALID_ARGUMENT)?;
        let both: &[(&dyn Encode, bool)] = &[(&first, true), (&second, false)];
        let answer = self.call("StreamingInputCall", both, Ending::Half).await?;
        answer.expect(&[(73_086, false)], |reply: StreamingInputCallResponse| {
            reply.aggregated_payload_size as usize
        })
    }

    async fn server_compressed_streaming(&mut self) -> Result<()> {
        let asked = |size, compressed| ResponseParameters {
            size,
            compressed: Some(is(compressed)).into(),
            ..Default::default()
        };
        let request = StreamingOutputCallRequest {
            response_parameters: vec![asked(31_415, true), asked(92_653, false)],
            ..Default::default()
        };
        let answer = self.call("StreamingOutputCall", &[(&request, false)], Ending::Half).await?;
        answer.expect(&[(31_415, true), (92_653, false)], |reply: StreamingOutputCallResponse| {
            reply.payload.body.len()
        })
    }

    /// One call; of each message whether it goes compressed.
    async fn call(
        &mut self,
        method: &str,
        messages: &[(&dyn Encode, bool)],
        ending: Ending,
    ) -> Result<Answer> {
        let mut fields =
            vec![("user-agent", "interop-raw-client"), ("grpc-accept-encoding", "identity,gzip")];
        if messages.iter().any(|&(_, compressed)| compressed) {
            fields.push(("grpc-encoding", "gzip"));
        }
        let path = format!("/grpc.testing.TestService/{method}");
        let stream = self.peer.request(&path, &fields, &[], false).await;
        let mut body = Vec::new();
        for (message, compressed) in messages {
            let bytes = message.bytes();
            let bytes = if *compressed { gzip(&bytes)? } else { bytes };
            body.extend(prefixed(u8::from(*compressed), bytes.len() as u32, &bytes));
        }
        self.peer.send_body(stream, &body, matches!(ending, Ending::Half)).await;
        let mut answer = Answer::default();
        loop {
            let (fields, end) = match self.peer.frame_of(stream).await {
                Some(Received::Headers { fields, end_stream, .. }) => (fields, end_stream),
                Some(Received::Data { data, end_stream, .. }) => {
                    ensure!(!end_stream, "a response without trailers");
                    answer.body.extend_from_slice(&data);
                    continue;
                }
                other => bail!("the response breaks off: {other:?}"),
            };
            if !end {
                answer.head = fields;
                continue;
            }
            answer.trailers = fields;
            return Ok(answer);
        }
    }
}

/// Whether a request ends behind its last message.
#[derive(Clone, Copy)]
enum Ending {
    /// It does: the stream is half closed.
    Half,
    /// It stays open, so the server has to answer without an end.
    Open,
}

impl Answer {
    fn expect_status(&self, wanted: &str) -> Result<()> {
        let status = text(&self.trailers, "grpc-status");
        ensure!(status.as_deref() == Some(wanted), "grpc-status is {status:?}, not {wanted}");
        Ok(())
    }

    /// The call succeeded with these sizes and flags. A flag goes with `grpc-encoding` alone (wire-rules 31).
    fn expect<M: Message>(&self, wanted: &[(usize, bool)], size: impl Fn(M) -> usize) -> Result<()> {
        self.expect_status("0")?;
        let encoding = text(&self.head, "grpc-encoding");
        let mut found = Vec::new();
        let mut rest = &self.body[..];
        while let Some((&[flag, a, b, c, d], after)) = rest.split_first_chunk() {
            let len = u32::from_be_bytes([a, b, c, d]) as usize;
            let message = after.get(..len).context("the body ends within a message")?;
            rest = &after[len..];
            let compressed = match flag {
                0 => false,
                1 => true,
                other => bail!("flag {other}"),
            };
            ensure!(
                !compressed || encoding.as_deref() == Some("gzip"),
                "flag 1 and grpc-encoding {encoding:?}"
            );
            let bytes = if compressed { gunzip(message)? } else { message.to_vec() };
            found.push((size(M::decode_from_slice(&bytes)?), compressed));
        }
        ensure!(rest.is_empty(), "the body ends within a prefix");
        ensure!(found == wanted, "sizes and compression are {found:?}, not {wanted:?}");
        Ok(())
    }
}

/// Messages of any type in one list.
trait Encode {
    fn bytes(&self) -> Vec<u8>;
}

impl<M: Message> Encode for M {
    fn bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

const REPLY_SIZE: usize = 314_159;

fn large_request() -> SimpleRequest {
    SimpleRequest {
        response_size: REPLY_SIZE as i32,
        payload: Some(payload(271_828)).into(),
        ..Default::default()
    }
}

fn is(value: bool) -> BoolValue {
    BoolValue { value, ..Default::default() }
}

fn text(fields: &Fields, name: &str) -> Option<String> {
    let (_, value) = fields.iter().find(|(other, _)| other == name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).context("a message that is no gzip")?;
    Ok(out)
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("interop-raw-client: {error:#}");
    ExitCode::FAILURE
}
