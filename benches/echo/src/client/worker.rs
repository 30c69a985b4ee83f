//! One caller: a call after the other, each checked.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Instant;

use bytes::Bytes;
use peregrine::{Status, iter};

use crate::args::{Args, Mode};

pub(crate) mod pb {
    peregrine::include_proto!("buffa");
    pub(crate) use self::bench::*;
}

/// Where the run is.
#[derive(Debug)]
pub(crate) struct Phase {
    stage: AtomicU8,
    /// Measured calls that are still to be made.
    left: AtomicI64,
}

impl Phase {
    const WARM: u8 = 0;
    const MEASURE: u8 = 1;
    const STOP: u8 = 2;

    /// Warming up. `calls`: how many calls are measured; until [`stop`](Self::stop) if `None`.
    pub(crate) fn new(calls: Option<u64>) -> Self {
        let left = calls.and_then(|calls| calls.try_into().ok()).unwrap_or(i64::MAX);
        Self { stage: AtomicU8::new(Self::WARM), left: AtomicI64::new(left) }
    }

    pub(crate) fn measure(&self) {
        self.stage.store(Self::MEASURE, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.stage.store(Self::STOP, Ordering::Relaxed);
    }

    /// Whether the next call is measured; `None` if there is none.
    fn next_call(&self) -> Option<bool> {
        match self.stage.load(Ordering::Relaxed) {
            Self::WARM => Some(false),
            Self::MEASURE => (self.left.fetch_sub(1, Ordering::Relaxed) > 0).then_some(true),
            _ => None,
        }
    }
}

/// What calls took while they were measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// In nanoseconds.
    pub(crate) latencies: Vec<u32>,
    /// Calls that failed or brought a wrong reply, in the whole run.
    pub(crate) errors: u64,
}

impl Measured {
    pub(crate) fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.errors += other.errors;
    }
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
