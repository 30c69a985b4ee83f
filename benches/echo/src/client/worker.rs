//! One caller: a call after the other, each checked.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use peregrine::{Status, iter};
use peregrine_bench_echo::measure::args::{Args, Mode};
use peregrine_bench_echo::measure::phase::{Measured, Phase};

pub(crate) mod pb {
    peregrine::include_proto!("buffa");
    pub(crate) use self::bench::*;
}

pub(crate) async fn run(client: pb::BenchClient, args: Args, phase: Arc<Phase>) -> Measured {
    let payload = Bytes::from(vec![0x5a; args.size]);
    let mut measured = Measured::default();
    // The end of a call is the beginning of the next one.
    let mut begun = Instant::now();
    while let Some(is_measured) = phase.next_call() {
        let right = match args.mode {
            Mode::Unary => unary(&client, &payload).await,
            Mode::Stream => stream(&client, &args).await,
            Mode::Collect => collect(&client, &args, &payload).await,
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

async fn unary(client: &pb::BenchClient, payload: &Bytes) -> Result<bool, Status> {
    let reply = client.echo(pb::EchoMsg { payload: payload.clone(), id: 7, ..Default::default() }).await?;
    Ok(reply.id == 7 && reply.payload.len() == payload.len())
}

async fn stream(client: &pb::BenchClient, args: &Args) -> Result<bool, Status> {
    let request = pb::StreamReq { count: args.count as i32, size: args.size as i32, ..Default::default() };
    let mut replies = client.stream(request).await?;
    let (mut count, mut right) = (0, true);
    while let Some(reply) = replies.message().await? {
        count += 1;
        right &= reply.id == count && reply.payload.len() == args.size;
    }
    Ok(right && count == args.count as i64)
}

async fn collect(client: &pb::BenchClient, args: &Args, payload: &Bytes) -> Result<bool, Status> {
    let payload = payload.clone();
    let messages = (1..=args.count as i64).map(move |id| pb::EchoMsg {
        payload: payload.clone(),
        id,
        ..Default::default()
    });
    let summary = client.collect(iter(messages)).await?;
    Ok(summary.count == args.count as i64 && summary.bytes == (args.count * args.size) as i64)
}
