//! Processor time of a process.

use std::path::Path;
use std::time::Duration;

/// Processor time of this process so far; see [`of`].
pub fn used() -> Duration {
    of("self")
}

/// Time that all threads of the process have run, as Linux counts it; zero where that cannot be read.
pub fn of(process: &str) -> Duration {
    let Ok(threads) = std::fs::read_dir(Path::new("/proc").join(process).join("task")) else {
        return Duration::ZERO;
    };
    let nanos = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
