//! The server as users write it. `connection` has the settings of connections, `calls` those of calls, `errors` those of
//! failed handlers, `format` those of message formats.

mod calls;
mod compression;
mod connection;
mod errors;
mod format;

use std::future::{Future, pending};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use peregrine_core::{DecodeLimits, Error, Observe, Phase, ServiceDescriptor};
use peregrine_http2::Rate;
use peregrine_transport::net::Listener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use crate::connection::Shared;
use crate::listen::{Acceptor, PerCore, ShutdownReport};
use crate::method_config::MethodConfig;
use crate::options::{Execution, Options};
use crate::router::Router;
#[cfg(feature = "_tls")]
use crate::secure::Secure;
use crate::service::Service;

/// A gRPC server: services, settings, and where it listens.
///
/// Each method below names its default. Works on tokio's multi-thread and current-thread runtimes.
#[derive(Debug, Default)]
pub struct Server {
    router: Router,
    options: Options,
    /// A service that was mounted twice; said when the server starts, so that building stays a chain.
    duplicate: Option<&'static str>,
    /// A prefix that no path can have, and why; said when the server starts.
    bad_prefix: Option<(String, &'static str)>,
    /// Settings of services and methods, by name.
    configs: Vec<(String, MethodConfig)>,
}

impl Server {
    /// A server without services, which it needs one of to [`serve`](Self::serve), with every setting at its default.
    pub fn builder() -> Self {
        Self::default()
    }

    /// Mounts a service. Two services of one name are an error that [`serve`](Self::serve) reports.
    #[must_use]
    pub fn add_service(mut self, service: impl Service) -> Self {
        if let Err(name) = self.router.add(Arc::new(service)) {
            self.duplicate = Some(name);
        }
        self
    }

    /// Serves every service under a prefix: with `"/api"`, calls come to `/api/Service/Method`, and paths without the
    /// prefix are unknown. For servers behind a proxy that shares one host among several programs. The prefix begins
    /// with a slash and does not end with one; another one is an error that [`serve`](Self::serve) reports. Default:
    /// no prefix.
    // wire-rules R3
    #[must_use]
    pub fn mount_under(mut self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        self.bad_prefix = self.router.mount_under(&prefix).err().map(|why| (prefix, why));
        self
    }

    /// Largest message that a call may send us, in bytes; a larger one ends its call with RESOURCE_EXHAUSTED before
    /// it is buffered. Default 4 MiB.
    // wire-rules 42
    #[must_use]
    pub fn max_receive_message_size(mut self, bytes: usize) -> Self {
        self.options.max_receive_message_size = bytes;
        self
    }

    /// Largest message that a handler may send, in bytes. Default 4 GiB - 1, the most a prefix can say.
    // wire-rules 44
    #[must_use]
    pub fn max_send_message_size(mut self, bytes: usize) -> Self {
        self.options.max_send_message_size = bytes.min(u32::MAX as usize);
        self
    }

    /// Calls that one connection may run at once (SETTINGS_MAX_CONCURRENT_STREAMS). Handlers that go on after their
    /// stream was reset, because they have not come to an `await`, count as well: a call beyond is refused with
    /// REFUSED_STREAM, which clients make again, and counted as `running_handlers`. Default 100.
    #[must_use]
    pub fn max_concurrent_streams(mut self, streams: u32) -> Self {
        self.options.engine.max_concurrent_streams = Some(streams);
        self
    }

    /// Largest header list of a request, in bytes, each field counted as name + value + 32. A larger one is answered
    /// with HTTP 431 and RESOURCE_EXHAUSTED. Default 16 KiB.
    // wire-rules 26
    #[must_use]
    pub fn max_header_list_size(mut self, bytes: u32) -> Self {
        self.options.engine.max_header_list_size = bytes;
        self
    }

    /// Bytes that a call may send ahead of what its handler has read. Default 256 KiB.
    #[must_use]
    pub fn initial_stream_window(mut self, bytes: u32) -> Self {
        self.options.engine.initial_window_size = bytes;
        self
    }

    /// Bytes that all calls of a connection together may have on the way. Default 1 MiB.
    #[must_use]
    pub fn initial_connection_window(mut self, bytes: u32) -> Self {
        self.options.engine.connection_window_size = bytes;
        self
    }

    /// How long a new connection may take until its client has spoken HTTP/2, the TLS handshake included. Default 10 s.
    #[must_use]
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.options.handshake_timeout = timeout;
        self
    }

    /// Encrypts every connection. Handshakes run in the connections' own tasks and hold up nobody else. Default:
    /// plaintext.
    #[cfg(feature = "_tls")]
    #[must_use]
    pub fn tls(mut self, tls: peregrine_transport::tls::ServerTls) -> Self {
        self.options.secure = Secure::with(tls);
        self
    }

