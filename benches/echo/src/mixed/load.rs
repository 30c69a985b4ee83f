//! The load: as fast as it goes to see how much that is, and at a pace.

use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use peregrine::{Error, Phase, iter};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::service::pb;

/// Callers, each with a connection.
pub(crate) struct Load {
    clients: Vec<pb::BenchClient>,
}

/// What the fast calls took.
#[derive(Debug)]
pub(crate) struct Paced {
    rate: f64,
    /// Sorted.
    latencies: Vec<Duration>,
    errors: usize,
}

impl Load {
    pub(crate) fn new(clients: Vec<pb::BenchClient>) -> Self {
        Self { clients }
    }

    /// Calls a second that are answered at most, slow ones among them, with 16 callers a connection.
    pub(crate) async fn capacity(&self, length: Duration) -> Result<f64> {
        let end = Instant::now() + length;
        let mut callers = JoinSet::new();
        for client in self.clients.iter().cycle().take(16 * self.clients.len()) {
            let client = client.clone();
            callers.spawn(async move {
                let mut calls = 0_u64;
                while Instant::now() < end {
                    let is_slow = calls % 100 == 50;
                    let is_right = if is_slow {
                        client.collect(iter([message()])).await.is_ok()
                    } else {
                        client.echo(message()).await.is_ok()
                    };
                    calls += u64::from(is_right);
                }
                calls
            });
        }
        let calls: u64 = callers.join_all().await.into_iter().sum();
        ensure!(calls > 0, "no call was answered");
        Ok(calls as f64 / length.as_secs_f64())
    }

    /// Begins so many calls a second, whatever is answered; with `slow`, one in a hundred is of the slow method.
    pub(crate) async fn pace(&self, rate: f64, length: Duration, slow: bool) -> Result<Paced> {
        let begun = Instant::now();
        let mut calls = JoinSet::new();
        let (mut latencies, mut errors) = (Vec::new(), 0);
        let wanted = (rate * length.as_secs_f64()) as usize;
        for number in 0..wanted {
            let due = begun + Duration::from_secs_f64(number as f64 / rate);
            if due > Instant::now() {
                sleep_until(due).await;
            }
            let client = self.clients[number % self.clients.len()].clone();
            if slow && number % 100 == 50 {
                calls.spawn(async move {
                    let is_right = client.collect(iter([message()])).await.is_ok();
                    (None, is_right)
                });
            } else {
                calls.spawn(async move {
                    let is_right = client.echo(message()).await.is_ok();
                    (Some(due.elapsed()), is_right)
                });
            }
            while let Some(done) = calls.try_join_next() {
                let (latency, is_right) = done?;
                latencies.extend(latency);
                errors += usize::from(!is_right);
            }
        }
        let rate = wanted as f64 / begun.elapsed().as_secs_f64();
        for (latency, is_right) in calls.join_all().await {
            latencies.extend(latency);
            errors += usize::from(!is_right);
        }
        latencies.sort_unstable();
        Ok(Paced { rate, latencies, errors })
    }
}

impl fmt::Display for Paced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate={:.0}", self.rate)?;
        for (name, share) in [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999)] {
            let index = (self.latencies.len() as f64 * share) as usize;
            let latency = self.latencies.get(index.min(self.latencies.len().saturating_sub(1)));
            write!(f, " {name}={:.0}", latency.copied().unwrap_or_default().as_secs_f64() * 1e6)?;
        }
        write!(f, " errs={}", self.errors)
    }
}

/// A socket that cannot be used, as the server says it.
pub(crate) fn broken(error: std::io::Error) -> Error {
    Error::new(Phase::Bind, "the socket cannot be used").with_source(error)
}

fn message() -> pb::EchoMsg {
    pb::EchoMsg { payload: Bytes::from_static(&[0x5a; 64]), id: 7, ..Default::default() }
}
