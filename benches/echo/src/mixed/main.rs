//! `bench-mixed [threads=4] [share=0.3] [seconds=5] [conns=8]`
//!
//! Whether slow calls hurt their neighbours. A server on tokio's multi-thread runtime with `threads` workers gets `share`
//! of the calls that it can answer at most, slow ones among them, at an even pace, whatever it answers meanwhile. First
//! all of them are fast (an echo of 64 B); then one in a hundred is of another method, which takes 5 ms: by sleeping, and
//! in a third run by computing. Prints, for each run, what the fast calls took from the instant at which they were due, a line each:
//! `slow=`, `rate=` of all calls a second, `p50_us=`, `p99_us=`, `p999_us=`, `errs=`. Server and load share the process.

mod load;
mod service;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use peregrine::{Channel, Server};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use self::load::Load;
use self::service::{Mixed, Slow, pb};

fn main() -> ExitCode {
    match Args::parse(std::env::args().skip(1)).and_then(|args| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("{error:#}")),
    }
}

struct Args {
    threads: usize,
    share: f64,
    length: Duration,
    conns: usize,
}

impl Args {
    fn parse(words: impl Iterator<Item = String>) -> Result<Self> {
        let mut args = Self { threads: 4, share: 0.3, length: Duration::from_secs(5), conns: 8 };
        for word in words {
            let (key, value) = word.split_once('=').with_context(|| format!("{word} is no key=value"))?;
            match key {
                "threads" => args.threads = value.parse()?,
                "share" => args.share = value.parse()?,
                "seconds" => args.length = Duration::try_from_secs_f64(value.parse()?)?,
                "conns" => args.conns = value.parse()?,
                _ => bail!("unknown key {key}"),
            }
        }
        if args.threads == 0 || args.conns == 0 {
            bail!("threads and conns are at least 1");
        }
        Ok(args)
    }
}

fn run(args: &Args) -> Result<()> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = Builder::new_multi_thread().worker_threads(args.threads).enable_all().build()?;
    let slow = Slow::default();
    let server = Server::builder()
        .max_concurrent_streams(u32::MAX >> 1)
        .add_service(pb::BenchServer::new(Mixed::new(slow.clone())));
    runtime.spawn(async move { server.serve(TcpListener::from_std(listener).map_err(load::broken)?).await });
    // A thread of its own: the load is no work of the server's.
    let (length, share, conns) = (args.length, args.share, args.conns);
    let loading = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut clients = Vec::new();
            for _ in 0..conns {
                let channel = Channel::builder(format!("http://{address}").as_str()).connect().await?;
                clients.push(pb::BenchClient::new(channel));
            }
            let load = Load::new(clients);
            slow.set("compute");
            let most = load.capacity(length / 2).await?;
            for kind in ["none", "sleep", "compute"] {
                slow.set(kind);
                let result = load.pace(most * share, length, kind != "none").await?;
                say(&format!("slow={kind} {result}"));
            }
            Ok(())
        })
    });
    loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[expect(clippy::print_stdout, reason = "the program's result")]
fn say(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "the program's only words when it fails")]
fn complain(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
