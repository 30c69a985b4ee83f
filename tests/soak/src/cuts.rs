//! `soak --cuts`: mixed load through a proxy that cuts, stalls and slices connections, with quiet times in between.
//!
//! Every call must end, once, with a right answer or a right status: UNAVAILABLE for a connection that was lost,
//! DEADLINE_EXCEEDED only with a deadline. A call that begins in a quiet time must succeed. No handler may see a call
//! twice, since nothing is made again that a server may have begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use peregrine::{Channel, Code, Server, Status};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::load::{Dice, Tally, one_call, some_work, with_deadline};
use crate::pb;
use crate::proxy::{self, Faults};
use crate::service::{Running, Worker};
use crate::{HEAP, LEFT_OVER, Plan, settled};

/// Faults for so long, then none for so long, in turn.
const NOISY: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_secs(10);
/// A fault that began just before the quiet time may still be felt for so long.
const AFTERMATH: Duration = Duration::from_secs(4);
/// What is left of a quiet time then.
const UNDISTURBED: Duration = Duration::from_secs(6);
/// A pause that means that the machine is busy with other things.
const STARVED: Duration = Duration::from_secs(1);
/// How long a connection waits for its peer's first words, and some.
const SILENCE: Duration = Duration::from_secs(15);
/// No call takes longer, whatever happens to its connection: the longest stall and the load are far below.
const LONGEST: Duration = Duration::from_mins(1);

/// What came of the calls, beside what [`Tally`] has.
#[derive(Debug, Default)]
struct Ends {
    tally: Tally,
    unavailable: AtomicU64,
    begun: AtomicU64,
    /// Calls that began in a quiet time, all of which succeeded.
    undisturbed: AtomicU64,
}

pub(crate) async fn run(plan: &Plan) -> Result<()> {
    let running = Running::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop_server, stopped) = oneshot::channel::<()>();
    let server = Server::builder()
        .add_service(pb::soak::SoakServer::new(Worker(running.clone())))
        .max_concurrent_streams(plan.streams as u32)
        .serve_with_shutdown(listener, async {
            let _ = stopped.await;
        });
    let server = tokio::spawn(server);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let target = format!("http://{}", listener.local_addr()?);
    let faults = Arc::new(Faults::default());
    let proxy = tokio::spawn(proxy::run(listener, address, Arc::clone(&faults)));

    let ends = Arc::new(Ends::default());
    let clock = Arc::new(Phases::new());
    let mut callers = JoinSet::new();
    let channels = (0..plan.connections)
        .map(|_| Channel::builder(target.as_str()).build())
        .collect::<Result<Vec<_>, _>>()?;
    for number in 0..plan.streams {
        let client = pb::soak::SoakClient::new(channels[number % plan.connections].clone());
        let (ends, clock) = (Arc::clone(&ends), Arc::clone(&clock));
        callers.spawn(async move { caller(client, &ends, &clock, number as u64 + 1).await });
    }
    drop(channels);

    let mut looked = Instant::now();
    let end = looked + Duration::from_secs(plan.seconds);
    while looked < end {
        clock.note_pause(looked.elapsed());
        looked = Instant::now();
        faults.quiet.store(clock.is_quiet(), Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(50)).await;
        if let Some(ended) = callers.try_join_next() {
            ended.context("a caller panicked")??;
            bail!("a caller ended before it was told to");
        }
    }
    faults.quiet.store(true, Ordering::Relaxed);
    ends.tally.stop.store(true, Ordering::Relaxed);
    while let Some(ended) = callers.join_next().await {
        ended.context("a caller panicked")??;
    }
    let _ = stop_server.send(());
    let report = server.await??;
    proxy.abort();
    let _ = proxy.await;
    ensure!(report.cut_connections == 0, "the server had to cut: {report}");
    let handlers = settled(|| running.count() as usize, 0).await;
    ensure!(handlers == 0, "{handlers} handlers still run");
    ensure!(running.repeated() == 0, "{} calls were handled twice", running.repeated());
    let tasks = settled(|| tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0).await;
    ensure!(tasks == 0, "{tasks} tasks are left");
    let left = HEAP.live_bytes();
    ensure!(left < LEFT_OVER, "{left} bytes of heap are left");
    say(plan, &ends, &faults, left)
}

/// Which part of the turn of noise and quiet it is.
struct Phases {
    began: Instant,
    /// When the machine last had no time for us, in milliseconds since `began`.
    starved_at: AtomicU64,
}

