//! What came out of a run, part by part.

use std::time::{Duration, Instant};

use crate::report::{indent, say, seconds};

/// Counts and failures of a run.
pub(super) struct Results {
    /// A test that cannot run fails instead of being skipped.
    strict: bool,
    parts: Vec<PartResult>,
}

struct PartResult {
    name: &'static str,
    start: Instant,
    elapsed: Duration,
    passed: usize,
    skipped: usize,
    failures: Vec<Failure>,
}

struct Failure {
    /// How many tests this stands for: a test program reports its own count.
    count: usize,
    id: String,
    reason: String,
}

impl Results {
    pub(super) fn new(strict: bool) -> Self {
        Self { strict, parts: Vec::new() }
    }

    /// Opens the part that the following results belong to.
    pub(super) fn begin(&mut self, name: &'static str) {
        self.parts.push(PartResult {
            name,
            start: Instant::now(),
            elapsed: Duration::ZERO,
            passed: 0,
            skipped: 0,
            failures: Vec::new(),
        });
    }

    /// Closes the open part; one that had no wanted test leaves no trace.
    pub(super) fn end(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.elapsed = part.start.elapsed();
        }
        if self.parts.last().is_some_and(|part| part.passed + part.skipped + part.failed() == 0) {
            self.parts.pop();
        }
    }

    pub(super) fn pass(&mut self, id: &str, elapsed: Duration) {
        say(&format!("ok      {:>8}  {id}", seconds(elapsed)));
        self.add_passed(1);
    }

    /// `count` tests of one program, which it has not named one by one.
    pub(super) fn pass_many(&mut self, count: usize, id: &str, elapsed: Duration) {
        say(&format!("ok      {:>8}  {id} ({count} cases)", seconds(elapsed)));
        self.add_passed(count);
    }

    pub(super) fn add_passed(&mut self, count: usize) {
        if let Some(part) = self.parts.last_mut() {
            part.passed += count;
        }
    }

    pub(super) fn fail(&mut self, id: &str, reason: &str) {
        self.fail_many(1, id, reason);
    }

    pub(super) fn fail_many(&mut self, count: usize, id: &str, reason: &str) {
        say(&format!("FAILED  {id}"));
        say(&indent(reason, 8));
        if let Some(part) = self.parts.last_mut() {
            part.failures.push(Failure { count, id: id.to_owned(), reason: reason.to_owned() });
        }
    }

    /// `count` tests that cannot run here, for `reason`.
    pub(super) fn unavailable(&mut self, count: usize, id: &str, reason: &str) {
        if self.strict {
            return self.fail_many(count, id, reason);
        }
        say(&format!("skipped {id} ({count} tests): {reason}"));
        if let Some(part) = self.parts.last_mut() {
            part.skipped += count;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether anything could not run here.
    pub(super) fn has_skipped(&self) -> bool {
        self.total(|part| part.skipped) > 0
    }

    /// True only if something ran and nothing failed.
    pub(super) fn all_passed(&self) -> bool {
        self.total(|part| part.passed) > 0 && self.total(PartResult::failed) == 0
    }

    /// Failures again, the count of each part, and the closing line.
    pub(super) fn print_summary(&self) {
        let failures: Vec<&Failure> = self.parts.iter().flat_map(|part| &part.failures).collect();
        if !failures.is_empty() {
            say("\nfailed:");
        }
        for failure in failures {
            say(&format!("  {}: {}", failure.id, failure.reason.lines().next().unwrap_or_default()));
        }
        say("");
        for part in &self.parts {
            let counts = counts(part.passed, part.failed(), part.skipped);
            say(&format!("{:9} {counts} in {}", part.name, seconds(part.elapsed)));
        }
        say(&self.closing_line());
    }

    fn closing_line(&self) -> String {
        counts(
            self.total(|part| part.passed),
            self.total(PartResult::failed),
            self.total(|part| part.skipped),
        )
    }

    fn total(&self, of: impl Fn(&PartResult) -> usize) -> usize {
        self.parts.iter().map(of).sum()
    }
}

impl PartResult {
    fn failed(&self) -> usize {
        self.failures.iter().map(|failure| failure.count).sum()
    }
}

fn counts(passed: usize, failed: usize, skipped: usize) -> String {
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    format!("{passed} passed, {failed} failed{skipped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(strict: bool, steps: impl FnOnce(&mut Results)) -> Results {
        let mut results = Results::new(strict);
        results.begin("part");
        steps(&mut results);
        results.end();
        results
    }

    #[test]
    fn the_closing_line_adds_up_all_parts() {
        let mut results = after(false, |results| {
            results.add_passed(7);
            results.fail_many(2, "a", "why");
        });
        results.begin("other");
        results.pass("b", Duration::ZERO);
        results.end();
        assert_eq!(results.closing_line(), "8 passed, 2 failed");
        assert!(!results.all_passed());
    }

    #[test]
    fn a_missing_tool_skips_for_people_and_fails_for_machines() {
        let lenient = after(false, |results| {
            results.pass("a", Duration::ZERO);
            results.unavailable(16, "b", "go is missing");
        });
        assert_eq!(lenient.closing_line(), "1 passed, 0 failed, 16 skipped");
        assert!(lenient.all_passed());
        let strict = after(true, |results| results.unavailable(16, "b", "go is missing"));
        assert_eq!(strict.closing_line(), "0 passed, 16 failed");
    }

    #[test]
    fn a_run_of_nothing_has_not_passed() {
        assert!(!after(false, |_| {}).all_passed());
    }
}
