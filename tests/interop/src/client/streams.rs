//! Cases of streams.

use anyhow::{Context, Result, ensure};
use peregrine::iter;
use peregrine_interop::payload;
use peregrine_interop::pb::{
    ResponseParameters, StreamingInputCallRequest, StreamingOutputCallRequest, StreamingOutputCallResponse,
};

use crate::cases::Setup;

/// Sizes that the specification asks for: of a reply's payload, and of the request's.
pub(crate) const SIZES: [(i32, usize); 4] = [(31_415, 27_182), (9, 8), (2_653, 1_828), (58_979, 45_904)];

pub(crate) fn asks_for(size: i32) -> ResponseParameters {
    ResponseParameters { size, ..Default::default() }
}

pub(crate) fn ping((reply, request): (i32, usize)) -> StreamingOutputCallRequest {
    StreamingOutputCallRequest {
        response_parameters: vec![asks_for(reply)],
        payload: Some(payload(request)).into(),
        ..Default::default()
    }
}

pub(crate) fn check_size(reply: &StreamingOutputCallResponse, size: i32) -> Result<()> {
    let body = reply.payload.as_option().map(|payload| payload.body.len());
    ensure!(body == Some(size as usize), "a reply of {size} bytes was expected, not of {body:?}");
    Ok(())
}

pub(crate) async fn client_streaming(setup: &Setup) -> Result<()> {
    let requests = SIZES.map(|(_, size)| StreamingInputCallRequest {
        payload: Some(payload(size)).into(),
        ..Default::default()
    });
    let reply = setup.test.streaming_input_call(iter(requests)).await?;
    ensure!(reply.aggregated_payload_size == 74_922, "the sum is {}", reply.aggregated_payload_size);
    Ok(())
}

pub(crate) async fn server_streaming(setup: &Setup) -> Result<()> {
    let request = StreamingOutputCallRequest {
        response_parameters: SIZES.map(|(size, _)| asks_for(size)).to_vec(),
        ..Default::default()
    };
    let mut replies = setup.test.streaming_output_call(request).await?;
    for (size, _) in SIZES {
        let reply = replies.message().await?.context("the stream ended early")?;
        check_size(&reply, size)?;
    }
    ensure!(replies.message().await?.is_none(), "more replies than were asked for");
    Ok(())
}

/// The next request leaves only when the reply to the last one is here.
pub(crate) async fn ping_pong(setup: &Setup) -> Result<()> {
    let (requests, call) = setup.test.full_duplex_call_sender();
    let mut replies = call.await?;
    for sizes in SIZES {
        requests.send(ping(sizes)).await?;
        let reply = replies.message().await?.context("the stream ended early")?;
        check_size(&reply, sizes.0)?;
    }
    drop(requests);
    ensure!(replies.message().await?.is_none(), "more replies than requests");
    Ok(())
}

pub(crate) async fn empty_stream(setup: &Setup) -> Result<()> {
    let mut replies = setup.test.full_duplex_call(iter([])).await?;
    ensure!(replies.message().await?.is_none(), "a reply without a request");
    Ok(())
}