    /// Connections that may be between their acceptance and the client's HTTP/2 preface, the TLS handshake included.
    /// One more cuts the *oldest* of them: honest clients are through after a few round trips, and an attacker who
    /// opens connections and says nothing cannot lock them out. Default 1,000; at least 1.
    #[must_use]
    pub fn pending_handshakes(mut self, connections: usize) -> Self {
        self.options.pending_handshakes = connections;
        self
    }

    /// Connections that may be open at once; one more is closed as soon as it is accepted, so that its client can try
    /// elsewhere. Default: as many as the system gives.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.options.max_connections = connections;
        self
    }

    /// How fast connections are accepted: `rate.burst` at once, `rate.per_second` in the long run (at least 1). What
    /// comes faster is not refused but waits in the system's backlog. For servers whose TLS handshakes could starve
    /// their calls. Default: no limit.
    #[must_use]
    pub fn accept_rate(mut self, rate: Rate) -> Self {
        self.options.accept_rate = Some(rate);
        self
    }

    /// How long a graceful shutdown waits for running calls before it cuts them. Default 30 s.
    #[must_use]
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.options.shutdown_grace = grace;
        self
    }

    /// Where calls run. Default [`Execution::Auto`].
    #[must_use]
    pub fn execution(mut self, execution: Execution) -> Self {
        self.options.execution = execution;
        self
    }

    /// What the mounted services say of themselves, for reflection and listings.
    pub fn services(&self) -> impl Iterator<Item = &'static ServiceDescriptor> {
        self.router.services()
    }

    /// Serves until the process ends.
    ///
    /// `listener` is an address (`"127.0.0.1:50051"`, `"[::1]:0"`, `"unix:/run/app.sock"`, a [`SocketAddr`]) or a
    /// bound [`TcpListener`] or [`UnixListener`].
    ///
    /// # Errors
    /// The address cannot be bound, the listening socket failed, no service was mounted or one twice, or settings do not
    /// go together.
    pub async fn serve(self, listener: impl IntoListener) -> Result<(), Error> {
        self.serve_with_shutdown(listener, pending()).await.map(drop)
    }

    /// Serves until `signal` completes; then every connection gets a two-step GOAWAY, running calls get the [grace
    /// period](Self::shutdown_grace), and what is left is cut and reported.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    // wire-rules 77
    pub async fn serve_with_shutdown(
        self,
        listener: impl IntoListener,
        signal: impl Future<Output = ()>,
    ) -> Result<ShutdownReport, Error> {
        let acceptor = self.into_acceptor()?;
        let listener = listener.into_listener().await?;
        acceptor.run(listener, signal).await
    }

    /// Serves with a thread for each core: every thread has a runtime and a listening socket of its own, and a connection
    /// stays where it was accepted. See [`PerCore`] for when that pays.
    ///
    /// Needs a runtime itself only to be awaited; the threads are not that runtime's. Whatever handlers spawn runs on
    /// the thread of their connection. Limits of the server, such as
    /// [`max_connections`](Self::max_connections), hold for all threads together. Dropping the future ends the threads
    /// and cuts their connections.
    ///
    /// ```no_run
    /// # async fn run(service: impl peregrine_server::service::Service) -> Result<(), peregrine_core::Error> {
    /// use peregrine_server::{PerCore, Server};
    ///
    /// let server = Server::builder().add_service(service);
    /// server.serve_per_core(PerCore::bind("0.0.0.0:50051")?).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`serve`](Self::serve), or a thread cannot be started.
    pub async fn serve_per_core(self, cores: PerCore) -> Result<(), Error> {
        self.serve_per_core_with_shutdown(cores, pending()).await.map(drop)
    }

    /// [`serve_per_core`](Self::serve_per_core), with a graceful end of all threads when `signal` completes, as
    /// [`serve_with_shutdown`](Self::serve_with_shutdown) has it; the report is of all of them.
    ///
    /// # Errors
    /// As [`serve_per_core`](Self::serve_per_core).
    // wire-rules 77
    pub async fn serve_per_core_with_shutdown(
        self,
        cores: PerCore,
        signal: impl Future<Output = ()>,
    ) -> Result<ShutdownReport, Error> {
        cores.serve(&self.into_shared()?, signal).await
    }

    /// Serves connections that were made elsewhere (another transport, a test's pipe) until the stream ends.
    ///
    /// # Errors
    /// No service was mounted, or one twice, or settings do not go together. Items that are errors are skipped: one connection failed to come about.
    pub async fn serve_incoming<S, IO, E>(self, incoming: S) -> Result<ShutdownReport, Error>
    where
        S: Stream<Item = Result<IO, E>>,
        IO: AsyncRead + AsyncWrite + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
    {
        self.serve_incoming_with_shutdown(incoming, pending()).await
    }

    /// [`serve_incoming`](Self::serve_incoming), with a graceful end when `signal` completes.
    ///
    /// # Errors
    /// As [`serve_incoming`](Self::serve_incoming).
    pub async fn serve_incoming_with_shutdown<S, IO, E>(
        self,
        incoming: S,
        signal: impl Future<Output = ()>,
    ) -> Result<ShutdownReport, Error>
    where
        S: Stream<Item = Result<IO, E>>,
        IO: AsyncRead + AsyncWrite + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
    {
        self.into_acceptor()?.run_incoming(incoming, signal).await
    }

    fn into_acceptor(self) -> Result<Acceptor, Error> {
        Ok(Acceptor::new(self.into_shared()?))
    }

    fn into_shared(self) -> Result<Arc<Shared>, Error> {
        if let Some((prefix, why)) = self.bad_prefix {
            return Err(Error::new(
                Phase::Serve,
                format!("services cannot be mounted under {prefix:?}: {why}"),
            )
            .with_hint("write it as in `mount_under(\"/api\")`"));
        }
        if let Some(name) = self.duplicate {
            return Err(Error::new(Phase::Serve, format!("service {name} is mounted twice"))
                .with_hint("mount each service once; calls could not tell the two apart"));
        }
        if self.router.services().next().is_none() {
            return Err(Error::new(Phase::Serve, "the server has no services, and could only refuse calls")
                .with_hint("mount one with add_service(..)"));
        }
        compression::check(&self.options.compression, &self.configs)?;
        let mut router = self.router;
        for format in &self.options.formats {
            router.add_format(&**format);
        }
        if let Err(name) = router.settle(&self.options, &self.configs) {
            let message = format!("settings are given for {name}, which is not mounted");
            return Err(Error::new(Phase::Serve, message)
                .with_hint("name a service, package.Service, or a method, package.Service/Method"));
        }
        let observes_messages = self.options.observer.as_ref().is_some_and(Observe::wants_messages);
        let shared =
            Shared { router, options: self.options, limits: DecodeLimits::default(), observes_messages };
        shared.observe_compression(&self.configs);
        Ok(Arc::new(shared))
    }
}

