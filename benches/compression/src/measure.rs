//! Servers started, called in turn, and looked at from outside.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use peregrine::observe::{Direction, MessageEvent};
use peregrine::{Channel, Observe};

use crate::orders;
use crate::proto::pages::{PageRequest, PagesClient};

/// Calls of one round; a round is some tenths of a second.
const CALLS: u32 = 300;
/// Rounds that each server has, in turn with the others. The median is told.
const ROUNDS: usize = 9;
/// The processor that servers run on; the client has another one.
const SERVER_CPU: &str = "0";

/// Measures every server and prints a table.
pub(crate) async fn run(tonic: &Path) -> anyhow::Result<()> {
    let ours = std::env::current_exe()?;
    let mut contenders = vec![
        Contender::start("peregrine, level 1 (its default)", &ours, &["serve"], &["1"]).await?,
        Contender::start("peregrine, level 6", &ours, &["serve"], &["6"]).await?,
        Contender::start("tonic 0.14.9, level 6 (its only one)", tonic, &[], &[]).await?,
    ];
    // Warm-up, and what is compared has to be the same.
    for contender in &mut contenders {
        contender.round(false).await?;
        contender.round(true).await?;
    }
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            for with_gzip in [false, true] {
                let cost = contender.round(with_gzip).await?;
                contender.costs[usize::from(with_gzip)].push(cost);
            }
        }
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} bytes a reply, {ROUNDS} rounds of {CALLS} calls each, medians\n", orders::PAGE)?;
    writeln!(out, "| server | bytes on the wire | of raw | CPU a call | of it without gzip |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for contender in &contenders {
        let [plain, gzip] = contender.costs.clone().map(median);
        let wire = contender.wire_len.load(Ordering::Relaxed);
        let share = 100.0 * wire as f64 / orders::PAGE as f64;
        writeln!(out, "| {} | {wire} | {share:.1} % | {gzip:.1} us | {plain:.1} us |", contender.name)?;
    }
    Ok(())
}

/// A server, and channels to it.
struct Contender {
    name: &'static str,
    process: Process,
    /// Without gzip and with it.
    channels: [Channel; 2],
    /// Of the last compressed reply.
    wire_len: Arc<AtomicUsize>,
    /// Microseconds of processor time a call, round by round, without gzip and with it.
    costs: [Vec<f64>; 2],
}

impl Contender {
    async fn start(
        name: &'static str,
        program: &Path,
        before: &[&str],
        after: &[&str],
    ) -> anyhow::Result<Self> {
        // Free a moment ago; nobody else is expected to want it.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut command = Command::new("taskset");
        command.args(["-c", SERVER_CPU]).arg(program).args(before).arg(port.to_string()).args(after);
        let process = Process(command.spawn().context("could not start taskset, of util-linux")?);
        let mut tries = 0;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            tries += 1;
            ensure!(tries < 200, "{name} does not listen");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let wire_len = Arc::new(AtomicUsize::new(0));
        let target = format!("http://127.0.0.1:{port}");
        let plain = Channel::builder(&target).accept_encodings([]).connect().await?;
        let observer = WireLen(Arc::clone(&wire_len));
        let gzip = Channel::builder(&target).accept_encodings([peregrine::Encoding::Gzip]);
        let gzip = gzip.observe(observer).connect().await?;
        Ok(Self { name, process, channels: [plain, gzip], wire_len, costs: [Vec::new(), Vec::new()] })
    }

    /// Processor time of the server for each call of a round, in microseconds.
    async fn round(&mut self, with_gzip: bool) -> anyhow::Result<f64> {
        let client = PagesClient::new(self.channels[usize::from(with_gzip)].clone());
        let before = self.process.cpu()?;
        for _ in 0..CALLS {
            let reply = client.get(PageRequest::default()).await?;
            ensure!(reply.was_compressed() == with_gzip, "{}: compressed: {}", self.name, !with_gzip);
            ensure!(reply.get_ref().orders.len() == orders::PAGE, "{}: another page", self.name);
        }
        let used = self.process.cpu()?.saturating_sub(before);
        Ok(used.as_secs_f64() * 1e6 / f64::from(CALLS))
    }
}

/// Ended with the value.
struct Process(Child);

impl Process {
    /// Time that its threads have run, user and system, as the scheduler counts it.
    fn cpu(&self) -> anyhow::Result<Duration> {
        let mut nanos = 0;
        // `taskset` becomes the program it starts, so the id is the server's.
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let Some(first) = text.split_whitespace().next() else { bail!("schedstat is empty") };
            nanos += first.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself, which the measurement has noticed.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Notes how long the last message was on the wire.
#[derive(Debug)]
struct WireLen(Arc<AtomicUsize>);

impl Observe for WireLen {
    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, event: &MessageEvent<'_>) {
        if event.direction == Direction::Received {
            self.0.store(event.size.wire_len, Ordering::Relaxed);
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
