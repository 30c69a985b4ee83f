//! The interop service on tonic. `--port=N`; ends gracefully when asked to.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Sender};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_interop::pb::test_service_server::{TestService, TestServiceServer};
use tonic_interop::pb::{
    EchoStatus, Empty, ResponseParameters, SimpleRequest, SimpleResponse, StreamingInputCallRequest,
    StreamingInputCallResponse, StreamingOutputCallRequest, StreamingOutputCallResponse,
};
use tonic_interop::{EchoMetadata, Flags, zeros};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flags = Flags::from_args()?;
    let address = (Ipv4Addr::LOCALHOST, flags.get("port", 10_000)?).into();
    let mut asked = signal(SignalKind::terminate())?;
    let end = async move {
        asked.recv().await;
    };
    tonic::transport::Server::builder()
        .add_service(EchoMetadata(TestServiceServer::new(Interop)))
        .serve_with_shutdown(address, end)
        .await?;
    Ok(())
}

type Output = Result<StreamingOutputCallResponse, Status>;

struct Interop;

#[tonic::async_trait]
impl TestService for Interop {
    type StreamingOutputCallStream = ReceiverStream<Output>;
    type FullDuplexCallStream = ReceiverStream<Output>;
    type HalfDuplexCallStream = ReceiverStream<Output>;

    async fn empty_call(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }

    async fn unary_call(&self, request: Request<SimpleRequest>) -> Result<Response<SimpleResponse>, Status> {
        let request = request.into_inner();
        end_as_asked(request.response_status)?;
        Ok(Response::new(SimpleResponse { payload: zeros(request.response_size) }))
    }

    async fn cacheable_unary_call(
        &self,
        request: Request<SimpleRequest>,
    ) -> Result<Response<SimpleResponse>, Status> {
        self.unary_call(request).await
    }

    async fn streaming_output_call(
        &self,
        request: Request<StreamingOutputCallRequest>,
    ) -> Result<Response<ReceiverStream<Output>>, Status> {
        let request = request.into_inner();
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            if send_all(&sender, request.response_parameters).await
                && let Err(status) = end_as_asked(request.response_status)
            {
                let _ = sender.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn streaming_input_call(
        &self,
        request: Request<Streaming<StreamingInputCallRequest>>,
    ) -> Result<Response<StreamingInputCallResponse>, Status> {
        let mut requests = request.into_inner();
        let mut total = 0;
        while let Some(request) = requests.message().await? {
            total += request.payload.map_or(0, |payload| payload.body.len());
        }
        let aggregated_payload_size = i32::try_from(total).unwrap_or(i32::MAX);
        Ok(Response::new(StreamingInputCallResponse { aggregated_payload_size }))
    }

    async fn full_duplex_call(
        &self,
        request: Request<Streaming<StreamingOutputCallRequest>>,
    ) -> Result<Response<ReceiverStream<Output>>, Status> {
        let requests = request.into_inner();
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            if let Err(status) = answer_each(requests, &sender).await {
                // Nobody listens any more if this fails.
                let _ = sender.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn half_duplex_call(
        &self,
        request: Request<Streaming<StreamingOutputCallRequest>>,
    ) -> Result<Response<ReceiverStream<Output>>, Status> {
        let mut requests = request.into_inner();
        let mut asked = Vec::new();
        while let Some(request) = requests.message().await? {
            asked.extend(request.response_parameters);
        }
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move { send_all(&sender, asked).await });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn unimplemented_call(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        Err(Status::unimplemented("this method is here to be refused"))
    }
}

async fn answer_each(
    mut requests: Streaming<StreamingOutputCallRequest>,
    sender: &Sender<Output>,
) -> Result<(), Status> {
    while let Some(request) = requests.message().await? {
        end_as_asked(request.response_status)?;
        if !send_all(sender, request.response_parameters).await {
            break;
        }
    }
    Ok(())
}

/// Sends a payload of each asked size; false if nobody listens any more.
async fn send_all(sender: &Sender<Output>, asked: Vec<ResponseParameters>) -> bool {
    for parameters in asked {
        if let Ok(interval @ 1..) = u64::try_from(parameters.interval_us) {
            tokio::time::sleep(Duration::from_micros(interval)).await;
        }
        let response = StreamingOutputCallResponse { payload: zeros(parameters.size) };
        if sender.send(Ok(response)).await.is_err() {
            return false;
        }
    }
    true
}

/// The status that the request asks for, unless that is OK.
fn end_as_asked(asked: Option<EchoStatus>) -> Result<(), Status> {
    match asked {
        Some(status) if status.code != 0 => Err(Status::new(Code::from(status.code), status.message)),
        _ => Ok(()),
    }
}
