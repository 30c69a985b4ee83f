//! One window: a program that makes load runs for some seconds and says what it saw.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use crate::process;
use crate::report::tail;

/// What a window showed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// Calls a second.
    pub(super) rate: f64,
    /// Processor time of the measured side a call.
    pub(super) cpu_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) errors: u64,
}

/// Which side's processor time is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Server,
    Client,
}

impl Window {
    /// Runs the program, at most `limit` long.
    pub(super) fn of(command: &mut Command, side: Side, limit: Duration) -> anyhow::Result<Self> {
        let outcome = process::run(command, limit, |_| {})?;
        if !outcome.success() {
            bail!("{}: {}", outcome.verdict(), tail(&outcome.output, 3));
        }
        Self::parse(&outcome.output, side).with_context(|| format!("it said: {}", outcome.output))
    }

    /// Two loads that ran at the same time against one server, as one.
    pub(super) fn beside(self, other: Self) -> Self {
        // Each divided the server's time by its own calls; the time is the same.
        let time = (self.cpu_us * self.rate).midpoint(other.cpu_us * other.rate);
        let rate = self.rate + other.rate;
        Self {
            rate,
            cpu_us: time / rate,
            p50_us: self.p50_us.max(other.p50_us),
            p99_us: self.p99_us.max(other.p99_us),
            errors: self.errors + other.errors,
        }
    }

    fn parse(line: &str, side: Side) -> anyhow::Result<Self> {
        let value = |key: &str| -> anyhow::Result<f64> {
            let mut words = line.split_whitespace();
            let text = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            Ok(text.with_context(|| format!("no {key}="))?.parse()?)
        };
        let cpu = match side {
            Side::Server => "server_cpu_us",
            Side::Client => "cpu_us",
        };
        Ok(Self {
            rate: value("rate")?,
            cpu_us: value(cpu)?,
            p50_us: value("p50_us")?,
            p99_us: value("p99_us")?,
            errors: value("errs")? as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "rate=100.0 cpu_us=2.5 p50_us=7.0 p99_us=9.0 errs=1 server_cpu_us=4.0";

    #[test]
    fn the_wanted_side_is_read() {
        assert!((Window::parse(LINE, Side::Server).unwrap().cpu_us - 4.0).abs() < 1e-9);
        assert!((Window::parse(LINE, Side::Client).unwrap().cpu_us - 2.5).abs() < 1e-9);
        assert!(Window::parse("rate=1", Side::Client).unwrap_err().to_string().contains("cpu_us"));
    }

    #[test]
    fn two_loads_share_the_servers_time() {
        let window = Window::parse(LINE, Side::Server).unwrap();
        let both = window.beside(window);
        // 400 us a second for 200 calls a second.
        assert!((both.cpu_us - 2.0).abs() < 1e-9 && (both.rate - 200.0).abs() < 1e-9);
        assert_eq!(both.errors, 2);
    }
}
