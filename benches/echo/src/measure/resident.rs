//! Memory of a process.

use std::path::Path;

/// Bytes of a process that are in memory, as Linux counts them; zero where that cannot be read.
pub fn of(process: u32) -> u64 {
    let status = Path::new("/proc").join(process.to_string()).join("status");
    let Ok(text) = std::fs::read_to_string(status) else { return 0 };
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}
