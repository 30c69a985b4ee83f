//! `soak [--cuts] [--seconds N] [--connections N] [--streams N]`
//!
//! One process, a server and its clients over loopback TCP: `streams` callers over `connections` connections, all
//! four call shapes, one call in eight cancelled, one in eight with a deadline that it may miss. Afterwards no task,
//! no handler and no connection may be left, and the heap may not have grown while the load was steady.
//! With `--cuts` a proxy stands in between and cuts connections: see [`cuts`].

mod cuts;
mod load;
mod proxy;
mod service;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use peregrine::{Channel, Server};
use peregrine_testkit::CountingAllocator;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use self::load::{Tally, caller};
use self::service::{Running, Worker};

/// The messages and the service.
#[allow(missing_docs, reason = "generated; the proto documents it")]
mod pb {
    peregrine::include_proto!();
}

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

/// Steady load may move the heap by this much between its first and its last quarter: queues breathe.
const BREATHING: f64 = 1.25;
/// Bytes that may be left when everything has ended: the runtime, its thread-local pools, this program.
const LEFT_OVER: usize = 16 << 20;

/// How long the last tasks may take to end; a closing connection lingers for a second.
const SETTLE: Duration = Duration::from_secs(10);

struct Plan {
    cuts: bool,
    seconds: u64,
    connections: usize,
    streams: usize,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

fn run() -> Result<()> {
    let plan = parse(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async { if plan.cuts { cuts::run(&plan).await } else { soak(&plan).await } })
}

async fn soak(plan: &Plan) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let target = format!("http://{}", listener.local_addr()?);
    let running = Running::default();
    let (stop_server, stopped) = oneshot::channel::<()>();
    let server = Server::builder()
        .add_service(pb::soak::SoakServer::new(Worker(running.clone())))
        .max_concurrent_streams(plan.streams as u32)
        .serve_with_shutdown(listener, async {
            let _ = stopped.await;
        });
    let server = tokio::spawn(server);

    let tally = Arc::new(Tally::default());
    let mut callers = JoinSet::new();
    let mut channels = Vec::new();
    for _ in 0..plan.connections {
        channels.push(Channel::builder(target.as_str()).build()?);
    }
    for number in 0..plan.streams {
        let client = pb::soak::SoakClient::new(channels[number % plan.connections].clone());
        let tally = Arc::clone(&tally);
        callers.spawn(async move { caller(client, &tally, number as u64 + 1).await });
    }
    drop(channels);

    let heap = watch(plan, &mut callers).await?;
    tally.stop.store(true, Ordering::Relaxed);
    while let Some(ended) = callers.join_next().await {
        ended??;
    }
    // The last channel is gone with its caller, and the server sees each connection close.
    let _ = stop_server.send(());
    let report = server.await??;
    ensure!(report.is_clean() && report.cut_connections == 0, "the server had to cut: {report}");
    ensure!(running.count() == 0, "{} handlers still run", running.count());
    let tasks = settled(|| Handle::current().metrics().num_alive_tasks(), 0).await;
    ensure!(tasks == 0, "{tasks} tasks are left");
    let left = HEAP.live_bytes();
    ensure!(left < LEFT_OVER, "{left} bytes of heap are left");
    say(plan, &tally, &heap, left);
    Ok(())
}

/// Samples the heap each tenth of the run; fails when a caller failed.
async fn watch(plan: &Plan, callers: &mut JoinSet<Result<()>>) -> Result<Vec<usize>> {
    const SAMPLES: usize = 20;
    let pause = Duration::from_secs(plan.seconds) / SAMPLES as u32;
    let mut heap = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        tokio::time::sleep(pause).await;
        heap.push(HEAP.live_bytes());
        if let Some(ended) = callers.try_join_next() {
            ended.context("a caller panicked")??;
            bail!("a caller ended before it was told to");
        }
    }
    let mean = |part: &[usize]| part.iter().sum::<usize>() as f64 / part.len() as f64;
    let (early, late) = (mean(&heap[SAMPLES / 4..SAMPLES / 2]), mean(&heap[SAMPLES * 3 / 4..]));
    ensure!(late <= early * BREATHING, "the heap grew from {early:.0} to {late:.0} bytes under steady load");
    Ok(heap)
}

/// The value of `look` once it is `wanted`, or after [`SETTLE`]: a connection that closes waits for its peer's close.
async fn settled(look: impl Fn() -> usize, wanted: usize) -> usize {
    let begun = Instant::now();
    while look() != wanted && begun.elapsed() < SETTLE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    look()
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Plan> {
    let mut plan = Plan { cuts: false, seconds: 60, connections: 100, streams: 10_000 };
    while let Some(word) = words.next() {
        if word == "--cuts" {
            plan.cuts = true;
            continue;
        }
        let value = words.next().with_context(|| format!("{word} wants a number"))?;
        let number: u32 = value.parse().with_context(|| format!("{word} wants a number, not {value}"))?;
        ensure!(number > 0, "{word} wants a positive number");
        match word.as_str() {
            "--seconds" => plan.seconds = u64::from(number),
            "--connections" => plan.connections = number as usize,
            "--streams" => plan.streams = number as usize,
            _ => bail!("what is {word}? usage: soak [--cuts] [--seconds N] [--connections N] [--streams N]"),
        }
    }
    Ok(plan)
}

#[expect(clippy::print_stdout, reason = "the program's result")]
fn say(plan: &Plan, tally: &Tally, heap: &[usize], left: usize) {
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "soak: {} streams over {} connections for {} s: {} answered, {} cancelled, {} past their deadline; \
         heap {} to {} KiB, {} KiB at the end; no task, handler or connection left",
        plan.streams,
        plan.connections,
        plan.seconds,
        of(&tally.answered),
        of(&tally.cancelled),
        of(&tally.expired),
        heap.iter().min().unwrap_or(&0) / 1024,
        heap.iter().max().unwrap_or(&0) / 1024,
        left / 1024,
    );
}

#[expect(clippy::print_stderr, reason = "the program's only words when it fails")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("soak: {error:#}");
    ExitCode::FAILURE
}
