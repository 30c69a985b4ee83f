//! What xtask prints: one line at a time on standard output, so that a log reads like the terminal.

use std::fmt::Write as _;
use std::time::Duration;

/// Prints one line (or a block that ends without a line break).
pub(crate) fn say(text: &str) {
    #[expect(clippy::print_stdout, reason = "the one place where xtask talks to its user")]
    {
        println!("{}", text.trim_end_matches('\n'));
    }
}

/// `text` with each line moved right by `columns`.
pub(crate) fn indent(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len() + columns);
    for line in text.lines() {
        let _ = writeln!(out, "{:columns$}{line}", "");
    }
    out
}

/// The last `count` lines of `text` that are not blank: the end of a log is where the reason stands.
pub(crate) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Seconds with one decimal, which is as exact as a step on a shared machine can be.
pub(crate) fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_skips_blank_lines() {
        assert_eq!(tail("a\n\nb\n\nc\n\n", 2), "b\nc");
        assert_eq!(tail("a", 5), "a");
    }

    #[test]
    fn indent_moves_every_line() {
        assert_eq!(indent("a\nb", 2), "  a\n  b\n");
    }
}
