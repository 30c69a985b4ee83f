//! An HTTP/2 server without a mind: every call gets the reply that was made beforehand.

use anyhow::bail;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::frames::{self, Block, END_HEADERS, END_STREAM, HEADERS};
use crate::scenario::{Scenario, Shape};

/// What answers a call.
struct Reply {
    head: Block,
    trailers: Block,
    /// The messages.
    body: Vec<u8>,
    /// Every message is answered, and the call goes on.
    per_message: bool,
}

/// The other end.
pub(crate) struct Answerer {
    socket: UnixStream,
    reply: Reply,
    out: Vec<u8>,
    input: Vec<u8>,
    /// Calls answered so far.
    answered: usize,
}

impl Answerer {
    pub(crate) fn new(socket: UnixStream, scenario: &Scenario) -> Self {
        let mut out = Vec::with_capacity(1 << 20);
        frames::opening(&mut out);
        Self { socket, reply: Reply::of(scenario), out, input: vec![0; 1 << 20], answered: 0 }
    }

    /// Answers until the connection ends.
    pub(crate) async fn run(mut self) -> anyhow::Result<()> {
        let mut filled = 0;
        let mut greeting = frames::PREFACE.len();
        loop {
            self.socket.write_all(&self.out).await?;
            self.out.clear();
            let read = self.socket.read(&mut self.input[filled..]).await?;
            if read == 0 {
                return Ok(());
            }
            filled += read;
            let mut at = 0;
            if greeting > 0 {
                if filled < greeting {
                    continue;
                }
                at = std::mem::take(&mut greeting);
            }
            at += self.answer(at, filled)?;
            self.input.copy_within(at..filled, 0);
            filled -= at;
        }
    }

    /// Answers the whole frames of the input; how many bytes they were.
    fn answer(&mut self, from: usize, filled: usize) -> anyhow::Result<usize> {
        let mut at = from;
        while let Some((head, _)) = frames::parse(&self.input[at..filled]) {
            at += 9 + head.len;
            match head.kind {
                frames::RST_STREAM | frames::GOAWAY => bail!("the client says {head:?}"),
                HEADERS if self.reply.per_message => self.reply.push_head(&mut self.out, head.stream, 0),
                frames::DATA if self.reply.per_message && head.len > 0 => {
                    frames::data(&mut self.out, 0, head.stream, &self.reply.body);
                }
                HEADERS | frames::DATA if head.flags & END_STREAM != 0 => {
                    self.reply.push(&mut self.out, head.stream, self.answered);
                    self.answered += 1;
                }
                _ => {}
            }
        }
        Ok(at - from)
    }
}

impl Reply {
    fn of(scenario: &Scenario) -> Self {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let mut head = vec![own((":status", "200")), own(("content-type", "application/grpc"))];
        let failed = [own(("grpc-status", "3")), own(("grpc-message", "size must be less"))];
        let trailers = match scenario.shape {
            Shape::Error => {
                // One block: what ends a call at once has no trailers of its own.
                head.extend(failed);
                Vec::new()
            }
            _ => vec![own(("grpc-status", "0"))],
        };
        head.extend(frames::metadata(scenario.metadata));
        let message = |bytes: Vec<u8>| frames::message(&bytes);
        let body = match scenario.shape {
            Shape::Unary { size } | Shape::PingPong { size } => message(frames::echo(size)),
            Shape::Error => Vec::new(),
            Shape::Stream { count, size } => message(frames::echo(size)).repeat(count),
            Shape::Collect { count, size } => message(frames::summary(count, count * size)),
        };
        let [head, trailers] = frames::blocks([&head, &trailers]);
        Self { head, trailers, body, per_message: matches!(scenario.shape, Shape::PingPong { .. }) }
    }

    fn push(&self, out: &mut Vec<u8>, stream: u32, round: usize) {
        if self.body.is_empty() {
            let block = self.head.at(round);
            return frames::frame(out, HEADERS, END_HEADERS | END_STREAM, stream, block);
        }
        self.push_head(out, stream, round);
        frames::data(out, 0, stream, &self.body);
        let block = self.trailers.at(round);
        frames::frame(out, HEADERS, END_HEADERS | END_STREAM, stream, block);
    }

    fn push_head(&self, out: &mut Vec<u8>, stream: u32, round: usize) {
        let block = self.head.at(round);
        frames::frame(out, HEADERS, END_HEADERS, stream, block);
    }
}
