//! The table.

use std::time::Duration;

use peregrine_abuse::{Attack, Seen};

use crate::canary::Song;

/// What one attack came to.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) attack: &'static Attack,
    pub(crate) seen: Seen,
    /// The answer was right and no call of the canary failed.
    pub(crate) accepted: bool,
    pub(crate) took: Duration,
    /// The canary on the idle server.
    pub(crate) idle: Song,
    /// The canary meanwhile.
    pub(crate) attacked: Song,
    /// Bytes of heap, at most, beyond what the idle server has.
    pub(crate) peak: usize,
    /// Bytes of heap that are left beyond it when all is over.
    pub(crate) left: usize,
    /// Bytes by which the process has grown as the system counts.
    pub(crate) resident: usize,
    /// Processor time of the server for attack and canary.
    pub(crate) cpu: Duration,
    pub(crate) handlers: usize,
}

/// One line of the table; the first time with its head.
#[expect(clippy::print_stdout, reason = "the program's result")]
pub(crate) fn say(row: &Row) {
    static HEAD: std::sync::Once = std::sync::Once::new();
    HEAD.call_once(|| {
        println!(
            "| row | attack | canary p50/p99 idle, ms | under attack, ms | calls | took, s | heap peak, KiB | left, KiB \
             | resident, KiB | CPU, s | handlers | reply |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    });
    let ms = |time: Duration| format!("{:.2}", time.as_secs_f64() * 1e3);
    println!(
        "| {} | {} | {} / {} | {} / {} | {} | {:.2} | {} | {} | {} | {:.2} | {} | {}{} |",
        row.attack.row,
        row.attack.name,
        ms(row.idle.median),
        ms(row.idle.p99),
        ms(row.attacked.median),
        ms(row.attacked.p99),
        row.attacked.calls,
        row.took.as_secs_f64(),
        row.peak / 1_024,
        row.left / 1_024,
        row.resident / 1_024,
        row.cpu.as_secs_f64(),
        row.handlers,
        if row.accepted { "" } else { "WRONG: " },
        row.seen,
    );
}

/// The last line, and whether all is well. Times and memory are for the reader to judge: the machine may be busy with
/// other things.
#[expect(clippy::print_stdout, reason = "the program's result")]
pub(crate) fn verdict(rows: &[Row]) -> bool {
    let wrong: Vec<&str> = rows.iter().filter(|row| !row.accepted).map(|row| row.attack.name).collect();
    let crowded: Vec<&str> = rows
        .iter()
        // The canary's own call counts.
        .filter(|row| row.handlers > row.attack.handlers + 1)
        .map(|row| row.attack.name)
        .collect();
    println!(
        "abuse: {} attacks, {} answered wrong, {} with too many handlers",
        rows.len(),
        wrong.len(),
        crowded.len()
    );
    for name in wrong.iter().chain(&crowded) {
        println!("abuse: look at {name:?}");
    }
    wrong.is_empty() && crowded.is_empty()
}

#[expect(clippy::print_stderr, reason = "the program's only words when it fails")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("abuse: {error:#}");
}
