//! The callers: each keeps one stream busy with calls of mixed shapes, some cancelled, some out of time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use peregrine::{Code, Request, Status, iter};

use crate::pb::soak::{SoakClient, Work};

/// What all callers did.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) stop: AtomicBool,
    pub(crate) answered: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) expired: AtomicU64,
}

/// A small generator of numbers, so that each caller takes its own way and a run can be repeated.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// Calls until told to stop. Fails on any answer that is wrong.
pub(crate) async fn caller(client: SoakClient, tally: &Tally, seed: u64) -> Result<()> {
    let mut dice = Dice::new(seed);
    let mut calls = seed << 32;
    while !tally.stop.load(Ordering::Relaxed) {
        calls += 1;
        let work = some_work(&mut dice, calls);
        let call = one_call(&client, &work, dice.roll(4));
        match dice.roll(8) {
            // The call is dropped in the middle of whatever it does.
            0 => {
                if tokio::time::timeout(Duration::from_micros(500 + dice.roll(5_000)), call).await.is_err() {
                    tally.cancelled.fetch_add(1, Ordering::Relaxed);
                }
            }
            // The server and the client both end it.
            1 => match with_deadline(&client, &work, Duration::from_millis(1 + dice.roll(5))).await {
                Err(status) if status.code() == Code::DeadlineExceeded => {
                    tally.expired.fetch_add(1, Ordering::Relaxed);
                }
                Err(status) => bail!("a call with a deadline ended with {status:?}"),
                Ok(()) => {
                    tally.answered.fetch_add(1, Ordering::Relaxed);
                }
            },
            _ => {
                call.await?;
                tally.answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok(())
}

/// Work of any size for the call of this number.
pub(crate) fn some_work(dice: &mut Dice, call: u64) -> Work {
    Work {
        count: 1 + dice.roll(20) as i32,
        delay_us: if dice.roll(4) == 0 { 1000 + dice.roll(20_000) as i32 } else { 0 },
        payload: Bytes::from(vec![dice.roll(256) as u8; dice.roll(3_000) as usize]),
        call,
        ..Default::default()
    }
}

/// One call of one of the four shapes; fails on a wrong answer, and with the [`Status`] of a call that fails.
pub(crate) async fn one_call(client: &SoakClient, work: &Work, shape: u64) -> Result<()> {
    let count = work.count as i64;
    match shape {
        0 => {
            let done = client.once(work.clone()).await?;
            ensure!(done.payload == work.payload, "another payload came back");
        }
        1 => {
            let mut replies = client.many(work.clone()).await?;
            for number in 1..=count {
                let done = replies.message().await?.context("the stream ended early")?;
                ensure!(done.number == number && done.payload == work.payload, "a wrong reply in a stream");
            }
            ensure!(replies.message().await?.is_none(), "more replies than were asked for");
        }
        2 => {
            let done = client.sum(iter(vec![work.clone(); work.count as usize])).await?;
            ensure!(done.number == count * count, "the sum is {} and not {}", done.number, count * count);
        }
        _ => {
            let (requests, call) = client.chat_sender();
            let mut replies = call.await?;
            for number in 1..=count {
                // A call that has ended takes no message; how it ended, the replies say.
                let sent = requests.send(work.clone()).await;
                let reply = replies.message().await?;
                sent?;
                let done = reply.context("the stream ended early")?;
                ensure!(done.number == number && done.payload == work.payload, "a wrong reply in a chat");
            }
            drop(requests);
            ensure!(replies.message().await?.is_none(), "more replies than requests");
        }
    }
    Ok(())
}

pub(crate) async fn with_deadline(client: &SoakClient, work: &Work, timeout: Duration) -> Result<(), Status> {
    let mut replies = client.many(Request::new(work.clone()).timeout(timeout)).await?;
    while replies.message().await?.is_some() {}
    Ok(())
}
