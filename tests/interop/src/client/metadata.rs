//! Metadata both ways.

use anyhow::{Context, Result, ensure};
use peregrine::{MetadataMap, Request, iter};
use peregrine_interop::{ECHO_INITIAL, ECHO_TRAILING};

use crate::cases::Setup;
use crate::streams::{SIZES, check_size, ping};
use crate::unary::large_request;

const INITIAL: &str = "test_initial_metadata_value";
const TRAILING: &[u8] = &[0xab, 0xab, 0xab];

/// On a unary call and on a stream.
pub(crate) async fn custom_metadata(setup: &Setup) -> Result<()> {
    let mut request = Request::new(large_request());
    add(request.metadata_mut())?;
    let reply = setup.test.unary_call(request).await?;
    check(reply.metadata(), reply.trailers())?;

    let mut request = Request::new(iter([ping(SIZES[0])]));
    add(request.metadata_mut())?;
    let mut replies = setup.test.full_duplex_call(request).await?;
    let reply = replies.message().await?.context("no reply")?;
    check_size(&reply, SIZES[0].0)?;
    ensure!(replies.message().await?.is_none(), "more replies than requests");
    let headers = replies.headers().await?.clone();
    let trailers = replies.trailers().context("no trailers at the end of the stream")?;
    check(&headers, trailers)
}

fn add(metadata: &mut MetadataMap) -> Result<()> {
    metadata.insert(ECHO_INITIAL, INITIAL)?;
    metadata.insert_bin(ECHO_TRAILING, TRAILING)?;
    Ok(())
}

fn check(initial: &MetadataMap, trailing: &MetadataMap) -> Result<()> {
    let value = initial.get(ECHO_INITIAL);
    ensure!(value == Some(INITIAL), "{ECHO_INITIAL} came back as {value:?}");
    let value = trailing.get_bin(ECHO_TRAILING);
    ensure!(value == Some(TRAILING), "{ECHO_TRAILING} came back as {value:?}");
    Ok(())
}
