//! `volo-server PORT [--threads N]`: the bench service on volo-grpc.

use std::error::Error;

use bench_common::Numbered;
use pilota::Bytes;
use tokio_stream::StreamExt as _;
use volo_grpc::server::{Server, ServiceBuilder};
use volo_grpc::{BoxStream, RecvStream, Request, Response, Status};

use self::generated::bench::bench::{Bench, BenchServer, EchoMsg, StreamReq, Summary};

mod generated {
    include!(concat!(env!("OUT_DIR"), "/bench.rs"));
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    bench_common::run(|address| async move {
        let service = ServiceBuilder::new(BenchServer::new(Echo { blob: bench_common::blob() })).build();
        Server::new().add_service(service).run(volo::net::Address::from(address)).await?;
        Ok(())
    })
}

struct Echo {
    blob: Bytes,
}

impl Bench for Echo {
    async fn echo(&self, request: Request<EchoMsg>) -> Result<Response<EchoMsg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn stream(
        &self,
        request: Request<StreamReq>,
    ) -> Result<Response<BoxStream<'static, Result<EchoMsg, Status>>>, Status> {
        let StreamReq { count, size, .. } = request.into_inner();
        let messages = Numbered::new(&self.blob, count, size, |payload, id| EchoMsg {
            payload,
            id,
            ..Default::default()
        });
        let messages = messages.ok_or_else(|| Status::invalid_argument("size"))?;
        Ok(Response::new(Box::pin(messages)))
    }

    async fn collect(&self, request: Request<RecvStream<EchoMsg>>) -> Result<Response<Summary>, Status> {
        let mut messages = request.into_inner();
        let mut summary = Summary::default();
        while let Some(message) = messages.next().await {
            summary.count += 1;
            summary.bytes += message?.payload.len() as i64;
        }
        Ok(Response::new(summary))
    }

    async fn bidi(
        &self,
        request: Request<RecvStream<EchoMsg>>,
    ) -> Result<Response<BoxStream<'static, Result<EchoMsg, Status>>>, Status> {
        Ok(Response::new(Box::pin(request.into_inner())))
    }
}
