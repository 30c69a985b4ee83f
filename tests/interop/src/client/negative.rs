//! Cases in which the server breaks off or interrupts: for `interop-raw-server`, and other stacks' like it.

use anyhow::{Result, ensure};
use peregrine::Code;
use tokio::task::JoinSet;

use crate::cases::{Setup, expect_status};
use crate::unary::{large_request, large_unary};

/// The server says GOAWAY before it answers; the answer counts, and the next call takes another connection
/// (wire-rules 78).
pub(crate) async fn goaway(setup: &Setup) -> Result<()> {
    large_unary(setup).await?;
    large_unary(setup).await
}

/// The server resets the stream with NO_ERROR before the response is complete: whatever has come by then, the call has
/// no status and ends INTERNAL (wire-rules 65, 76).
pub(crate) async fn reset(setup: &Setup) -> Result<()> {
    expect_status(setup.test.unary_call(large_request()).await, Code::Internal, None)
}

/// PINGs between the frames of the response disturb nothing. The server looks whether they are answered.
pub(crate) async fn ping(setup: &Setup) -> Result<()> {
    large_unary(setup).await
}

/// The first call brings the news that one stream at a time is allowed; the next ones wait for each other (wire-rules
/// 83).
pub(crate) async fn max_streams(setup: &Setup) -> Result<()> {
    large_unary(setup).await?;
    let mut calls = JoinSet::new();
    for _ in 0..10 {
        let client = setup.test.clone();
        calls.spawn(async move { client.unary_call(large_request()).await });
    }
    let results = calls.join_all().await;
    for result in results {
        ensure!(result.is_ok(), "a call that had to wait failed: {result:?}");
    }
    Ok(())
}
