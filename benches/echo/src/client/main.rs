//! `bench-client ADDR MODE [key=value...]`
//!
//! Closed-loop load on the product's own client. MODE: unary, stream, collect. Keys, with their defaults: `size=256`
//! bytes of payload, `count=16` messages a stream, `conns=4`, `conc=128` calls at once in all, `warm=1` and `meas=5`
//! seconds, or `calls=N` instead of `meas` for so many calls whatever their time (a count of instructions needs that).
//! Prints one line: `rate=` calls a second, `cpu_us=` of this process a call, `p50_us=`, `p99_us=`, `errs=`; with
//! `pid=N`, also `server_cpu_us=` of that process a call.

mod worker;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use peregrine::Channel;
use peregrine_bench_echo::measure::args::{Args, USAGE};
use peregrine_bench_echo::measure::phase::{Measured, Phase, Window};
use tokio::task::JoinSet;

use self::worker::pb;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => return complain(&format!("{message}\nusage: bench-client {USAGE}"), 2),
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
    })
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
