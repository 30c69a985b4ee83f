//! The thread-per-core mode: threads that share a server's address and nothing else.
//!
//! Each has a current-thread runtime and a socket that is bound with SO_REUSEPORT, so that the system deals new
//! connections out to them. A connection never leaves its thread: no task is stolen, no queue is shared, and the memory
//! that calls use again and again stays in one core's caches.

use std::any::Any;
use std::future::{Future, pending};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::thread;

use peregrine_core::{Error, Phase};
use tokio::net::TcpSocket;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Acceptor, ShutdownReport};
use crate::builder::cannot_listen;
use crate::connection::Shared;

/// An address with a listening socket for each of several threads, for
/// [`Server::serve_per_core`](crate::Server::serve_per_core).
///
/// Pays where many connections have alike work: each call costs what it costs on one thread, and throughput grows
/// with the cores. With few connections, or with some that are far busier than others, threads stand idle beside
/// busy ones, since the system deals connections out by a hash of their addresses and none moves later: there, tokio's
/// multi-thread runtime with [`serve`](crate::Server::serve) is the better choice. A handler that computes or blocks
/// holds up all connections of its thread; [`Execution`](crate::Execution) does not help against that here.
#[derive(Debug)]
pub struct PerCore {
    sockets: Vec<TcpSocket>,
    address: SocketAddr,
}

impl PerCore {
    /// Binds a socket for each processor that this process may use. Names are resolved on the spot; port 0 takes any
    /// free one, the same for all, which [`local_addr`](Self::local_addr) tells.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(address: impl ToSocketAddrs) -> Result<Self, Error> {
        let processors = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        Self::bind_threads(address, processors)
    }

    /// [`bind`](Self::bind) for so many threads.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_threads(address: impl ToSocketAddrs, threads: NonZero<usize>) -> Result<Self, Error> {
        let unresolved = |error| cannot_listen("an address that does not resolve", error);
        let mut failure = io::Error::from(io::ErrorKind::InvalidInput);
        let mut tried = String::from("no address");
        for address in address.to_socket_addrs().map_err(unresolved)? {
            match Self::bind_each(address, threads.get()) {
                Ok(bound) => return Ok(bound),
                Err(error) => failure = error,
            }
            tried = address.to_string();
        }
        Err(cannot_listen(&tried, failure))
    }

    fn bind_each(mut address: SocketAddr, threads: usize) -> io::Result<Self> {
        let mut sockets = Vec::with_capacity(threads);
        for _ in 0..threads {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            socket.set_reuseaddr(true)?;
            socket.set_reuseport(true)?;
            socket.bind(address)?;
            // The port that the first one was given, if any would do.
            address = socket.local_addr()?;
            sockets.push(socket);
        }
        Ok(Self { sockets, address })
    }

    /// The address that clients reach; tells the port when port 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How many threads will serve.
    pub fn threads(&self) -> usize {
        self.sockets.len()
    }

    /// Runs the threads until each has ended.
    pub(crate) async fn serve(
        self,
        shared: &Arc<Shared>,
        signal: impl Future<Output = ()>,
    ) -> Result<ShutdownReport, Error> {
        let (stop, stopped) = watch::channel(false);
        let (tell, mut ended) = mpsc::unbounded_channel();
        let acceptors = Acceptor::several(shared, self.sockets.len());
        for (number, (acceptor, socket)) in acceptors.into_iter().zip(self.sockets).enumerate() {
            let (tell, stopped) = (tell.clone(), stopped.clone());
            let serve = move || {
                let end = catch_unwind(AssertUnwindSafe(|| run(acceptor, socket, stopped)));
                // Nobody listens once the server's future was dropped.
                let _ = tell.send(end);
            };
            thread::Builder::new().name(format!("peregrine-{number}")).spawn(serve).map_err(cannot_start)?;
        }
        drop((tell, stopped));
        let mut total = Total::default();
        let mut signal = pin!(signal);
        loop {
            tokio::select! {
                () = &mut signal, if total.begun.is_none() => {
                    total.begun = Some(Instant::now());
                    stop.send_replace(true);
                }
                end = ended.recv() => match end {
                    Some(end) => {
                        total.add(end);
                        // One that has failed takes the others with it.
                        stop.send_replace(true);
                    }
                    None => return total.into_result(),
                },
            }
        }
    }
}

/// How a thread ended: with what its loop returned, or with a panic.
type End = Result<Result<ShutdownReport, Error>, Box<dyn Any + Send>>;

/// One thread: a runtime, a socket, an accept loop.
fn run(
    acceptor: Acceptor,
    socket: TcpSocket,
    mut stopped: watch::Receiver<bool>,
) -> Result<ShutdownReport, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
    runtime.block_on(async {
        let address = socket.local_addr().map(|address| address.to_string()).unwrap_or_default();
        let listener = socket.listen(BACKLOG).map_err(|error| cannot_listen(&address, error))?;
        let mut given_up = stopped.clone();
        let signal = async move {
            if stopped.wait_for(|&stop| stop).await.is_err() {
                // Given up: no graceful end.
                pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = async { while given_up.changed().await.is_ok() {} } => Ok(ShutdownReport::NOTHING),
            report = acceptor.run(listener.into(), signal) => report,
        }
    })
}

/// The ends of all threads.
#[derive(Default)]
struct Total {
    /// When the shutdown began.
    begun: Option<Instant>,
    report: Option<ShutdownReport>,
    failure: Option<Error>,
}

impl Total {
    fn add(&mut self, end: End) {
        match end.unwrap_or_else(|panic| resume_unwind(panic)) {
            Ok(report) => {
                let total = self.report.get_or_insert(ShutdownReport::NOTHING);
                total.connections += report.connections;
                total.cut_connections += report.cut_connections;
                total.cut_calls += report.cut_calls;
                total.elapsed = total.elapsed.max(report.elapsed);
            }
            // The first one is the cause.
            Err(error) => self.failure = self.failure.take().or(Some(error)),
        }
    }

    fn into_result(self) -> Result<ShutdownReport, Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut report = self.report.unwrap_or(ShutdownReport::NOTHING);
        if let Some(begun) = self.begun {
            report.elapsed = begun.elapsed();
        }
        Ok(report)
    }
}

fn cannot_start(error: io::Error) -> Error {
    Error::new(Phase::Serve, "a thread with a runtime cannot be started")
        .with_source(error)
        .with_hint("the limits of threads and of file descriptors of this process may be too low")
}

/// Connections that wait to be accepted, as tokio's listeners have it.
const BACKLOG: u32 = 1024;
