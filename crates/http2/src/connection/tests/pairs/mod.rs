//! Pairs of connections in virtual time: random things happen to both ends and to the way between them, a model stands
//! beside each, and after every step windows, streams, heads and memory must be right.
//!
//! | file | what |
//! |---|---|
//! | `case` | a run as plain data, made from a seed |
//! | `world` | plays it |
//! | `link` | the way between the ends |
//! | `layer`, `act` | the model: what arrives, what is done |
//! | `text` | header lists |
//! | `check` | the invariants |
//! | `saved` | cases that have failed, played first |
//!
//! A run that fails says its seed, and is cut down to a short list of steps that still fails; that list goes into
//! `saved`. By request, with figures from the environment:
//!
//! ```sh
//! PEREGRINE_SEEDS=1000000 cargo test --release -p peregrine-http2 --lib whatever_happens -- --nocapture
//! PEREGRINE_HOURS=24 cargo test --release -p peregrine-http2 --lib hours_of_faults -- --nocapture
//! ```

mod act;
mod case;
mod check;
mod layer;
mod link;
mod saved;
mod text;
mod world;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use self::case::Case;
use self::world::{Tally, World};

#[test]
fn what_failed_once_does_not_fail_again() {
    for (name, case) in saved::cases() {
        if let Err(message) = play(&case) {
            panic!("{name}: {message}");
        }
    }
}

#[test]
fn whatever_happens_to_a_pair_both_ends_stay_right() {
    let seeds = figure("PEREGRINE_SEEDS", SEEDS);
    let from = figure("PEREGRINE_FROM", 0);
    let tally = play_seeds(from..from + seeds);
    println!("{seeds} seeds from {from}: {tally:?}");
    // Everything that can become of a stream has become of many.
    assert!(tally.opened > seeds * 4 && tally.complete > seeds * 2, "{tally:?}");
    assert!(tally.reset > seeds / 10 && tally.refused > seeds / 100 && tally.lost > seeds / 10, "{tally:?}");
    assert!(tally.timeouts > seeds / 1_000 && tally.octets > seeds * 6_000, "{tally:?}");
}

#[test]
fn hours_of_faults_leave_no_trace() {
    let time = Duration::from_hours(figure("PEREGRINE_HOURS", 1));
    let tally = long_day(time);
    println!("{tally:?}");
    assert!(tally.time >= time && tally.complete > 0 && tally.lost > 0, "{tally:?}");
}

/// Connection after connection, until so much virtual time has passed.
fn long_day(time: Duration) -> Tally {
    let mut total = Tally::default();
    for seed in 0.. {
        let case = Case::long(seed);
        match play(&case) {
            Ok(tally) => total.add(tally),
            Err(message) => report(&format!("long seed {seed}"), &case, &message),
        }
        if total.time >= time {
            break;
        }
    }
    total
}

/// Plays seeds on all processors.
fn play_seeds(seeds: std::ops::Range<u64>) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let worker = || {
        let mut total = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return total;
            }
            let case = Case::from_seed(seed);
            match play(&case) {
                Ok(tally) => total.add(tally),
                Err(message) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    report(&format!("seed {seed}"), &case, &message);
                }
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let mut total = Tally::default();
        for worker in workers {
            match worker.join() {
                Ok(tally) => total.add(tally),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        total
    })
}

/// Fails with a short case that still fails.
fn report(name: &str, case: &Case, message: &str) -> ! {
    let (short, message_of_short) = shrink(case, message);
    let ops: Vec<_> = short.ops.iter().map(|op| format!("    {op:?},")).collect();
    let (setup, ops) = (short.setup, ops.join("\n"));
    panic!("{name}: {message}\nin short: {message_of_short}\n{setup:?}\nops: [\n{ops}\n]");
}

/// Plays a case; the words of its panic if it fails.
fn play(case: &Case) -> Result<Tally, String> {
    quiet_panics();
    QUIET.set(true);
    let played = catch_unwind(AssertUnwindSafe(|| World::run(case, Instant::now())));
    QUIET.set(false);
    played.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        format!("{} ({})", text.unwrap_or_default(), PLACE.take())
    })
}

/// Leaves out ever smaller parts of the list as long as the case still fails.
fn shrink(case: &Case, message: &str) -> (Case, String) {
    let mut short = case.clone();
    let mut message = message.to_owned();
    let mut part = short.ops.len() / 2;
    while part > 0 {
        let mut at = 0;
        while at < short.ops.len() {
            let mut less = short.clone();
            less.ops.drain(at..(at + part).min(less.ops.len()));
            match play(&less) {
                Err(fails) => (short, message) = (less, fails),
                Ok(_) => at += part,
            }
        }
        part /= 2;
    }
    (short, message)
}

thread_local! {
    /// Panics of this thread are caught and need no words.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Where the last of them happened.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Lets panics that [`play`] catches go unprinted, so that cutting a case down does not fill the screen.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                PLACE.set(info.location().map(ToString::to_string).unwrap_or_default());
            } else {
                loud(info);
            }
        }));
    });
}

fn figure(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Seeds of every test run.
const SEEDS: u64 = 10_000;
