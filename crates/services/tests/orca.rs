//! Load reports as a client gets them, in virtual time.
#![cfg(feature = "orca")]

use std::time::Duration;

use peregrine_server::Server;
use peregrine_services::orca::Orca;
use peregrine_testkit::peer::message;
use peregrine_testkit::{Received, serve, virtual_time};
use tokio::time::Instant;

const PATH: &str = "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics";
/// `report_interval { seconds: 60 }`.
const EVERY_MINUTE: &[u8] = &[0x0a, 2, 0x08, 60];

/// gRFC A51: a report at once, then one an interval, each with what is true by then; request costs are of calls.
#[test]
fn a_client_is_told_at_once_and_then_every_interval() {
    virtual_time(async {
        let orca = Orca::new();
        orca.update(|report| {
            report.set_cpu_utilization(0.5).set_request_cost("rows", 1.0);
        });
        let server = serve(Server::builder().add_service(orca.service()));
        let mut peer = server.peer().await;
        let start = Instant::now();
        let stream = peer.request(PATH, &[], &message(EVERY_MINUTE), true).await;
        let first = peer.messages(stream, 1).await;
        assert_eq!(first.messages[0], cpu(0.5));
        assert_eq!(start.elapsed(), Duration::ZERO);
        orca.update(|report| {
            report.set_cpu_utilization(0.75);
        });
        let Some(Received::Data { data, .. }) = peer.frame_of(stream).await else {
            panic!("no second report")
        };
        assert_eq!(data, message(&cpu(0.75)));
        assert_eq!(start.elapsed(), Duration::from_mins(1));
        drop(peer);
        server.stop().await;
    });
}

/// `cpu_utilization` alone: field 1, fixed64.
fn cpu(value: f64) -> Vec<u8> {
    [&[0x09][..], &value.to_le_bytes()].concat()
}
