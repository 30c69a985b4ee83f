//! The soaked service, counting the handlers that run and the calls that come twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use peregrine::{Request, Response, Status, Stream, Streaming, channel};

use crate::pb::soak::{Done, Soak, Work};

/// Handlers that are running now, zero when nothing leaks, and which calls they have begun.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<State>);

#[derive(Debug, Default)]
struct State {
    running: AtomicI64,
    repeated: AtomicU64,
    begun: Mutex<HashMap<u32, Begun>>,
}

/// The latest calls of one caller. A call that comes late is still known, one that is 64 calls late is not.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    newest: u32,
    /// Bit n: the call `newest - n` has come.
    seen: u64,
}

impl Begun {
    /// False if the call has come before.
    fn add(&mut self, call: u32) -> bool {
        if call > self.newest {
            self.seen = self.seen.checked_shl(call - self.newest).unwrap_or(0);
            self.newest = call;
        }
        let bit = 1_u64.checked_shl(self.newest - call).unwrap_or(0);
        let new = self.seen & bit == 0;
        self.seen |= bit;
        new
    }
}

impl Running {
    pub(crate) fn count(&self) -> i64 {
        self.0.running.load(Ordering::SeqCst)
    }

    /// Calls that were handled more than once.
    pub(crate) fn repeated(&self) -> u64 {
        self.0.repeated.load(Ordering::SeqCst)
    }

    fn enter(&self) -> Guard {
        self.0.running.fetch_add(1, Ordering::SeqCst);
        Guard(self.clone())
    }

    /// A handler has begun to work for a call.
    fn begin(&self, work: &Work) {
        let (caller, call) = ((work.call >> 32) as u32, work.call as u32);
        let mut begun = self.0.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !begun.entry(caller).or_default().add(call) {
            self.0.repeated.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Lives as long as its call.
struct Guard(Running);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Worker(pub(crate) Running);

impl Soak for Worker {
    async fn once(&self, request: Request<Work>) -> Result<Response<Done>, Status> {
        let _guard = self.0.enter();
        self.0.begin(&request);
        answer(&request, 1).await.map(Response::new)
    }

    async fn many(
        &self,
        request: Request<Work>,
    ) -> Result<Response<impl Stream<Item = Result<Done, Status>> + Send>, Status> {
        let guard = self.0.enter();
        let work = request.into_inner();
        self.0.begin(&work);
        Ok(Response::new(channel(move |replies| async move {
            let _guard = guard;
            for number in 1..=work.count {
                replies.send(answer(&work, i64::from(number)).await?).await?;
            }
            Ok(())
        })))
    }

    async fn sum(&self, request: Request<Streaming<Work>>) -> Result<Response<Done>, Status> {
        let _guard = self.0.enter();
        let mut messages = request.into_inner();
        let mut number = 0;
        while let Some(work) = messages.message().await? {
            if number == 0 {
                self.0.begin(&work);
            }
            number += i64::from(work.count);
        }
        Ok(Done { number, ..Default::default() }.into())
    }

    async fn chat(
        &self,
        request: Request<Streaming<Work>>,
    ) -> Result<Response<impl Stream<Item = Result<Done, Status>> + Send>, Status> {
        let guard = self.0.enter();
        let running = self.0.clone();
        let mut messages = request.into_inner();
        Ok(Response::new(channel(move |replies| async move {
            let _guard = guard;
            let mut number = 0;
            while let Some(work) = messages.message().await? {
                number += 1;
                if number == 1 {
                    running.begin(&work);
                }
                replies.send(answer(&work, number).await?).await?;
            }
            Ok(())
        })))
    }
}

async fn answer(work: &Work, number: i64) -> Result<Done, Status> {
    if let Ok(delay @ 1..) = u64::try_from(work.delay_us) {
        tokio::time::sleep(Duration::from_micros(delay)).await;
    }
    Ok(Done { number, payload: work.payload.clone(), ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_comes_twice_is_noticed_however_late() {
        let mut begun = Begun::default();
        let news = [1, 2, 5, 3, 5, 3, 70, 7, 70, 7, 500, 500].map(|call| begun.add(call));
        let expected = [true, true, true, true, false, false, true, true, false, false, true, false];
        assert_eq!(news, expected);
    }
}
