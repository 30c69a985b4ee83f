//! The soaked service, counting the handlers that run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use peregrine::{Request, Response, Status, Stream, Streaming, channel};

use crate::pb::soak::{Done, Soak, Work};

/// Handlers that are running now; zero when nothing leaks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<AtomicI64>);

impl Running {
    pub(crate) fn count(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn enter(&self) -> Guard {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(self.clone())
    }
}

/// Lives as long as its call.
struct Guard(Running);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Worker(pub(crate) Running);

impl Soak for Worker {
    async fn once(&self, request: Request<Work>) -> Result<Response<Done>, Status> {
        let _guard = self.0.enter();
        answer(&request, 1).await.map(Response::new)
    }

    async fn many(
        &self,
        request: Request<Work>,
    ) -> Result<Response<impl Stream<Item = Result<Done, Status>> + Send>, Status> {
        let guard = self.0.enter();
        let work = request.into_inner();
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
            number += i64::from(work.count);
        }
        Ok(Done { number, ..Default::default() }.into())
    }

    async fn chat(
        &self,
        request: Request<Streaming<Work>>,
    ) -> Result<Response<impl Stream<Item = Result<Done, Status>> + Send>, Status> {
        let guard = self.0.enter();
        let mut messages = request.into_inner();
        Ok(Response::new(channel(move |replies| async move {
            let _guard = guard;
            let mut number = 0;
            while let Some(work) = messages.message().await? {
                number += 1;
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
