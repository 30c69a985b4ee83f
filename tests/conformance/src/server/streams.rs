//! The methods with a stream of answers.
//!
//! A handler returns its response as soon as it knows the headers, so that they leave before any delay; everything
//! after that, the error included, comes out of the stream.

use std::time::Duration;

use buffa_types::google::protobuf::Any;
use peregrine::{Request, Response, Sender, Status, Stream, Streaming, channel};
use peregrine_conformance::pb::conformance_payload::RequestInfo;
use peregrine_conformance::pb::{
    BidiStreamRequest, BidiStreamResponse, ConformancePayload, ServerStreamRequest, ServerStreamResponse,
    StreamResponseDefinition,
};
use peregrine_conformance::{any, errors};

use crate::service::{add, payload};
use crate::view::View;

pub(crate) fn server_stream(
    request: Request<ServerStreamRequest>,
) -> Result<Response<impl Stream<Item = Result<ServerStreamResponse, Status>> + Send>, Status> {
    let view = View::of(&request);
    let requests = vec![any(&*request)];
    let definition = request.into_inner().response_definition.into_option().unwrap_or_default();
    let answers = Answers { definition: definition.clone(), view, sent: 0 };
    respond(
        &definition,
        channel(move |replies| async move {
            let wrap = |payload| ServerStreamResponse { payload: Some(payload).into(), ..Default::default() };
            answers.send_rest(&replies, requests, wrap).await
        }),
    )
}

pub(crate) async fn bidi_stream(
    request: Request<Streaming<BidiStreamRequest>>,
) -> Result<Response<impl Stream<Item = Result<BidiStreamResponse, Status>> + Send>, Status> {
    let view = View::of(&request);
    let mut messages = request.into_inner();
    let first = messages.message().await?;
    let definition =
        first.as_ref().and_then(|first| first.response_definition.as_option()).cloned().unwrap_or_default();
    let full_duplex = first.as_ref().is_some_and(|first| first.full_duplex);
    let mut answers = Answers { definition: definition.clone(), view, sent: 0 };
    respond(
        &definition,
        channel(move |replies| async move {
            let wrap = |payload| BidiStreamResponse { payload: Some(payload).into(), ..Default::default() };
            let mut requests = Vec::new();
            let mut next = first;
            while let Some(message) = next {
                requests.push(any(&message));
                if full_duplex {
                    if !answers.has_more() {
                        break;
                    }
                    let info = answers.info_for_next(std::mem::take(&mut requests));
                    answers.send_next(&replies, info, wrap).await?;
                }
                next = messages.message().await?;
            }
            answers.send_rest(&replies, requests, wrap).await
        }),
    )
}

/// A response with the metadata that `definition` asks for.
fn respond<S>(definition: &StreamResponseDefinition, stream: S) -> Result<Response<S>, Status> {
    let mut response = Response::new(stream);
    add(&definition.response_headers, response.metadata_mut())?;
    add(&definition.response_trailers, response.trailers_mut())?;
    Ok(response)
}

/// The answers of one call, and how many of them are out.
struct Answers {
    definition: StreamResponseDefinition,
    view: View,
    sent: usize,
}

impl Answers {
    fn has_more(&self) -> bool {
        self.sent < self.definition.response_data.len()
    }

    /// What the next answer says of the call: all that is known with the first one, only the new requests with a later
    /// one.
    fn info_for_next(&self, requests: Vec<Any>) -> RequestInfo {
        match self.sent {
            0 => self.view.info(requests),
            _ => RequestInfo { requests, ..Default::default() },
        }
    }

    async fn send_next<R>(
        &mut self,
        replies: &Sender<R>,
        info: impl Into<Option<RequestInfo>>,
        wrap: impl Fn(ConformancePayload) -> R,
    ) -> Result<(), Status> {
        tokio::time::sleep(Duration::from_millis(self.definition.response_delay_ms.into())).await;
        let payload = payload(&self.definition.response_data[self.sent], info.into());
        self.sent += 1;
        replies.send(wrap(payload)).await
    }

    /// Sends what is left, and ends as the caller asked. `requests` are told with the first answer, or with the error
    /// that comes instead of it.
    async fn send_rest<R>(
        mut self,
        replies: &Sender<R>,
        requests: Vec<Any>,
        wrap: impl Fn(ConformancePayload) -> R,
    ) -> Result<(), Status> {
        let mut info = (self.sent == 0).then(|| self.view.info(requests));
        while self.has_more() {
            self.send_next(replies, info.take(), &wrap).await?;
        }
        let Some(error) = self.definition.error.as_option() else { return Ok(()) };
        let mut status = errors::to_status(error, info.map(|info| any(&info)));
        add(&self.definition.response_trailers, status.metadata_mut())?;
        Err(status)
    }
}
