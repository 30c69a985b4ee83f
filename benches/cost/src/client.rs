//! The client is measured: the other end answers with replies that were made beforehand.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;
use bytes::Bytes;
use peregrine::{Channel, Code, Encoding, MetadataMap, Request, Response, Status};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

use crate::Used;
use crate::answerer::Answerer;
use crate::counted_io::{CountedIo, SocketCounts};
use crate::frames;
use crate::other_end::OtherEnd;
use crate::scenario::{Codec, Scenario, Shape};

/// `rounds` calls by each of as many callers as the scenario has calls in a burst.
pub(crate) async fn run(scenario: &Scenario, rounds: usize) -> anyhow::Result<Used> {
    let (ours, theirs) = UnixStream::pair()?;
    let answering = tokio::spawn(OtherEnd::new(Answerer::new(ours, scenario).run()));
    let counts = Arc::new(SocketCounts::default());
    let socket = Mutex::new(Some(CountedIo::new(theirs, Arc::clone(&counts))));
    let builder = Channel::builder("http://127.0.0.1:1");
    let builder = if scenario.gzip { builder.compression(Encoding::Gzip) } else { builder };
    let channel = builder
        .connector(move || {
            let socket = socket.lock().unwrap_or_else(PoisonError::into_inner).take();
            async { socket.ok_or_else(|| io::Error::other("there is one connection only")) }
        })
        .initial_stream_window((1 << 31) - 1)
        .initial_connection_window((1 << 31) - 1)
        .connect()
        .await?;
    let mut metadata = MetadataMap::new();
    for (name, value) in frames::metadata(scenario.metadata) {
        metadata.append(&name, &value)?;
    }
    let plan = Plan { scenario: *scenario, metadata, rounds };
    let before = Used::so_far(&counts);
    let mut callers = JoinSet::new();
    for _ in 0..scenario.burst {
        match scenario.codec {
            Codec::Prost => callers.spawn(prost::call(channel.clone(), plan.clone())),
            Codec::Buffa | Codec::Bytes => callers.spawn(buffa::call(channel.clone(), plan.clone())),
        };
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    let used = Used::so_far(&counts).since(before);
    ensure!(!answering.is_finished(), "the other end has stopped: {:?}", answering.await);
    answering.abort();
    Ok(used)
}

/// What one caller does.
#[derive(Clone, Debug)]
struct Plan {
    scenario: Scenario,
    metadata: MetadataMap,
    rounds: usize,
}

impl Plan {
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if !self.metadata.is_empty() {
            *request.metadata_mut() = self.metadata.clone();
        }
        if self.scenario.deadline {
            request = request.timeout(std::time::Duration::from_secs(9));
        }
        request
    }
}

/// Calls one after the other.
async fn repeat<F, Fut>(rounds: usize, mut call: F) -> anyhow::Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = anyhow::Result<()>>,
{
    for _ in 0..rounds {
        call().await?;
    }
    Ok(())
}

fn refused<T>(answer: Result<Response<T>, Status>) -> anyhow::Result<()> {
    let code = answer.err().map(|status| status.code());
    ensure!(code == Some(Code::InvalidArgument), "the call ended with {code:?}");
    Ok(())
}

/// The same text for every codec; only the messages' module differs.
macro_rules! callers {
    ($module:ident, $name:literal) => {
        mod $module {
            use super::*;

            mod pb {
                peregrine::include_proto!($name);
                pub(super) use self::bench::*;
            }
            use self::pb::{BenchClient, EchoMsg, StreamReq};

            #[allow(
                clippy::needless_update,
                reason = "one codec's messages have a hidden field, the other's have not"
            )]
            fn echo(payload: &Bytes) -> EchoMsg {
                EchoMsg { payload: payload.clone(), id: 7, ..Default::default() }
            }

            pub(super) async fn call(channel: Channel, plan: Plan) -> anyhow::Result<()> {
                let client = &BenchClient::new(channel);
                let plan = &plan;
                match plan.scenario.shape {
                    Shape::Unary { size } => {
                        let payload = &payload(size);
                        repeat(plan.rounds, || unary(client, plan, payload)).await
                    }
                    Shape::Error => {
                        let payload = &payload(64);
                        let call = || async move { refused(client.echo(plan.request(echo(payload))).await) };
                        repeat(plan.rounds, call).await
                    }
                    Shape::Stream { count, size } => {
                        repeat(plan.rounds, || stream(client, plan, count, size)).await
                    }
                    Shape::Collect { count, size } => {
                        let payload = &payload(size);
                        repeat(plan.rounds, || collect(client, plan, count, payload)).await
                    }
                    Shape::PingPong { size } => ping_pong(client, plan, &payload(size)).await,
                }
            }

            async fn unary(client: &BenchClient, plan: &Plan, payload: &Bytes) -> anyhow::Result<()> {
                let reply = client.echo(plan.request(echo(payload))).await?;
                ensure!(reply.id == 7 && reply.payload.len() == payload.len(), "a wrong reply");
                Ok(())
            }

            #[allow(
                clippy::needless_update,
                reason = "one codec's messages have a hidden field, the other's have not"
            )]
            async fn stream(
                client: &BenchClient,
                plan: &Plan,
                count: usize,
                size: usize,
            ) -> anyhow::Result<()> {
                let request = StreamReq { count: count as i32, size: size as i32, ..Default::default() };
                let mut replies = client.stream(plan.request(request)).await?;
                let mut received = 0;
                while let Some(reply) = replies.message().await? {
                    ensure!(reply.payload.len() == size, "a wrong reply");
                    received += 1;
                }
                ensure!(received == count, "{received} messages in place of {count}");
                Ok(())
            }

            async fn collect(
                client: &BenchClient,
                plan: &Plan,
                count: usize,
                payload: &Bytes,
            ) -> anyhow::Result<()> {
                let messages = peregrine::iter(
                    std::iter::repeat_n(payload.clone(), count).map(|payload| echo(&payload)),
                );
                let summary = client.collect(plan.request(messages)).await?;
                ensure!(summary.count == count as i64, "a wrong reply");
                Ok(())
            }

            async fn ping_pong(client: &BenchClient, plan: &Plan, payload: &Bytes) -> anyhow::Result<()> {
                let (sender, replies) = client.bidi_sender();
                let mut replies = replies.await?;
                for _ in 0..plan.rounds {
                    sender.send(echo(payload)).await?;
                    let reply = replies.message().await?;
                    ensure!(reply.is_some_and(|reply| reply.id == 7), "a wrong reply");
                }
                Ok(())
            }
        }
    };
}

callers!(buffa, "buffa");
callers!(prost, "prost");

fn payload(size: usize) -> Bytes {
    Bytes::from(vec![0x5a; size])
}
