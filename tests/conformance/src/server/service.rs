//! The service of the suite: the methods with one answer, and the way to the others in `streams`.

use std::time::Duration;

use buffa_types::google::protobuf::Any;
use peregrine::{MetadataMap, Request, Response, Status, Stream, Streaming};
use peregrine_conformance::pb::conformance_payload::RequestInfo;
use peregrine_conformance::pb::unary_response_definition::Response as Asked;
use peregrine_conformance::pb::{
    BidiStreamRequest, BidiStreamResponse, ClientStreamRequest, ClientStreamResponse, ConformancePayload,
    ConformanceService, Header, IdempotentUnaryRequest, IdempotentUnaryResponse, ServerStreamRequest,
    ServerStreamResponse, UnaryRequest, UnaryResponse, UnaryResponseDefinition,
};
use peregrine_conformance::{any, errors, headers};

use crate::streams;
use crate::view::View;

/// The service has no state: every answer follows from its request.
pub(crate) struct Conformance;

impl ConformanceService for Conformance {
    async fn unary(&self, request: Request<UnaryRequest>) -> Result<Response<UnaryResponse>, Status> {
        let view = View::of(&request);
        let info = view.info(vec![any(&*request)]);
        let reply = answer(request.response_definition.as_option(), info).await?;
        Ok(reply.map(|payload| UnaryResponse { payload: Some(payload).into(), ..Default::default() }))
    }

    async fn idempotent_unary(
        &self,
        request: Request<IdempotentUnaryRequest>,
    ) -> Result<Response<IdempotentUnaryResponse>, Status> {
        let view = View::of(&request);
        let info = view.info(vec![any(&*request)]);
        let reply = answer(request.response_definition.as_option(), info).await?;
        Ok(reply
            .map(|payload| IdempotentUnaryResponse { payload: Some(payload).into(), ..Default::default() }))
    }

    async fn client_stream(
        &self,
        request: Request<Streaming<ClientStreamRequest>>,
    ) -> Result<Response<ClientStreamResponse>, Status> {
        let view = View::of(&request);
        let mut messages = request.into_inner();
        let mut definition = None;
        let mut requests: Vec<Any> = Vec::new();
        while let Some(message) = messages.message().await? {
            requests.push(any(&message));
            if requests.len() == 1 {
                definition = message.response_definition.into_option();
            }
        }
        let reply = answer(definition.as_ref(), view.info(requests)).await?;
        Ok(reply.map(|payload| ClientStreamResponse { payload: Some(payload).into(), ..Default::default() }))
    }

    async fn server_stream(
        &self,
        request: Request<ServerStreamRequest>,
    ) -> Result<Response<impl Stream<Item = Result<ServerStreamResponse, Status>> + Send>, Status> {
        streams::server_stream(request)
    }

    async fn bidi_stream(
        &self,
        request: Request<Streaming<BidiStreamRequest>>,
    ) -> Result<Response<impl Stream<Item = Result<BidiStreamResponse, Status>> + Send>, Status> {
        streams::bidi_stream(request).await
    }
}

/// The one answer that `definition` asks for, after its delay. Without a definition: what the server saw.
async fn answer(
    definition: Option<&UnaryResponseDefinition>,
    info: RequestInfo,
) -> Result<Response<ConformancePayload>, Status> {
    let Some(definition) = definition else { return Ok(payload(&[], Some(info)).into()) };
    tokio::time::sleep(Duration::from_millis(definition.response_delay_ms.into())).await;
    let data = match &definition.response {
        Some(Asked::Error(error)) => {
            // An error instead of an answer has one list of metadata, which leaves as trailers (wire-rules 62).
            let mut status = errors::to_status(error, Some(any(&info)));
            add(&definition.response_headers, status.metadata_mut())?;
            add(&definition.response_trailers, status.metadata_mut())?;
            return Err(status);
        }
        Some(Asked::ResponseData(data)) => &data[..],
        None => &[],
    };
    let mut response = Response::new(payload(data, Some(info)));
    add(&definition.response_headers, response.metadata_mut())?;
    add(&definition.response_trailers, response.trailers_mut())?;
    Ok(response)
}

pub(crate) fn payload(data: &[u8], info: Option<RequestInfo>) -> ConformancePayload {
    ConformancePayload {
        data: bytes::Bytes::copy_from_slice(data),
        request_info: info.into(),
        ..Default::default()
    }
}

/// Adds asked metadata; what cannot be metadata is the caller's mistake.
pub(crate) fn add(asked: &[Header], metadata: &mut MetadataMap) -> Result<(), Status> {
    headers::add(asked, metadata).map_err(|error| Status::invalid_argument(format!("{error:#}")))
}
