//! Deadlines and cancellation.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use peregrine::{Code, Request, Sender, unfold};
use peregrine_interop::pb::{StreamingInputCallRequest, StreamingOutputCallRequest};

use crate::cases::{Setup, expect_status};
use crate::streams::{SIZES, check_size, ping};
use crate::unary::empty_unary;

/// The request stream stays open and asks for nothing, so the only end is the deadline.
pub(crate) async fn timeout_on_sleeping_server(setup: &Setup) -> Result<()> {
    let silence = unfold((), |()| std::future::pending::<Option<(StreamingOutputCallRequest, ())>>());
    let call = setup.test.full_duplex_call(Request::new(silence).timeout(Duration::from_millis(1)));
    let result = match call.await {
        Ok(mut replies) => replies.message().await,
        Err(status) => Err(status),
    };
    expect_status(result, Code::DeadlineExceeded, None)
}

/// Dropping a call cancels it: the server gets RST_STREAM(CANCEL), the sender says CANCELLED, the channel lives on.
pub(crate) async fn cancel_after_begin(setup: &Setup) -> Result<()> {
    let (requests, call) = setup.test.streaming_input_call_sender();
    let mut call = Box::pin(call);
    tokio::select! {
        biased;
        reply = &mut call => bail!("the call ended before it was cancelled: {reply:?}"),
        () = tokio::task::yield_now() => {}
    }
    drop(call);
    expect_refused(&requests, &StreamingInputCallRequest::default()).await?;
    empty_unary(setup).await
}

/// The same with a reply in between.
pub(crate) async fn cancel_after_first_response(setup: &Setup) -> Result<()> {
    let (requests, call) = setup.test.full_duplex_call_sender();
    let mut replies = call.await?;
    requests.send(ping(SIZES[0])).await?;
    let reply = replies.message().await?.context("the stream ended early")?;
    check_size(&reply, SIZES[0].0)?;
    drop(replies);
    expect_refused(&requests, &ping(SIZES[1])).await?;
    empty_unary(setup).await
}

/// The call hears of its end as soon as its task runs; until then it may still take a few messages.
async fn expect_refused<T: Clone>(requests: &Sender<T>, message: &T) -> Result<()> {
    for _ in 0..1_000 {
        if let Err(status) = requests.send(message.clone()).await {
            return expect_status(Err::<(), _>(status), Code::Cancelled, None);
        }
        tokio::task::yield_now().await;
    }
    bail!("a cancelled call went on taking messages")
}
