//! Many calls in a row: on one channel, or each on a channel of its own.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use peregrine_interop::payload;
use peregrine_interop::pb::{SimpleRequest, TestServiceClient};

use crate::cases::Setup;

/// What the soak flags say, with the specification's defaults.
struct Plan {
    iterations: u64,
    max_failures: u64,
    acceptable: Duration,
    between: Duration,
    overall: Duration,
    request_size: usize,
    response_size: i32,
}

impl Plan {
    fn new(setup: &Setup) -> Result<Self> {
        let number = |name, default| setup.flags.number(name, default);
        Ok(Self {
            iterations: number("soak_iterations", 10)?,
            max_failures: number("soak_max_failures", 0)?,
            acceptable: Duration::from_millis(number("soak_per_iteration_max_acceptable_latency_ms", 1000)?),
            between: Duration::from_millis(number("soak_min_time_ms_between_rpcs", 0)?),
            overall: Duration::from_secs(number("soak_overall_timeout_seconds", 10)?),
            request_size: usize::try_from(number("soak_request_size", 271_828)?)?,
            response_size: i32::try_from(number("soak_response_size", 314_159)?)?,
        })
    }
}

pub(crate) async fn rpc_soak(setup: &Setup) -> Result<()> {
    soak(setup, false).await
}

pub(crate) async fn channel_soak(setup: &Setup) -> Result<()> {
    soak(setup, true).await
}

async fn soak(setup: &Setup, new_channels: bool) -> Result<()> {
    let plan = Plan::new(setup)?;
    let begun = Instant::now();
    let (mut done, mut failures) = (0, Vec::new());
    while done < plan.iterations && begun.elapsed() < plan.overall {
        let call_begun = Instant::now();
        let client = if new_channels { TestServiceClient::new(setup.channel()?) } else { setup.test.clone() };
        if let Err(error) = one(&client, &plan).await {
            failures.push(format!("{error:#}"));
        } else if call_begun.elapsed() > plan.acceptable {
            failures.push(format!("took {:?}", call_begun.elapsed()));
        }
        done += 1;
        tokio::time::sleep(plan.between.saturating_sub(call_begun.elapsed())).await;
    }
    ensure!(done == plan.iterations, "{done} of {} calls were made in {:?}", plan.iterations, plan.overall);
    ensure!(failures.len() as u64 <= plan.max_failures, "{} calls failed: {failures:?}", failures.len());
    Ok(())
}

async fn one(client: &TestServiceClient, plan: &Plan) -> Result<()> {
    let request = SimpleRequest {
        response_size: plan.response_size,
        payload: Some(payload(plan.request_size)).into(),
        ..Default::default()
    };
    let reply = client.unary_call(request).await?;
    let size = reply.payload.as_option().map(|payload| payload.body.len());
    ensure!(size == Some(plan.response_size as usize), "a payload of {size:?} bytes");
    Ok(())
}
