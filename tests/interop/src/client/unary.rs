//! Cases of one request and one reply.

use anyhow::{Result, ensure};
use peregrine::{Code, iter};
use peregrine_interop::payload;
use peregrine_interop::pb::{EchoStatus, Empty, SimpleRequest, StreamingOutputCallRequest};

use crate::cases::{Setup, expect_status};

/// Sizes of `large_unary`, in bytes.
pub(crate) const LARGE_REQUEST: usize = 271_828;
/// The reply's.
pub(crate) const LARGE_REPLY: i32 = 314_159;
/// Bytes of `very_large_request`.
const VERY_LARGE_REQUEST: usize = 10 << 20;

pub(crate) async fn empty_unary(setup: &Setup) -> Result<()> {
    let reply = setup.test.empty_call(Empty::default()).await?;
    ensure!(reply.into_inner() == Empty::default(), "the reply is not empty");
    Ok(())
}

pub(crate) fn large_request() -> SimpleRequest {
    SimpleRequest {
        response_size: LARGE_REPLY,
        payload: Some(payload(LARGE_REQUEST)).into(),
        ..Default::default()
    }
}

pub(crate) async fn large_unary(setup: &Setup) -> Result<()> {
    let reply = setup.test.unary_call(large_request()).await?;
    let body = reply.payload.as_option().map(|payload| payload.body.len());
    ensure!(body == Some(LARGE_REPLY as usize), "the reply's payload has {body:?} bytes");
    Ok(())
}

/// More than a server takes by default; those of the suite take it.
pub(crate) async fn very_large_request(setup: &Setup) -> Result<()> {
    let request = SimpleRequest {
        response_size: 10,
        payload: Some(payload(VERY_LARGE_REQUEST)).into(),
        ..Default::default()
    };
    let reply = setup.test.unary_call(request).await?;
    let body = reply.payload.as_option().map(|payload| payload.body.len());
    ensure!(body == Some(10), "the reply's payload has {body:?} bytes");
    Ok(())
}

pub(crate) async fn status_code_and_message(setup: &Setup) -> Result<()> {
    asked_status(setup, "test status message", true).await
}

/// Tab, line ends, and characters inside and outside of the basic multilingual plane (wire-rules 60).
pub(crate) async fn special_status_message(setup: &Setup) -> Result<()> {
    let message = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1F608}\t\n";
    asked_status(setup, message, false).await
}

async fn asked_status(setup: &Setup, message: &str, streaming_too: bool) -> Result<()> {
    let status = EchoStatus { code: Code::Unknown as i32, message: message.to_owned(), ..Default::default() };
    let request = SimpleRequest { response_status: Some(status.clone()).into(), ..Default::default() };
    expect_status(setup.test.unary_call(request).await, Code::Unknown, Some(message))?;
    if streaming_too {
        let request =
            StreamingOutputCallRequest { response_status: Some(status).into(), ..Default::default() };
        let mut replies = setup.test.full_duplex_call(iter([request])).await?;
        expect_status(replies.message().await, Code::Unknown, Some(message))?;
    }
    Ok(())
}

pub(crate) async fn unimplemented_method(setup: &Setup) -> Result<()> {
    expect_status(setup.test.unimplemented_call(Empty::default()).await, Code::Unimplemented, None)
}

pub(crate) async fn unimplemented_service(setup: &Setup) -> Result<()> {
    expect_status(setup.unimplemented.unimplemented_call(Empty::default()).await, Code::Unimplemented, None)
}
