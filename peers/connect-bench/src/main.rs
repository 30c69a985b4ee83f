//! `connect-server PORT [--threads N]`: the bench service on connectrpc.

use std::error::Error;

use bench_common::Numbered;
use buffa::bytes::Bytes;
use connectrpc::{
    ConnectError, ConnectRpcService, Encodable, InboundStream, RequestContext, Response, Server,
    ServiceRequest, ServiceResult, ServiceStream,
};
use tokio_stream::StreamExt as _;

use self::generated::bench::{Bench, BenchServer, EchoMsg, StreamReq, Summary};

mod generated {
    include!(concat!(env!("OUT_DIR"), "/connect.rs"));
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    bench_common::run(|address| async move {
        let service = ConnectRpcService::new(BenchServer::new(Echo { blob: bench_common::blob() }));
        // The others have no practical limit either.
        let server = Server::bind(address).await?.with_max_concurrent_streams(u32::MAX >> 1);
        server.serve_with_service(service).await?;
        Ok(())
    })
}

struct Echo {
    blob: Bytes,
}

impl Bench for Echo {
    async fn echo<'a>(
        &'a self,
        _context: RequestContext,
        request: ServiceRequest<'_, EchoMsg>,
    ) -> ServiceResult<impl Encodable<EchoMsg> + Send + use<'a>> {
        Response::ok(request.to_owned_message())
    }

    async fn stream(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, StreamReq>,
    ) -> ServiceResult<ServiceStream<impl Encodable<EchoMsg> + Send + use<>>> {
        let messages: Option<Numbered<EchoMsg, ConnectError>> =
            Numbered::new(&self.blob, request.count, request.size, |payload, id| EchoMsg {
                payload,
                id,
                ..Default::default()
            });
        Response::stream_ok(messages.ok_or_else(|| ConnectError::invalid_argument("size"))?)
    }

    async fn collect<'a>(
        &'a self,
        _context: RequestContext,
        mut messages: InboundStream<EchoMsg>,
    ) -> ServiceResult<impl Encodable<Summary> + Send + use<'a>> {
        let mut summary = Summary::default();
        while let Some(message) = messages.next().await {
            summary.count += 1;
            summary.bytes += message?.payload().len() as i64;
        }
        Response::ok(summary)
    }

    async fn bidi(
        &self,
        _context: RequestContext,
        messages: InboundStream<EchoMsg>,
    ) -> ServiceResult<ServiceStream<impl Encodable<EchoMsg> + Send + use<>>> {
        Response::stream_ok(messages.map(|message| message.map(|message| message.to_owned_message())))
    }
}
