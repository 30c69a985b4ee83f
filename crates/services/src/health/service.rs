//! The handlers.

use peregrine_core::{Request, Response, Status, Stream, channel};

use super::registry::{Registry, ServingStatus};
use crate::pb::grpc::health::v1::health_check_response::ServingStatus as Wire;
use crate::pb::grpc::health::v1::{
    Health, HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse,
};

/// Services that List names at most; with more it ends RESOURCE_EXHAUSTED, as the protocol says.
const LIST_LIMIT: usize = 100;

/// The mounted service. Made by [`Health::service`](super::Health::service).
#[derive(Debug)]
pub struct HealthService {
    registry: Registry,
}

impl HealthService {
    pub(super) fn new(registry: Registry) -> Self {
        Self { registry }
    }
}

impl Health for HealthService {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match self.registry.status(&request.service) {
            Some(status) => Ok(response(Some(status)).into()),
            None => Err(Status::not_found(format!("service {:?} is not known here", request.service))),
        }
    }

    /// The status now, and each change of it. An unknown service is SERVICE_UNKNOWN until it is known: the stream
    /// does not end.
    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<impl Stream<Item = Result<HealthCheckResponse, Status>> + Send>, Status> {
        let mut watch = self.registry.watch(&request.service)?;
        Ok(Response::new(channel(move |replies| async move {
            loop {
                let status = watch.current();
                replies.send(response(status)).await?;
                watch.changed().await;
            }
        })))
    }

    async fn list(
        &self,
        _request: Request<HealthListRequest>,
    ) -> Result<Response<HealthListResponse>, Status> {
        let services = self.registry.list();
        if services.len() > LIST_LIMIT {
            return Err(Status::resource_exhausted(format!(
                "{} services are known, List names {LIST_LIMIT} at most",
                services.len()
            )));
        }
        let statuses = services.into_iter().map(|(name, status)| (name, response(Some(status)))).collect();
        Ok(HealthListResponse { statuses, ..Default::default() }.into())
    }
}

fn response(status: Option<ServingStatus>) -> HealthCheckResponse {
    let status = match status {
        Some(ServingStatus::Serving) => Wire::SERVING,
        Some(ServingStatus::NotServing) => Wire::NOT_SERVING,
        None => Wire::SERVICE_UNKNOWN,
    };
    HealthCheckResponse { status: status.into(), ..Default::default() }
}