/// What a server can listen on.
pub trait IntoListener {
    /// Binds, where that is still to be done.
    fn into_listener(self) -> impl Future<Output = Result<Listener, Error>> + Send;
}

impl IntoListener for TcpListener {
    async fn into_listener(self) -> Result<Listener, Error> {
        Ok(self.into())
    }
}

impl IntoListener for UnixListener {
    async fn into_listener(self) -> Result<Listener, Error> {
        Ok(self.into())
    }
}

impl IntoListener for std::net::TcpListener {
    async fn into_listener(self) -> Result<Listener, Error> {
        let text = self.local_addr().map_or_else(|_| "a TCP socket".to_owned(), |addr| addr.to_string());
        self.set_nonblocking(true)
            .and_then(|()| TcpListener::from_std(self))
            .map(Listener::from)
            .map_err(|error| cannot_listen(&text, error))
    }
}

impl IntoListener for SocketAddr {
    async fn into_listener(self) -> Result<Listener, Error> {
        TcpListener::bind(self)
            .await
            .map(Listener::from)
            .map_err(|error| cannot_listen(&self.to_string(), error))
    }
}

impl IntoListener for &str {
    async fn into_listener(self) -> Result<Listener, Error> {
        let bound = match self.strip_prefix("unix:") {
            Some(path) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                UnixListener::bind(Path::new(path)).map(Listener::from)
            }
            None => TcpListener::bind(self).await.map(Listener::from),
        };
        bound.map_err(|error| cannot_listen(self, error))
    }
}

impl IntoListener for String {
    async fn into_listener(self) -> Result<Listener, Error> {
        self.as_str().into_listener().await
    }
}

pub(crate) fn cannot_listen(address: &str, error: io::Error) -> Error {
    let hint = match error.kind() {
        _ if address.contains("://") && !address.starts_with("unix:") => {
            "an address to listen on has no scheme: write 127.0.0.1:50051; what it speaks is said with Server::tls(..)"
        }
        io::ErrorKind::AddrInUse => {
            "another process listens there; choose another port, or port 0 for any free one"
        }
        io::ErrorKind::AddrNotAvailable => {
            "the address is not one of this machine's; 0.0.0.0 or [::] takes all"
        }
        io::ErrorKind::PermissionDenied => "the address needs more rights; ports below 1024 are reserved",
        io::ErrorKind::InvalidInput => {
            "write an address with its port, such as 127.0.0.1:50051 or unix:/run/app.sock"
        }
        _ => "check the address",
    };
    Error::new(Phase::Bind, format!("cannot listen on {address}")).with_source(error).with_hint(hint)
}