impl Phases {
    fn new() -> Self {
        Phases { began: Instant::now(), starved_at: AtomicU64::new(0) }
    }

    /// A task that wanted to run every 50 ms has not for so long. What the timers of a process say that gets no
    /// processor is nobody's fault.
    fn note_pause(&self, pause: Duration) {
        if pause > STARVED {
            self.starved_at.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
        }
    }

    /// Whether the timeouts of connections could run out for want of a processor.
    fn is_starved(&self) -> bool {
        let at = Duration::from_millis(self.starved_at.load(Ordering::Relaxed));
        !at.is_zero() && self.began.elapsed().saturating_sub(at) < SILENCE
    }

    fn in_turn(&self) -> Duration {
        let turn = (NOISY + QUIET).as_nanos();
        Duration::from_nanos((self.began.elapsed().as_nanos() % turn) as u64)
    }

    fn is_quiet(&self) -> bool {
        self.in_turn() >= NOISY
    }

    /// A call that begins now must not notice anything, if it ends while it is quiet.
    fn is_undisturbed(&self) -> bool {
        self.in_turn() >= NOISY + AFTERMATH && !self.is_starved()
    }
}

/// Calls until told to stop. Fails on any end of a call that is wrong.
async fn caller(client: pb::soak::SoakClient, ends: &Ends, clock: &Phases, number: u64) -> Result<()> {
    let mut dice = Dice::new(number);
    let mut calls = number << 32;
    let tally = &ends.tally;
    let add = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    while !tally.stop.load(Ordering::Relaxed) {
        calls += 1;
        add(&ends.begun);
        let work = some_work(&mut dice, calls);
        let shape = dice.roll(4);
        let (begun, clean) = (Instant::now(), clock.is_undisturbed());
        let outcome = match dice.roll(8) {
            0 => {
                let patience = Duration::from_micros(500 + dice.roll(5_000));
                let Ok(outcome) = tokio::time::timeout(patience, one_call(&client, &work, shape)).await
                else {
                    add(&tally.cancelled);
                    continue;
                };
                outcome
            }
            1 => {
                let timeout = Duration::from_millis(1 + dice.roll(50));
                let call = with_deadline(&client, &work, timeout);
                let ended =
                    tokio::time::timeout(LONGEST, call).await.context("a call with a deadline hangs")?;
                match ended {
                    Err(status) if status.code() == Code::DeadlineExceeded => {
                        add(&tally.expired);
                        continue;
                    }
                    ended => ended.map_err(anyhow::Error::from),
                }
            }
            _ => {
                let call = one_call(&client, &work, shape);
                tokio::time::timeout(LONGEST, call).await.with_context(|| format!("shape {shape} hangs"))?
            }
        };
        let clean = clean && begun.elapsed() < UNDISTURBED && clock.is_quiet() && !clock.is_starved();
        match outcome {
            Ok(()) => {
                add(&tally.answered);
                if clean {
                    add(&ends.undisturbed);
                }
            }
            Err(error) => {
                let code = error.downcast_ref::<Status>().map(Status::code);
                let right = code == Some(Code::Unavailable) && !clean;
                ensure!(right, "shape {shape}, undisturbed {clean}: {error:?}");
                add(&ends.unavailable);
                // As a client with a retry policy would, so that a lost connection is no busy loop.
                tokio::time::sleep(Duration::from_millis(dice.roll(20))).await;
            }
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the program's result")]
fn say(plan: &Plan, ends: &Ends, faults: &Faults, left: usize) -> Result<()> {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let Ends { tally, unavailable, begun, undisturbed } = ends;
    let ended = of(&tally.answered) + of(&tally.cancelled) + of(&tally.expired) + of(unavailable);
    ensure!(ended == of(begun), "{} calls began and {ended} ended", of(begun));
    ensure!(of(&faults.cuts) > 0 && of(unavailable) > 0, "the proxy disturbed nobody");
    println!(
        "soak --cuts: {} streams over {} channels for {} s: {} connections, {} cut, {} stalls; {} calls: {} answered \
         ({} begun and ended in quiet times, none of which failed), {} unavailable, {} cancelled, {} past their \
         deadline; none handled twice, {} KiB of heap at the end; no task, handler or connection left",
        plan.streams,
        plan.connections,
        plan.seconds,
        of(&faults.connections),
        of(&faults.cuts),
        of(&faults.stalls),
        of(begun),
        of(&tally.answered),
        of(undisturbed),
        of(unavailable),
        of(&tally.cancelled),
        of(&tally.expired),
        left / 1024,
    );
    Ok(())
}
