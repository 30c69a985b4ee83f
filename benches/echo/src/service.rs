//! The bench service, once for each codec. Handlers do what the other stacks' handlers do, and nothing more.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use peregrine::{Request, Response, Server, Status, Stream, Streaming};

use crate::raw::Raw;

/// Largest payload of a streamed message, in bytes.
const BLOB: usize = 1 << 20;

/// Mounts the service on buffa messages.
pub fn mount_buffa(server: Server, echo_metadata: bool) -> Server {
    server.add_service(buffa::BenchServer::new(Echo::new(echo_metadata)))
}

/// Mounts the service on prost messages.
pub fn mount_prost(server: Server, echo_metadata: bool) -> Server {
    server.add_service(prost::BenchServer::new(Echo::new(echo_metadata)))
}

/// Mounts the service on raw bytes.
pub fn mount_bytes(server: Server, echo_metadata: bool) -> Server {
    server.add_service(Raw { others: buffa::BenchServer::new(Echo::new(false)), echo_metadata })
}

struct Echo {
    blob: Bytes,
    /// The reply's metadata is the request's.
    echo_metadata: bool,
}

impl Echo {
    fn new(echo_metadata: bool) -> Self {
        Self { blob: Bytes::from(vec![0x5a; BLOB]), echo_metadata }
    }

    fn payload(&self, size: i32) -> Result<Bytes, Status> {
        match usize::try_from(size) {
            Ok(size) if size <= self.blob.len() => Ok(self.blob.slice(..size)),
            _ => Err(Status::invalid_argument(format!("size must be from 0 to {BLOB}, not {size}"))),
        }
    }
}

/// Numbered messages, always ready: what is measured is the stack, not a source.
struct Numbered<M> {
    next: i64,
    last: i64,
    payload: Bytes,
    message: fn(Bytes, i64) -> M,
}

impl<M> Stream for Numbered<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.next > self.last {
            return Poll::Ready(None);
        }
        let id = self.next;
        self.next += 1;
        Poll::Ready(Some(Ok((self.message)(self.payload.clone(), id))))
    }
}

/// A stream that answers each message with itself.
struct Mirror<M>(Streaming<M>);

impl<M> Stream for Mirror<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_message(cx)
    }
}

/// The four methods are the same text for every codec; only the messages' module differs.
macro_rules! bench_service {
    ($module:ident, $name:literal) => {
        mod $module {
            peregrine::include_proto!($name);
            pub(super) use self::bench::*;

            #[allow(
                clippy::needless_update,
                reason = "one codec's messages have a hidden field, the other's have not"
            )]
            pub(super) fn numbered(payload: super::Bytes, id: i64) -> EchoMsg {
                EchoMsg { payload, id, ..Default::default() }
            }
        }

        impl $module::Bench for Echo {
            async fn echo(
                &self,
                request: Request<$module::EchoMsg>,
            ) -> Result<Response<$module::EchoMsg>, Status> {
                if self.echo_metadata {
                    let metadata = request.metadata().clone();
                    let mut response = Response::new(request.into_inner());
                    *response.metadata_mut() = metadata;
                    return Ok(response);
                }
                Ok(Response::new(request.into_inner()))
            }

            async fn stream(
                &self,
                request: Request<$module::StreamReq>,
            ) -> Result<Response<impl Stream<Item = Result<$module::EchoMsg, Status>> + Send>, Status> {
                Ok(Response::new(Numbered {
                    next: 1,
                    last: i64::from(request.count),
                    payload: self.payload(request.size)?,
                    message: $module::numbered,
                }))
            }

            async fn collect(
                &self,
                request: Request<Streaming<$module::EchoMsg>>,
            ) -> Result<Response<$module::Summary>, Status> {
                let mut messages = request.into_inner();
                let mut summary = $module::Summary::default();
                while let Some(message) = messages.message().await? {
                    summary.count += 1;
                    summary.bytes += message.payload.len() as i64;
                }
                Ok(summary.into())
            }

            async fn bidi(
                &self,
                request: Request<Streaming<$module::EchoMsg>>,
            ) -> Result<Response<impl Stream<Item = Result<$module::EchoMsg, Status>> + Send>, Status> {
                Ok(Response::new(Mirror(request.into_inner())))
            }
        }
    };
}

bench_service!(buffa, "buffa");
bench_service!(prost, "prost");
