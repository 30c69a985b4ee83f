//! `tonic-server PORT [--threads N]`: the bench service on tonic.

use std::error::Error;

use bench_common::Numbered;
use bytes::Bytes;
use tokio_stream::StreamExt as _;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use self::pb::bench_server::{Bench, BenchServer};
use self::pb::{EchoMsg, StreamReq, Summary};

mod pb {
    tonic::include_proto!("bench");
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    bench_common::run(|address| async move {
        let service =
            BenchServer::new(Echo { blob: bench_common::blob() }).max_decoding_message_size(64 << 20);
        Server::builder().add_service(service).serve(address).await?;
        Ok(())
    })
}

struct Echo {
    blob: Bytes,
}

#[tonic::async_trait]
impl Bench for Echo {
    type StreamStream = Numbered<EchoMsg, Status>;
    type BidiStream = Streaming<EchoMsg>;

    async fn echo(&self, request: Request<EchoMsg>) -> Result<Response<EchoMsg>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    async fn stream(&self, request: Request<StreamReq>) -> Result<Response<Self::StreamStream>, Status> {
        let StreamReq { count, size } = request.into_inner();
        let messages = Numbered::new(&self.blob, count, size, |payload, id| EchoMsg { payload, id });
        Ok(Response::new(messages.ok_or_else(|| Status::invalid_argument("size"))?))
    }

    async fn collect(&self, request: Request<Streaming<EchoMsg>>) -> Result<Response<Summary>, Status> {
        let mut messages = request.into_inner();
        let mut summary = Summary::default();
        while let Some(message) = messages.next().await {
            summary.count += 1;
            summary.bytes += message?.payload.len() as i64;
        }
        Ok(Response::new(summary))
    }

    async fn bidi(&self, request: Request<Streaming<EchoMsg>>) -> Result<Response<Self::BidiStream>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}
