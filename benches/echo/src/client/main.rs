//! `bench-client ADDR MODE [key=value...]`
//!
//! Closed-loop load on the product's own client. MODE: unary, stream, collect. Keys, with their defaults: `size=256`
//! bytes of payload, `count=16` messages a stream, `conns=4`, `conc=128` calls at once in all, `warm=1` and `meas=5`
//! seconds, or `calls=N` instead of `meas` for so many calls whatever their time (a count of instructions needs that).
//! Prints one line: `rate=` calls a second, `cpu_us=` of this process a call, `p50_us=`, `p99_us=`, `errs=`.

mod args;
mod cpu;
mod worker;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use peregrine::Channel;
use tokio::task::JoinSet;

use self::args::{Args, USAGE};
use self::worker::{Measured, Phase, pb};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => return complain(&format!("{message}\n{USAGE}"), 2),
    };
    match run(args) {
        Ok(line) => say(&line),
        Err(error) => complain(&format!("{error:#}"), 1),
    }
}

fn run(args: Args) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let mut clients = Vec::new();
        for _ in 0..args.conns {
            let channel = Channel::builder(format!("http://{}", args.address).as_str())
                .max_receive_message_size(64 << 20)
                .connect()
                .await?;
            clients.push(pb::BenchClient::new(channel));
        }
        let phase = Arc::new(Phase::new(args.calls));
        let mut workers = JoinSet::new();
        for number in 0..args.conc {
            workers.spawn(worker::run(
                clients[number % args.conns].clone(),
                args.clone(),
                Arc::clone(&phase),
            ));
        }
        tokio::time::sleep(args.warm).await;
        let (begun, cpu) = (Instant::now(), cpu::used());
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
        let (elapsed, cpu) = (begun.elapsed(), cpu::used().saturating_sub(cpu));
        while let Some(worker) = workers.join_next().await {
            measured.add(worker?);
        }
        Ok(report(measured, elapsed, cpu))
    })
}

fn report(mut measured: Measured, elapsed: Duration, cpu: Duration) -> String {
    let calls = measured.latencies.len();
    let mut percentile = |share: f64| {
        let index = ((calls as f64 * share) as usize).min(calls.saturating_sub(1));
        if calls == 0 {
            return 0.0;
        }
        f64::from(*measured.latencies.select_nth_unstable(index).1) / 1e3
    };
    let (median, tail) = (percentile(0.5), percentile(0.99));
    format!(
        "rate={:.1} cpu_us={:.3} p50_us={:.1} p99_us={:.1} errs={}",
        calls as f64 / elapsed.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / calls.max(1) as f64,
        median,
        tail,
        measured.errors
    )
}

#[expect(clippy::print_stdout, reason = "the program's result")]
fn say(line: &str) -> ExitCode {
    println!("{line}");
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "the program's only words when it fails")]
fn complain(message: &str, code: u8) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(code)
}
