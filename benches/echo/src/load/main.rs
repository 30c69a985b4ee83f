//! `bench-load ADDR MODE [key=value...]`
//!
//! Closed-loop load on bare sockets, for any server of the bench service: one thread, frames made once, and next to no
//! parsing, so that it costs far less than the server that it drives. Words and output are those of `bench-client`.
//!
//! Every byte of every reply is compared with what it has to be, and a reply has to end with its stream. What the
//! trailers say is not read, so a server is first asked by a whole client whether it really answers.
//!
//! Two modes measure memory: `idle` makes one call on each of `conns` connections, `open` leaves `conc` calls open after
//! one message each. Once all were answered the program waits `meas` seconds and prints how much larger the process
//! `pid=N` has become: `units=`, `bytes=` for each, `errs=`.

mod connection;
mod frames;
mod parser;
mod plan;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use mio::{Events, Poll};
use peregrine_bench_echo::measure::args::{Args, Mode, USAGE};
use peregrine_bench_echo::measure::phase::{Measured, Window};
use peregrine_bench_echo::measure::resident;

use self::connection::Connection;
use self::plan::Plan;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => return complain(&format!("{message}\nusage: bench-load {USAGE}"), 2),
    };
    match run(&args) {
        Ok(line) => say(&line),
        Err(error) => complain(&format!("{error:#}"), 1),
    }
}

fn run(args: &Args) -> Result<String> {
    ensure!(args.calls.is_none(), "calls= is bench-client's");
    if matches!(args.mode, Mode::Idle | Mode::Open) {
        return hold(args);
    }
    let mut load = Load::connect(args)?;
    load.turn(args.warm)?;
    load.tally = Tally { errors: load.tally.errors, is_measured: true, ..Tally::default() };
    let window = Window::open(args.pid);
    load.turn(args.meas)?;
    let spent = window.close();
    let measured = Measured { latencies: load.tally.latencies, errors: load.tally.errors };
    Ok(measured.report(&spent))
}

/// Opens connections or calls, and sees what the server holds for them.
fn hold(args: &Args) -> Result<String> {
    let server = args.pid.context("pid= is missing: whose memory?")?;
    let (units, calls) = match args.mode {
        Mode::Idle => (args.conns, args.conns),
        _ => (args.conc, args.conc),
    };
    let before = resident::of(server);
    let mut load = Load::connect(&Args { conc: calls, ..args.clone() })?;
    let end = Instant::now() + PATIENCE;
    while load.tally.done < units as u64 {
        ensure!(Instant::now() < end, "{} of {units} were answered", load.tally.done);
        load.turn(Duration::from_millis(100))?;
    }
    load.turn(args.meas)?;
    let grown = resident::of(server).saturating_sub(before);
    Ok(format!("units={units} bytes={:.0} errs={}", grown as f64 / units as f64, load.tally.errors))
}

/// All connections and what they share.
struct Load {
    poll: Poll,
    connections: Vec<Connection>,
    plan: Plan,
    tally: Tally,
    /// What is read lies here until it is parsed, a moment later.
    input: Vec<u8>,
    epoch: Instant,
}

/// What was counted.
#[derive(Default)]
pub(crate) struct Tally {
    /// Of calls that ended while they were measured, in nanoseconds.
    pub(crate) latencies: Vec<u32>,
    pub(crate) errors: u64,
    /// Calls that were answered.
    pub(crate) done: u64,
    pub(crate) is_measured: bool,
}

impl Load {
    fn connect(args: &Args) -> Result<Self> {
        let poll = Poll::new()?;
        let mut connections = Vec::with_capacity(args.conns);
        for number in 0..args.conns {
            // The remainder goes to the first ones.
            let calls = args.conc / args.conns + usize::from(number < args.conc % args.conns);
            connections.push(Connection::open(args.address, calls, poll.registry(), number)?);
        }
        Ok(Self {
            poll,
            connections,
            plan: Plan::new(args),
            tally: Tally::default(),
            input: vec![0; INPUT],
            epoch: Instant::now(),
        })
    }

    /// Makes calls for so long.
    fn turn(&mut self, length: Duration) -> Result<()> {
        let end = Instant::now() + length;
        let mut events = Events::with_capacity(EVENTS);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.poll.poll(&mut events, Some(left))?;
            for event in &events {
                let connection = &mut self.connections[event.token().0];
                let now = self.epoch.elapsed().as_nanos() as u64;
                connection.on_ready(event, &mut self.input, &self.plan, &mut self.tally, now)?;
            }
        }
    }
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

/// Bytes read at once: as much as a socket's buffer holds.
const INPUT: usize = 256 << 10;
const EVENTS: usize = 256;
/// How long a server may take to open what it is to hold.
const PATIENCE: Duration = Duration::from_mins(1);
