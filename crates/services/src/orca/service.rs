//! The service that streams reports.

use std::sync::Arc;
use std::time::Duration;

use peregrine_core::{Request, Response, Status, Stream, channel};

use super::Shared;
use crate::pb::xds::data::orca::v3::OrcaLoadReport;
use crate::pb::xds::service::orca::v3::{OpenRcaService, OrcaLoadReportRequest};

/// Streams that may run at once on all connections together; one more is refused (http2-abuse 50).
const MAX_STREAMS: usize = 10_000;

/// The mounted service. Made by [`Orca::service`](super::Orca::service).
#[derive(Debug)]
pub struct OrcaService {
    shared: Arc<Shared>,
    shortest: Duration,
}

impl OrcaService {
    pub(super) fn new(shared: Arc<Shared>, shortest: Duration) -> Self {
        Self { shared, shortest }
    }

    /// What the client asked for, but no shorter than the server lets it be.
    fn interval(&self, request: &OrcaLoadReportRequest) -> Duration {
        let asked = request.report_interval.as_option();
        let asked = asked.and_then(|asked| {
            let (seconds, nanos) = (u64::try_from(asked.seconds).ok()?, u32::try_from(asked.nanos).ok()?);
            Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into())))
        });
        asked.unwrap_or_default().max(self.shortest)
    }
}

impl OpenRcaService for OrcaService {
    async fn stream_core_metrics(
        &self,
        request: Request<OrcaLoadReportRequest>,
    ) -> Result<Response<impl Stream<Item = Result<OrcaLoadReport, Status>> + Send>, Status> {
        let interval = self.interval(&request);
        let place = Place::take(&self.shared)?;
        Ok(Response::new(channel(move |reports| async move {
            loop {
                reports.send(place.shared.current().out_of_band()).await?;
                tokio::time::sleep(interval).await;
            }
        })))
    }
}

/// One stream's share of [`MAX_STREAMS`], given back when it is dropped.
struct Place {
    shared: Arc<Shared>,
}

impl Place {
    fn take(shared: &Arc<Shared>) -> Result<Self, Status> {
        let mut state = shared.lock();
        if state.streams >= MAX_STREAMS {
            return Err(Status::resource_exhausted(format!("{MAX_STREAMS} clients are being told already")));
        }
        state.streams += 1;
        Ok(Self { shared: Arc::clone(shared) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.lock().streams -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(seconds: i64, nanos: i32) -> OrcaLoadReportRequest {
        let interval = buffa_types::google::protobuf::Duration { seconds, nanos, ..Default::default() };
        OrcaLoadReportRequest { report_interval: Some(interval).into(), ..Default::default() }
    }

    #[test]
    fn the_interval_is_what_was_asked_for_but_no_shorter_than_the_server_allows() {
        let service = OrcaService::new(Arc::default(), Duration::from_secs(30));
        let interval = |request| service.interval(&request);
        assert_eq!(interval(OrcaLoadReportRequest::default()), Duration::from_secs(30));
        assert_eq!(interval(asking(1, 0)), Duration::from_secs(30));
        assert_eq!(interval(asking(31, 500_000_000)), Duration::from_millis(31_500));
        assert_eq!(interval(asking(-100, 0)), Duration::from_secs(30));
        assert_eq!(interval(asking(40, -1)), Duration::from_secs(30), "not a duration");
        assert!(interval(asking(i64::MAX, i32::MAX)) > Duration::from_secs(1 << 62));
    }

    #[test]
    fn http2_abuse_50_streams_are_counted_and_their_number_is_bounded() {
        let shared = Arc::<Shared>::default();
        let mut places: Vec<Place> = (0..MAX_STREAMS).map(|_| Place::take(&shared).unwrap()).collect();
        let refused = Place::take(&shared).err().unwrap();
        assert_eq!(refused.code(), peregrine_core::Code::ResourceExhausted);
        places.pop();
        assert!(Place::take(&shared).is_ok());
    }
}
