//! The handlers, as the interop specification describes them.

use std::sync::Arc;
use std::time::Duration;

use peregrine::compression::compress_next;
use peregrine::orca::{LoadReport, Orca};
use peregrine::{Code, Encoding, MetadataMap, Request, Response, Status, Stream, Streaming, channel};
use peregrine_interop::pb::{
    BoolValue, EchoStatus, Empty, ResponseParameters, SimpleRequest, SimpleResponse,
    StreamingInputCallRequest, StreamingInputCallResponse, StreamingOutputCallRequest,
    StreamingOutputCallResponse, TestOrcaReport, TestService as Service,
};
use peregrine_interop::{ECHO_INITIAL, ECHO_TRAILING, payload};
use tokio::sync::Mutex;

/// Every answer follows from its request, save the load reports.
pub(crate) struct TestService {
    orca: Orca,
    /// Held by the call that changes the server's load report, so that runs at the same time do not meet.
    reporting: Arc<Mutex<()>>,
}

impl TestService {
    pub(crate) fn new(orca: Orca) -> Self {
        Self { orca, reporting: Arc::default() }
    }
}

impl Service for TestService {
    async fn empty_call(&self, request: Request<Empty>) -> Result<Response<Empty>, Status> {
        let mut response = Response::new(Empty::default());
        echo_metadata(request.metadata(), &mut response)?;
        Ok(response)
    }

    async fn unary_call(&self, request: Request<SimpleRequest>) -> Result<Response<SimpleResponse>, Status> {
        let mut response = Response::new(SimpleResponse::default());
        echo_metadata(request.metadata(), &mut response)?;
        check_compressed(request.expect_compressed.as_option(), request.was_compressed())?;
        if let Some(status) = request.response_status.as_option() {
            asked_status(status)?;
        }
        if let Some(asked) = request.orca_per_query_report.as_option() {
            let mut report = LoadReport::new();
            fill(&mut report, asked);
            report.attach(response.trailers_mut());
        }
        response.payload = Some(payload(asked_size(request.response_size)?)).into();
        let compressed = is_true(request.response_compressed.as_option());
        Ok(if compressed { response.compress(Encoding::Gzip) } else { response })
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
    ) -> Result<Response<impl Stream<Item = Result<StreamingOutputCallResponse, Status>> + Send>, Status>
    {
        let request = request.into_inner();
        let is_asked = |parameters: &ResponseParameters| is_true(parameters.compressed.as_option());
        let compressed = request.response_parameters.iter().any(is_asked);
        let response = Response::new(channel(move |replies| async move {
            for parameters in &request.response_parameters {
                let reply = reply(parameters).await?;
                compress_next(is_asked(parameters));
                replies.send(reply).await?;
            }
            Ok(())
        }));
        Ok(if compressed { response.compress(Encoding::Gzip) } else { response })
    }

    async fn streaming_input_call(
        &self,
        request: Request<Streaming<StreamingInputCallRequest>>,
    ) -> Result<Response<StreamingInputCallResponse>, Status> {
        let mut messages = request.into_inner();
        let mut total = 0;
        while let Some(message) = messages.message().await? {
            check_compressed(message.expect_compressed.as_option(), messages.was_compressed())?;
            total += message.payload.as_option().map_or(0, |payload| payload.body.len());
        }
        let total = i32::try_from(total).map_err(|_| Status::out_of_range("more than an int32 can count"))?;
        Ok(StreamingInputCallResponse { aggregated_payload_size: total, ..Default::default() }.into())
    }

    async fn full_duplex_call(
        &self,
        request: Request<Streaming<StreamingOutputCallRequest>>,
    ) -> Result<Response<impl Stream<Item = Result<StreamingOutputCallResponse, Status>> + Send>, Status>
    {
        let metadata = request.metadata().clone();
        let mut requests = request.into_inner();
        let (orca, reporting) = (self.orca.clone(), Arc::clone(&self.reporting));
        let mut response = Response::new(channel(move |replies| async move {
            let mut turn = None;
            while let Some(request) = requests.message().await? {
                if let Some(asked) = request.orca_oob_report.as_option() {
                    if turn.is_none() {
                        turn = Some(reporting.lock().await);
                    }
                    orca.update(|report| {
                        *report = LoadReport::new();
                        fill(report, asked);
                    });
                }
                if let Some(status) = request.response_status.as_option() {
                    asked_status(status)?;
                }
                for parameters in &request.response_parameters {
                    replies.send(reply(parameters).await?).await?;
                }
            }
            Ok(())
        }));
        echo_metadata(&metadata, &mut response)?;
        Ok(response)
    }

    /// Reads every request before it answers the first.
    async fn half_duplex_call(
        &self,
        request: Request<Streaming<StreamingOutputCallRequest>>,
    ) -> Result<Response<impl Stream<Item = Result<StreamingOutputCallResponse, Status>> + Send>, Status>
    {
        let mut requests = request.into_inner();
        Ok(Response::new(channel(move |replies| async move {
            let mut kept = Vec::new();
            while let Some(request) = requests.message().await? {
                kept.push(request);
            }
            for parameters in kept.iter().flat_map(|request| &request.response_parameters) {
                replies.send(reply(parameters).await?).await?;
            }
            Ok(())
        })))
    }
}

/// Sends back the two keys of the specification: one as initial metadata, one as trailing.
fn echo_metadata<T>(request: &MetadataMap, response: &mut Response<T>) -> Result<(), Status> {
    if let Some(value) = request.get(ECHO_INITIAL) {
        response.metadata_mut().insert(ECHO_INITIAL, value)?;
    }
    if let Some(value) = request.get_bin(ECHO_TRAILING) {
        response.trailers_mut().insert_bin(ECHO_TRAILING, value)?;
    }
    Ok(())
}

fn is_true(value: Option<&BoolValue>) -> bool {
    value.is_some_and(|value| value.value)
}

/// Some requests say of themselves whether they are compressed. One that is not what it says is refused, which the
/// compression cases begin with: so they know a server that looks.
fn check_compressed(expected: Option<&BoolValue>, was_compressed: bool) -> Result<(), Status> {
    match expected.map(|expected| expected.value) {
        Some(true) if !was_compressed => Err(Status::invalid_argument("the message was not compressed")),
        Some(false) if was_compressed => Err(Status::invalid_argument("the message was compressed")),
        _ => Ok(()),
    }
}

/// Ends the call as the request asks, if it asks for an error.
fn asked_status(status: &EchoStatus) -> Result<(), Status> {
    match Code::from_i32(status.code) {
        Code::Ok => Ok(()),
        code => Err(Status::new(code, status.message.clone())),
    }
}

/// Says in a load report what the client wants it to say.
fn fill(report: &mut LoadReport, asked: &TestOrcaReport) {
    report.set_cpu_utilization(asked.cpu_utilization).set_memory_utilization(asked.memory_utilization);
    for (name, &value) in &asked.utilization {
        report.set_utilization(name, value);
    }
    for (name, &value) in &asked.request_cost {
        report.set_request_cost(name, value);
    }
}

async fn reply(parameters: &ResponseParameters) -> Result<StreamingOutputCallResponse, Status> {
    if let Ok(micros @ 1..) = u64::try_from(parameters.interval_us) {
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
    let body = payload(asked_size(parameters.size)?);
    Ok(StreamingOutputCallResponse { payload: Some(body).into(), ..Default::default() })
}

fn asked_size(size: i32) -> Result<usize, Status> {
    usize::try_from(size).map_err(|_| Status::invalid_argument(format!("a payload cannot have {size} bytes")))
}
