//! `grpc.health.v1.Health`: is the server, or one of its services, ready for calls?
//!
//! [`Health`] is the application's handle: cheap to clone, told what is ready. [`Health::service`] is what the
//! server mounts. The empty service name stands for the server as a whole and is SERVING from the start.

mod registry;
mod service;

use self::registry::Registry;
pub use self::registry::ServingStatus;
pub use self::service::HealthService;
use crate::pb::grpc::health::v1::HealthServer;

/// What an application says of its own readiness.
///
/// ```no_run
/// # use peregrine_services::health::{Health, ServingStatus};
/// # use peregrine_server::Server;
/// let health = Health::new();
/// health.set("greeter.v1.Greeter", ServingStatus::Serving);
/// let server = Server::builder().add_service(health.service());
/// // later, while it warms its caches anew:
/// health.set("greeter.v1.Greeter", ServingStatus::NotServing);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Health {
    registry: Registry,
}

impl Health {
    /// A server that is ready as a whole, with no service known by name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the status of a service; `""` is the server as a whole. Watchers hear of it if it is news.
    pub fn set(&self, service: &str, status: ServingStatus) {
        self.registry.set(service, Some(status));
    }

    /// Forgets a service: checks answer NOT_FOUND, watchers hear SERVICE_UNKNOWN.
    pub fn forget(&self, service: &str) {
        self.registry.set(service, None);
    }

    /// Says of every known service that it is not serving, for the beginning of a shutdown: load balancers then
    /// look elsewhere while running calls finish.
    pub fn shut_down(&self) {
        self.registry.set_all(ServingStatus::NotServing);
    }

    /// The service to mount. All services made from one handle tell the same.
    pub fn service(&self) -> HealthServer<HealthService> {
        HealthServer::new(HealthService::new(self.registry.clone()))
    }
}
