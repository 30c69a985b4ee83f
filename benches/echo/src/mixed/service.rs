//! The service: Echo is fast, Collect is slow.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use peregrine::{Request, Response, Status, Stream, Streaming};

pub(crate) mod pb {
    peregrine::include_proto!("buffa");
    pub(crate) use self::bench::*;
}

/// How slow calls spend their time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slow {
    computes: Arc<AtomicBool>,
}

impl Slow {
    pub(crate) fn set(&self, kind: &str) {
        self.computes.store(kind == "compute", Ordering::Relaxed);
    }
}

pub(crate) struct Mixed {
    slow: Slow,
}

impl Mixed {
    pub(crate) fn new(slow: Slow) -> Self {
        Self { slow }
    }
}

impl pb::Bench for Mixed {
    async fn echo(&self, request: Request<pb::EchoMsg>) -> Result<Response<pb::EchoMsg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn collect(
        &self,
        _request: Request<Streaming<pb::EchoMsg>>,
    ) -> Result<Response<pb::Summary>, Status> {
        if self.slow.computes.load(Ordering::Relaxed) {
            let begun = Instant::now();
            while begun.elapsed() < TIME {
                black_box(0_u64);
            }
        } else {
            tokio::time::sleep(TIME).await;
        }
        Ok(pb::Summary::default().into())
    }

    async fn stream(
        &self,
        _request: Request<pb::StreamReq>,
    ) -> Result<Response<impl Stream<Item = Result<pb::EchoMsg, Status>> + Send>, Status> {
        Err::<Response<Streaming<pb::EchoMsg>>, _>(Status::unimplemented("not of use here"))
    }

    async fn bidi(
        &self,
        _request: Request<Streaming<pb::EchoMsg>>,
    ) -> Result<Response<impl Stream<Item = Result<pb::EchoMsg, Status>> + Send>, Status> {
        Err::<Response<Streaming<pb::EchoMsg>>, _>(Status::unimplemented("not of use here"))
    }
}

/// Of a slow call.
const TIME: Duration = Duration::from_millis(5);
