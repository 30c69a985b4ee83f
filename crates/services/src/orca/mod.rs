//! ORCA load reports (gRFC A51): a server tells those who balance calls over several servers how busy it is.
//!
//! Two ways. [`LoadReport::attach`] puts a report about one call among that call's trailers, where the client finds it
//! with [`LoadReport::from_trailers`]. [`Orca`] keeps the report about the server as a whole and serves it as
//! `xds.service.orca.v3.OpenRcaService`, from which clients hear even while they make no calls.

mod report;
mod service;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use self::report::{LoadReport, TRAILER};
pub use self::service::OrcaService;
use crate::pb::xds::service::orca::v3::OpenRcaServiceServer;

/// How often a client is told at most, unless [`Orca::shortest_interval`] says otherwise.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(30);

/// What an application says of its server's load: cheap to clone.
///
/// ```no_run
/// # use peregrine_services::orca::Orca;
/// # use peregrine_server::Server;
/// let orca = Orca::new();
/// let server = Server::builder().add_service(orca.service());
/// // every few seconds:
/// orca.update(|report| {
///     report.set_cpu_utilization(0.4).set_utilization("disk", 0.7);
/// });
/// ```
#[derive(Clone, Debug)]
pub struct Orca {
    shared: Arc<Shared>,
    shortest: Duration,
}

impl Default for Orca {
    fn default() -> Self {
        Self { shared: Arc::default(), shortest: SHORTEST_INTERVAL }
    }
}

impl Orca {
    /// A server of which nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets clients ask for reports as often as this; default 30 seconds, and one millisecond at least. A client that
    /// asks for more often gets this interval.
    #[must_use]
    pub fn shortest_interval(mut self, interval: Duration) -> Self {
        self.shortest = interval.max(Duration::from_millis(1));
        self
    }

    /// Changes the report; clients see the change with their next one.
    pub fn update(&self, change: impl FnOnce(&mut LoadReport)) {
        change(&mut self.shared.lock().report);
    }

    /// The report as it is now. A start for a report about one call that shall tell of the server as well.
    pub fn current(&self) -> LoadReport {
        self.shared.current()
    }

    /// The service to mount. All services made from one handle, or its clones, tell the same.
    pub fn service(&self) -> OpenRcaServiceServer<OrcaService> {
        OpenRcaServiceServer::new(OrcaService::new(Arc::clone(&self.shared), self.shortest))
    }
}

/// What handle and services share.
#[derive(Debug, Default)]
struct Shared(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    report: LoadReport,
    /// Clients that are being told.
    streams: usize,
}

impl Shared {
    fn current(&self) -> LoadReport {
        self.lock().report.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
