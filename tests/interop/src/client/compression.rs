//! Cases of compressed messages, some of which lie about themselves.

use anyhow::{Context, Result, ensure};
use peregrine::compression::compress_next;
use peregrine::{Code, Compression, Encoding, Request, iter, unfold};
use peregrine_interop::payload;
use peregrine_interop::pb::{
    BoolValue, ResponseParameters, SimpleRequest, StreamingInputCallRequest, StreamingOutputCallRequest,
};

use crate::cases::{Setup, expect_status};
use crate::streams::check_size;
use crate::unary::{LARGE_REPLY, large_request};

/// Sizes of the requests' payloads: the first compressed, the second not.
const REQUEST_SIZES: [(usize, bool); 2] = [(27_182, true), (45_904, false)];
/// Sizes of the replies' payloads, likewise.
const REPLY_SIZES: [(i32, bool); 2] = [(31_415, true), (92_653, false)];

fn is(value: bool) -> BoolValue {
    BoolValue { value, ..Default::default() }
}

fn compressed(value: bool) -> Compression {
    if value { Compression::only(Encoding::Gzip) } else { Compression::off() }
}

/// The server finds out a request that says it is compressed and is not; then one of each kind is taken.
pub(crate) async fn client_compressed_unary(setup: &Setup) -> Result<()> {
    let request =
        |expected| SimpleRequest { expect_compressed: Some(is(expected)).into(), ..large_request() };
    let probe = Request::new(request(true)).compress(compressed(false));
    expect_status(setup.test.unary_call(probe).await, Code::InvalidArgument, None)?;
    for value in [true, false] {
        let reply = setup.test.unary_call(Request::new(request(value)).compress(compressed(value))).await?;
        let body = reply.payload.as_option().map(|payload| payload.body.len());
        ensure!(body == Some(LARGE_REPLY as usize), "the reply's payload has {body:?} bytes");
    }
    Ok(())
}

pub(crate) async fn server_compressed_unary(setup: &Setup) -> Result<()> {
    for value in [true, false] {
        let request = SimpleRequest { response_compressed: Some(is(value)).into(), ..large_request() };
        let reply = setup.test.unary_call(request).await?;
        ensure!(reply.was_compressed() == value, "asked for compression: {value}, got: {}", !value);
        let body = reply.payload.as_option().map(|payload| payload.body.len());
        ensure!(body == Some(LARGE_REPLY as usize), "the reply's payload has {body:?} bytes");
    }
    Ok(())
}

/// The same for a stream, in which the first message is compressed and the second is not.
pub(crate) async fn client_compressed_streaming(setup: &Setup) -> Result<()> {
    let request = |(size, expected): (usize, bool)| StreamingInputCallRequest {
        expect_compressed: Some(is(expected)).into(),
        payload: Some(payload(size)).into(),
        ..Default::default()
    };
    let probe = Request::new(iter([request(REQUEST_SIZES[0])])).compress(compressed(false));
    expect_status(setup.test.streaming_input_call(probe).await, Code::InvalidArgument, None)?;
    let requests = unfold(REQUEST_SIZES.into_iter(), move |mut sizes| async move {
        let next = sizes.next()?;
        compress_next(next.1);
        Some((request(next), sizes))
    });
    let reply = setup.test.streaming_input_call(Request::new(requests).compress(compressed(true))).await?;
    ensure!(reply.aggregated_payload_size == 73_086, "the sum is {}", reply.aggregated_payload_size);
    Ok(())
}

pub(crate) async fn server_compressed_streaming(setup: &Setup) -> Result<()> {
    let asked = |(size, value): (i32, bool)| ResponseParameters {
        size,
        compressed: Some(is(value)).into(),
        ..Default::default()
    };
    let request = StreamingOutputCallRequest {
        response_parameters: REPLY_SIZES.map(asked).to_vec(),
        ..Default::default()
    };
    let mut replies = setup.test.streaming_output_call(request).await?;
    for (size, value) in REPLY_SIZES {
        let reply = replies.message().await?.context("the stream ended early")?;
        check_size(&reply, size)?;
        ensure!(replies.was_compressed() == value, "{size} bytes: asked for compression {value}");
    }
    ensure!(replies.message().await?.is_none(), "more replies than were asked for");
    Ok(())
}
