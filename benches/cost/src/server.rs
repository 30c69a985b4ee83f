//! The server is measured: the other end sends requests that were made beforehand.

use std::io;
use std::sync::Arc;

use anyhow::{bail, ensure};
use peregrine::{Encoding, Execution, Server, unfold};
use peregrine_bench_echo::service;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::ReadHalf;

use crate::Used;
use crate::counted_io::{CountedIo, SocketCounts};
use crate::frames::{self, Block, END_HEADERS, END_STREAM, HEADERS};
use crate::other_end::OtherEnd;
use crate::scenario::{Codec, Scenario, Shape};

/// `rounds` times the scenario's burst of calls.
pub(crate) async fn run(scenario: &Scenario, rounds: usize) -> anyhow::Result<Used> {
    let (ours, theirs) = UnixStream::pair()?;
    let counts = Arc::new(SocketCounts::default());
    let socket = CountedIo::new(theirs, Arc::clone(&counts));
    // One connection and then none for ever: the end of the connections would be the end of the server.
    let incoming = unfold(Some(socket), |socket| async {
        match socket {
            Some(socket) => Some((Ok::<_, io::Error>(socket), None)),
            None => std::future::pending().await,
        }
    });
    let serving = tokio::spawn(server(scenario).serve_incoming(incoming));
    let scenario = *scenario;
    let used = OtherEnd::new(async move {
        let mut caller = Caller::new(ours, &scenario);
        let before = Used::so_far(&counts);
        for _ in 0..rounds {
            caller.round().await?;
        }
        anyhow::Ok(Used::so_far(&counts).since(before))
    })
    .await;
    serving.abort();
    used
}

fn server(scenario: &Scenario) -> Server {
    let mut server = Server::builder()
        .initial_stream_window((1 << 31) - 1)
        .initial_connection_window((1 << 31) - 1)
        .max_header_list_size(64 << 10)
        .execution(if scenario.spawned { Execution::Spawn } else { Execution::Inline });
    if scenario.gzip {
        server = server.compression(Encoding::Gzip);
    }
    let echo_metadata = scenario.metadata > 0;
    match scenario.codec {
        Codec::Buffa => service::mount_buffa(server, echo_metadata),
        Codec::Prost => service::mount_prost(server, echo_metadata),
        Codec::Bytes => service::mount_bytes(server, false),
    }
}

/// When a round is over.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// So many streams have ended.
    Ended(usize),
    /// So many bytes of DATA have come.
    Data(usize),
}

/// The other end.
struct Caller {
    socket: UnixStream,
    scenario: Scenario,
    /// The request's head.
    head: Block,
    /// The messages of a request.
    body: Vec<u8>,
    /// Bytes of DATA that answer a call, where they are known.
    reply: Option<usize>,
    out: Vec<u8>,
    input: Vec<u8>,
    next_id: u32,
}

impl Caller {
    fn new(socket: UnixStream, scenario: &Scenario) -> Self {
        let [head] = frames::blocks([&head(scenario)]);
        let (body, reply) = exchange(scenario.shape);
        let mut out = frames::PREFACE.to_vec();
        frames::opening(&mut out);
        let reply = reply.filter(|_| !scenario.gzip);
        Self { socket, scenario: *scenario, head, body, reply, out, input: vec![0; 1 << 20], next_id: 1 }
    }

    /// A burst of calls, to the end of the last reply; on an open call one message and its answer.
    async fn round(&mut self) -> anyhow::Result<()> {
        let burst = self.scenario.burst;
        let until = if let Shape::PingPong { .. } = self.scenario.shape {
            self.push_message();
            Until::Data(self.body.len())
        } else {
            for _ in 0..burst {
                self.push_call();
            }
            Until::Ended(burst)
        };
        let (mut read, mut write) = self.socket.split();
        let (written, received) =
            tokio::join!(write.write_all(&self.out), receive(&mut read, &mut self.input, until));
        written?;
        let received = received?;
        self.out.clear();
        if let Some(reply) = self.reply {
            ensure!(received == reply * burst, "{received} bytes of DATA in place of {}", reply * burst);
        }
        Ok(())
    }

    fn push_call(&mut self) {
        let id = self.next_id;
        self.next_id += 2;
        self.push_head(id);
        frames::data(&mut self.out, END_STREAM, id, &self.body);
    }

    fn push_message(&mut self) {
        if self.next_id == 1 {
            self.next_id = 3;
            self.push_head(1);
        }
        frames::data(&mut self.out, 0, 1, &self.body);
    }

    fn push_head(&mut self, id: u32) {
        let block = self.head.at(id as usize / 2);
        frames::frame(&mut self.out, HEADERS, END_HEADERS, id, block);
    }
}

/// Reads until the round is over; bytes of DATA.
async fn receive(socket: &mut ReadHalf<'_>, input: &mut [u8], until: Until) -> anyhow::Result<usize> {
    let (mut filled, mut ended, mut data) = (0, 0, 0);
    loop {
        let read = socket.read(&mut input[filled..]).await?;
        ensure!(read > 0, "the server has closed the connection");
        filled += read;
        let mut at = 0;
        while let Some((head, _)) = frames::parse(&input[at..filled]) {
            at += 9 + head.len;
            match head.kind {
                frames::DATA => data += head.len,
                frames::RST_STREAM | frames::GOAWAY => bail!("the server answers with {head:?}"),
                _ => {}
            }
            let may_end = head.kind == HEADERS || head.kind == frames::DATA;
            ended += usize::from(may_end && head.flags & END_STREAM != 0);
        }
        input.copy_within(at..filled, 0);
        filled -= at;
        match until {
            Until::Ended(streams) if ended == streams => return Ok(data),
            Until::Data(bytes) if data >= bytes => return Ok(data),
            _ => {}
        }
    }
}

fn head(scenario: &Scenario) -> Vec<(String, String)> {
    let path = match scenario.shape {
        Shape::Unary { .. } => "/bench.Bench/Echo",
        Shape::Error | Shape::Stream { .. } => "/bench.Bench/Stream",
        Shape::Collect { .. } => "/bench.Bench/Collect",
        Shape::PingPong { .. } => "/bench.Bench/Bidi",
    };
    let fixed = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "cost/1"),
    ];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let mut fields: Vec<_> = fixed.into_iter().map(own).collect();
    if scenario.gzip {
        fields.push(own(("grpc-accept-encoding", "gzip")));
    }
    if scenario.deadline {
        fields.push(own(("grpc-timeout", "9999999u")));
    }
    fields.extend(frames::metadata(scenario.metadata));
    fields
}

/// The request's messages, and how many bytes of DATA answer them.
fn exchange(shape: Shape) -> (Vec<u8>, Option<usize>) {
    let message = |bytes: Vec<u8>| frames::message(&bytes);
    match shape {
        Shape::Unary { size } | Shape::PingPong { size } => {
            let body = message(frames::echo(size));
            let len = body.len();
            (body, Some(len))
        }
        // More than the service gives.
        Shape::Error => (message(frames::stream_request(1, 2 << 20)), Some(0)),
        // Numbers up to 127 take one byte, as the 7 in `echo` does.
        Shape::Stream { count, size } => (
            message(frames::stream_request(count, size)),
            (count < 128).then(|| count * message(frames::echo(size)).len()),
        ),
        Shape::Collect { count, size } => {
            let reply = message(frames::summary(count, count * size)).len();
            (message(frames::echo(size)).repeat(count), Some(reply))
        }
    }
}
