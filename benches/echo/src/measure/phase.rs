//! Where a run is, and what it has measured.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::cpu;

/// Where a run is: warming up, measuring, or at its end.
#[derive(Debug)]
pub struct Phase {
    stage: AtomicU8,
    /// Measured calls that are still to be made.
    left: AtomicI64,
}

impl Phase {
    const WARM: u8 = 0;
    const MEASURE: u8 = 1;
    const STOP: u8 = 2;

    /// Warming up. `calls`: how many calls are measured; until [`stop`](Self::stop) if `None`.
    pub fn new(calls: Option<u64>) -> Self {
        let left = calls.and_then(|calls| calls.try_into().ok()).unwrap_or(i64::MAX);
        Self { stage: AtomicU8::new(Self::WARM), left: AtomicI64::new(left) }
    }

    /// Calls that begin from here on are measured.
    pub fn measure(&self) {
        self.stage.store(Self::MEASURE, Ordering::Relaxed);
    }

    /// No call begins any more.
    pub fn stop(&self) {
        self.stage.store(Self::STOP, Ordering::Relaxed);
    }

    /// Whether the next call is measured; `None` if there is none.
    pub fn next_call(&self) -> Option<bool> {
        match self.stage.load(Ordering::Relaxed) {
            Self::WARM => Some(false),
            Self::MEASURE => (self.left.fetch_sub(1, Ordering::Relaxed) > 0).then_some(true),
            _ => None,
        }
    }
}

/// The clocks that run while calls are measured.
#[derive(Debug)]
pub struct Window {
    begun: Instant,
    own: Duration,
    /// A server's process, and what it had used.
    server: Option<(String, Duration)>,
}

/// What the clocks said at the end of a [`Window`].
#[derive(Debug)]
pub struct Spent {
    elapsed: Duration,
    own: Duration,
    server: Option<Duration>,
}

impl Window {
    /// Starts the clocks; `server` is a process whose processor time is wanted too.
    pub fn open(server: Option<u32>) -> Self {
        let server = server.map(|process| {
            let process = process.to_string();
            let used = cpu::of(&process);
            (process, used)
        });
        Self { begun: Instant::now(), own: cpu::used(), server }
    }

    /// Reads the clocks.
    pub fn close(self) -> Spent {
        Spent {
            elapsed: self.begun.elapsed(),
            own: cpu::used().saturating_sub(self.own),
            server: self.server.map(|(process, used)| cpu::of(&process).saturating_sub(used)),
        }
    }
}

/// What calls took while they were measured.
#[derive(Debug, Default)]
pub struct Measured {
    /// In nanoseconds.
    pub latencies: Vec<u32>,
    /// Calls that failed or brought a wrong reply, in the whole run.
    pub errors: u64,
}

impl Measured {
    /// Takes over what another caller measured.
    pub fn add(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.errors += other.errors;
    }

    /// The line that the program prints.
    pub fn report(mut self, spent: &Spent) -> String {
        let calls = self.latencies.len();
        let (median, tail) = (self.percentile(0.5), self.percentile(0.99));
        let a_call = |time: Duration| time.as_secs_f64() * 1e6 / calls.max(1) as f64;
        let mut line = format!(
            "rate={:.1} cpu_us={:.3} p50_us={median:.1} p99_us={tail:.1} errs={}",
            calls as f64 / spent.elapsed.as_secs_f64(),
            a_call(spent.own),
            self.errors
        );
        if let Some(server) = spent.server {
            let _ = write!(line, " server_cpu_us={:.3}", a_call(server));
        }
        line
    }

    /// In microseconds.
    fn percentile(&mut self, share: f64) -> f64 {
        let calls = self.latencies.len();
        if calls == 0 {
            return 0.0;
        }
        let index = ((calls as f64 * share) as usize).min(calls - 1);
        f64::from(*self.latencies.select_nth_unstable(index).1) / 1e3
    }
}
