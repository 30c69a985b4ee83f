//! Part `rust`: unit tests, integration tests and documentation tests of every package.

use std::time::Duration;

use super::Run;
use crate::process;
use crate::report::say;

pub(super) fn run(run: &mut Run<'_>) -> anyhow::Result<()> {
    if !run.wants("rust") {
        return Ok(());
    }
    let mut command = run.workspace.cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
    let mut totals = Totals::default();
    let outcome = process::run(&mut command, LIMIT, |line| {
        totals.read(line);
        if is_worth_showing(line) {
            say(line);
        }
    })?;
    run.results.add_passed(totals.passed);
    if totals.failed > 0 {
        run.results.fail_many(totals.failed, "rust", &format!("see above: {}", totals.names.join(", ")));
    } else if !outcome.success() {
        let what = "did not build, or a test program ended without a verdict; see above";
        run.results.fail("rust", &format!("cargo test {what} ({})", outcome.verdict()));
    }
    Ok(())
}

/// Sums of the result lines that the test programs print.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: usize,
    failed: usize,
    names: Vec<String>,
}

impl Totals {
    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.names.push(name.to_owned());
        }
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let Some((_, counts)) = result.split_once(". ") else { return };
        for count in counts.split("; ") {
            let Some((number, word)) = count.split_once(' ') else { continue };
            let number = number.parse().unwrap_or(0);
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                _ => {}
            }
        }
    }
}

/// Thousands of `ok` lines help nobody; failures, totals and the compiler's words do.
fn is_worth_showing(line: &str) -> bool {
    let passed =
        line.starts_with("test ") && (line.ends_with("... ok") || line.ends_with("- should panic ... ok"));
    let empty_program = line.starts_with("test result: ok. 0 passed; 0 failed");
    let header = line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"));
    !(line.is_empty() || passed || empty_program || header)
}

/// A cold build and every test of the workspace on a small shared machine.
const LIMIT: Duration = Duration::from_mins(40);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let mut totals = Totals::default();
        for line in [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test a::b ... FAILED",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "a line of a test that says passed",
        ] {
            totals.read(line);
        }
        assert_eq!(totals, Totals { passed: 15, failed: 1, names: vec!["a::b".into()] });
    }

    #[test]
    fn a_log_shows_what_needs_reading() {
        assert!(!is_worth_showing("test a::b ... ok"));
        assert!(is_worth_showing("test a::b ... FAILED"));
        assert!(is_worth_showing("error[E0308]: mismatched types"));
        assert!(is_worth_showing("test result: ok. 12 passed; 0 failed; 0 ignored"));
    }
}
