//! `call-cost list`, `call-cost SCENARIO CALLS` and `call-cost memory ..` (see [`memory`])
//!
//! Makes `CALLS` calls of a scenario in one process and on one thread: the side that is measured at one end of a
//! socket pair, bytes made beforehand at the other. Prints what the measured side used from its first call to its last
//! on one line: `calls=`, `allocations=`, `bytes=` asked for, `reads=` and `writes=` of its socket.
//!
//! Two runs of different length give the cost of a call, without what a start costs. Under callgrind with
//! `--toggle-collect=*other_end_poll*` the other end's instructions are left out. `cargo xtask cost` does both.

mod answerer;
mod client;
mod counted_io;
mod frames;
mod memory;
mod other_end;
mod scenario;
mod server;

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use peregrine_testkit::CountingAllocator;

use self::counted_io::SocketCounts;
use self::scenario::{SCENARIOS, Scenario, Side};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

/// What the measured side has used so far.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    allocations: usize,
    bytes: usize,
    reads: usize,
    writes: usize,
}

impl Used {
    fn so_far(socket: &SocketCounts) -> Self {
        Self {
            allocations: HEAP.allocations(),
            bytes: HEAP.allocated_bytes(),
            reads: socket.reads(),
            writes: socket.writes(),
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            allocations: self.allocations - earlier.allocations,
            bytes: self.bytes - earlier.bytes,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(lines) => {
            say(&lines);
            ExitCode::SUCCESS
        }
        Err(error) => complain(&format!("call-cost: {error:#}")),
    }
}

fn run() -> anyhow::Result<String> {
    let mut words = std::env::args().skip(1);
    let name = words.next().context("usage: call-cost list | SCENARIO CALLS | memory ..")?;
    if name == "list" {
        return Ok(SCENARIOS.iter().map(Scenario::line).collect::<Vec<_>>().join("\n"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if name == "memory" {
        return runtime.block_on(memory::run(words));
    }
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name);
    let Some(scenario) = scenario else {
        bail!("no scenario is called `{name}`; `call-cost list` names them")
    };
    let calls: usize = words.next().context("how many calls?")?.parse().context("CALLS is a number")?;
    let rounds = calls.div_ceil(scenario.burst);
    let used = match scenario.side {
        Side::Server => runtime.block_on(server::run(scenario, rounds))?,
        Side::Client => runtime.block_on(client::run(scenario, rounds))?,
    };
    let Used { allocations, bytes, reads, writes } = used;
    let calls = rounds * scenario.burst;
    Ok(format!("calls={calls} allocations={allocations} bytes={bytes} reads={reads} writes={writes}"))
}

#[expect(clippy::print_stdout, reason = "the program's result")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "the program's only words when it fails")]
fn complain(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::FAILURE
}
