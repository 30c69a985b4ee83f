//! `grpc.reflection.v1` and `v1alpha`: tools ask a server what it serves, and what the messages look like.
//!
//! [`Reflection`] indexes the descriptor sets that generated code carries; both versions of the service answer from
//! the same index. Answers with a file bring its imports along, each once a stream, so that a tool never meets a name
//! that it cannot resolve.

mod answer;
mod index;
mod service;

use std::sync::Arc;

use peregrine_core::ServiceDescriptor;
use peregrine_server::Server;

use self::index::Index;
pub use self::service::ReflectionService;
use crate::pb::grpc::reflection::{v1, v1alpha};

/// What a server's reflection tells.
///
/// ```no_run
/// # use peregrine_services::reflection::Reflection;
/// # use peregrine_server::Server;
/// # fn main() -> Result<(), peregrine_core::Error> {
/// let server = Server::builder(); // .add_service(..)
/// let server = Reflection::of(&server)?.mount(server);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Reflection {
    index: Arc<Index>,
}

impl Reflection {
    /// Tells what is mounted on `server` now, and of reflection itself.
    ///
    /// # Errors
    /// A mounted service carries descriptors that cannot be read.
    pub fn of(server: &Server) -> Result<Self, peregrine_core::Error> {
        Self::new(server.services())
    }

    /// Tells of these services and of reflection itself.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn new(
        services: impl IntoIterator<Item = &'static ServiceDescriptor>,
    ) -> Result<Self, peregrine_core::Error> {
        let own = [service::descriptor_v1(), service::descriptor_v1alpha()];
        let mut index = Index::default();
        for service in services.into_iter().chain(own) {
            index.add(service)?;
        }
        Ok(Self { index: Arc::new(index) })
    }

    /// The service as current tools ask for it.
    pub fn v1(&self) -> v1::ServerReflectionServer<ReflectionService> {
        v1::ServerReflectionServer::new(ReflectionService::new(Arc::clone(&self.index)))
    }

    /// The same for older tools.
    pub fn v1alpha(&self) -> v1alpha::ServerReflectionServer<ReflectionService> {
        v1alpha::ServerReflectionServer::new(ReflectionService::new(Arc::clone(&self.index)))
    }

    /// Mounts both versions.
    #[must_use]
    pub fn mount(&self, server: Server) -> Server {
        server.add_service(self.v1()).add_service(self.v1alpha())
    }
}
