//! `tonic-client ADDR unary|stream|collect [key=value...]`: what `bench-client` does, on tonic's client. The words,
//! the windows and the line at the end are the same code.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use self::measure::args::{Args, Mode, USAGE};
use self::measure::phase::{Measured, Phase, Window};
use self::pb::bench_client::BenchClient;
use self::pb::{EchoMsg, StreamReq};

#[path = "../../../benches/echo/src/measure/mod.rs"]
mod measure;
mod pb {
    tonic::include_proto!("bench");
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse(std::env::args().skip(1))
        .map_err(|error| anyhow::anyhow!("{error}\nusage: tonic-client {USAGE}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!("{}", runtime.block_on(run(args))?);
    Ok(())
}

async fn run(args: Args) -> anyhow::Result<String> {
    let mut clients = Vec::new();
    for _ in 0..args.conns {
        let channel = Endpoint::from_shared(format!("http://{}", args.address))?.connect().await?;
        clients.push(BenchClient::new(channel).max_decoding_message_size(64 << 20));
    }
    let phase = Arc::new(Phase::new(args.calls));
    let mut workers = JoinSet::new();
    for number in 0..args.conc {
        workers.spawn(work(clients[number % args.conns].clone(), args.clone(), Arc::clone(&phase)));
    }
    tokio::time::sleep(args.warm).await;
    let window = Window::open(args.pid);
    phase.measure();
    let mut measured = Measured::default();
    if args.calls.is_some() {
        while let Some(worker) = workers.join_next().await {
            measured.add(worker?);
        }
    } else {
        tokio::time::sleep(args.meas).await;
        phase.stop();
    }
    let spent = window.close();
    while let Some(worker) = workers.join_next().await {
        measured.add(worker?);
    }
    Ok(measured.report(&spent))
}

async fn work(mut client: BenchClient<Channel>, args: Args, phase: Arc<Phase>) -> Measured {
    let payload = Bytes::from(vec![0x5a; args.size]);
    let mut measured = Measured::default();
    let mut begun = Instant::now();
    while let Some(is_measured) = phase.next_call() {
        let right = match args.mode {
            Mode::Unary => unary(&mut client, &payload).await,
            Mode::Stream => stream(&mut client, &args).await,
            Mode::Collect => collect(&mut client, &args, &payload).await,
            Mode::Idle | Mode::Open => Err(Status::unimplemented("bench-load has these modes")),
        };
        if !matches!(right, Ok(true)) {
            measured.errors += 1;
        }
        let ended = Instant::now();
        if is_measured {
            measured.latencies.push((ended - begun).as_nanos().min(u128::from(u32::MAX)) as u32);
        }
        begun = ended;
    }
    measured
}

async fn unary(client: &mut BenchClient<Channel>, payload: &Bytes) -> Result<bool, Status> {
    let reply = client.echo(EchoMsg { payload: payload.clone(), id: 7 }).await?.into_inner();
    Ok(reply.id == 7 && reply.payload.len() == payload.len())
}

async fn stream(client: &mut BenchClient<Channel>, args: &Args) -> Result<bool, Status> {
    let request = StreamReq { count: args.count as i32, size: args.size as i32 };
    let mut replies = client.stream(request).await?.into_inner();
    let (mut count, mut right) = (0, true);
    while let Some(reply) = replies.message().await? {
        count += 1;
        right &= reply.id == count && reply.payload.len() == args.size;
    }
    Ok(right && count == args.count as i64)
}

async fn collect(client: &mut BenchClient<Channel>, args: &Args, payload: &Bytes) -> Result<bool, Status> {
    let payload = payload.clone();
    let messages = (1..=args.count as i64).map(move |id| EchoMsg { payload: payload.clone(), id });
    let summary = client.collect(tokio_stream::iter(messages)).await?.into_inner();
    Ok(summary.count == args.count as i64 && summary.bytes == (args.count * args.size) as i64)
}
