//! ORCA: the server's load, in the trailers of a call and by a stream of its own.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use peregrine::orca::LoadReport;
use peregrine_interop::pb::xds::data::orca::v3::OrcaLoadReport;
use peregrine_interop::pb::xds::service::orca::v3::{OpenRcaServiceClient, OrcaLoadReportRequest};
use peregrine_interop::pb::{ResponseParameters, SimpleRequest, StreamingOutputCallRequest, TestOrcaReport};

use crate::cases::Setup;

/// The report comes with the call.
pub(crate) async fn orca_per_rpc(setup: &Setup) -> Result<()> {
    check_policy(setup)?;
    let mut wanted = LoadReport::new();
    wanted.set_cpu_utilization(0.8210).set_memory_utilization(0.5847);
    wanted.set_request_cost("cost", 3456.32).set_utilization("util", 0.304_99);
    let mut asked = report(0.8210, 0.5847, 0.304_99);
    asked.request_cost.insert("cost".to_owned(), 3456.32);
    let request = SimpleRequest { orca_per_query_report: Some(asked).into(), ..Default::default() };
    let reply = setup.test.unary_call(request).await?;
    let found = LoadReport::from_trailers(reply.trailers()).context("no load report in the trailers")?;
    ensure!(found == wanted, "the report is {found:?}, not {wanted:?}");
    Ok(())
}

/// The server's report changes twice, and the stream of reports tells of it each time. Until the call ends that changes
/// it, the server lets no other run do so.
pub(crate) async fn orca_oob(setup: &Setup) -> Result<()> {
    check_policy(setup)?;
    let every = peregrine_interop::pb::google::protobuf::Duration { seconds: 1, ..Default::default() };
    let listen = OrcaLoadReportRequest { report_interval: Some(every).into(), ..Default::default() };
    let mut reports = OpenRcaServiceClient::new(setup.channel()?).stream_core_metrics(listen).await?;
    let (requests, call) = setup.test.full_duplex_call_sender();
    let mut replies = call.await?;
    for asked in [report(0.8210, 0.5847, 0.304_99), report(0.293_09, 0.2, 0.2039)] {
        let wanted = OrcaLoadReport {
            cpu_utilization: asked.cpu_utilization,
            mem_utilization: asked.memory_utilization,
            utilization: asked.utilization.clone(),
            ..Default::default()
        };
        requests
            .send(StreamingOutputCallRequest {
                orca_oob_report: Some(asked).into(),
                response_parameters: vec![ResponseParameters { size: 1, ..Default::default() }],
                ..Default::default()
            })
            .await?;
        replies.message().await?.context("the stream ended early")?;
        let heard = async {
            while let Some(report) = reports.message().await? {
                if report == wanted {
                    return Ok(());
                }
            }
            bail!("the stream of reports ended")
        };
        tokio::time::timeout(LIMIT, heard).await.context("the report did not come")??;
    }
    Ok(())
}

/// The specification has the reports pass through a balancer that the service configuration names. What such a balancer
/// hears is what these cases look at; a run that is told of another one is not the run that was meant.
fn check_policy(setup: &Setup) -> Result<()> {
    let config = setup.flags.text("service_config_json").context("--service_config_json is missing")?;
    ensure!(config.contains(POLICY), "the service configuration does not name {POLICY}");
    Ok(())
}

fn report(cpu: f64, memory: f64, util: f64) -> TestOrcaReport {
    TestOrcaReport {
        cpu_utilization: cpu,
        memory_utilization: memory,
        utilization: [("util".to_owned(), util)].into_iter().collect(),
        ..Default::default()
    }
}

/// The policy that the specification's clients have to be configured with.
const POLICY: &str = "test_backend_metrics_load_balancer";

/// How long a report may take that is due every second.
const LIMIT: Duration = Duration::from_secs(20);
