//! The client's end: from a [`Target`] to a connected [`Stream`].
//!
//! All addresses of a name are tried, families interleaved. The next attempt starts when the one before failed or
//! has been silent for 250 ms, and the first to succeed wins: RFC 8305 (Happy Eyeballs) without its sorting.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::{Instant, Sleep, sleep};

use super::target::Place;
use super::{PeerAddr, Stream, Target};

/// Resolves `target` and connects to it within `timeout`, which covers the name resolution too.
///
/// # Cancel safety
/// Dropping the future closes the sockets of the attempts under way.
///
/// # Errors
/// [`ConnectError`] tells what happened with each address.
pub async fn connect(target: &Target, timeout: Duration) -> Result<(Stream, PeerAddr), ConnectError> {
    let start = Instant::now();
    let mut deadline = pin!(sleep(timeout));
    let addresses = match target.place() {
        Place::Unix(path) => {
            let peer = PeerAddr::Unix(Some(path.as_path().into()));
            let connected = or_timeout(deadline.as_mut(), UnixStream::connect(path)).await;
            return match connected {
                Some(Ok(socket)) => Ok((Stream::from_unix(socket), peer)),
                Some(Err(error)) => {
                    Err(ConnectError::new(ConnectErrorKind::Connect, start, vec![(peer, error)]))
                }
                None => {
                    let failures = vec![(peer, io::ErrorKind::TimedOut.into())];
                    Err(ConnectError::new(ConnectErrorKind::ConnectTimeout, start, failures))
                }
            };
        }
        Place::Address(address) => vec![*address],
        Place::Host { name, port } => {
            match or_timeout(deadline.as_mut(), lookup_host((name.as_str(), *port))).await {
                Some(Ok(addresses)) => interleave(addresses),
                Some(Err(error)) => return Err(ConnectError::resolve(start, error)),
                None => return Err(ConnectError::new(ConnectErrorKind::ResolveTimeout, start, Vec::new())),
            }
        }
    };
    let mut race = Race::new(addresses);
    match or_timeout(deadline, &mut race).await {
        Some(Some((socket, address))) => match Stream::from_tcp(socket) {
            Ok(stream) => Ok((stream, PeerAddr::Tcp(address))),
            Err(error) => {
                let failures = vec![(PeerAddr::Tcp(address), error)];
                Err(ConnectError::new(ConnectErrorKind::Connect, start, failures))
            }
        },
        Some(None) => Err(ConnectError::new(ConnectErrorKind::Connect, start, race.failures)),
        None => {
            let failures = race.into_failures();
            Err(ConnectError::new(ConnectErrorKind::ConnectTimeout, start, failures))
        }
    }
}

/// Why there is no connection: which phase, how long it took, and what each address answered.
#[derive(Debug)]
pub struct ConnectError {
    kind: ConnectErrorKind,
    elapsed: Duration,
    /// In the order of the attempts.
    failures: Vec<(PeerAddr, io::Error)>,
    resolve: Option<io::Error>,
}

impl ConnectError {
    fn new(kind: ConnectErrorKind, start: Instant, failures: Vec<(PeerAddr, io::Error)>) -> Self {
        Self { kind, elapsed: start.elapsed(), failures, resolve: None }
    }

    fn resolve(start: Instant, error: io::Error) -> Self {
        Self { resolve: Some(error), ..Self::new(ConnectErrorKind::Resolve, start, Vec::new()) }
    }

    /// What went wrong.
    pub fn kind(&self) -> ConnectErrorKind {
        self.kind
    }

    /// From the start of the name resolution to the failure.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The addresses that were tried and failed, in order, each with the system's error.
    pub fn failures(&self) -> &[(PeerAddr, io::Error)] {
        &self.failures
    }

    /// The system's error that says most: of the resolver, or of the last address.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.resolve.as_ref().or_else(|| self.failures.last().map(|(_, error)| error))
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ConnectErrorKind::Resolve => return f.write_str("the name does not resolve"),
            ConnectErrorKind::ResolveTimeout => f.write_str("the name did not resolve in time")?,
            ConnectErrorKind::Connect if self.failures.is_empty() => {
                f.write_str("the name resolves to no address")?;
            }
            ConnectErrorKind::Connect => f.write_str("no connection")?,
            ConnectErrorKind::ConnectTimeout => f.write_str("no answer in time")?,
        }
        let mut separator = ": ";
        for (peer, error) in &self.failures {
            write!(f, "{separator}{peer}: {error}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.kind {
            ConnectErrorKind::Resolve => self.io_error().map(|error| error as &(dyn Error + 'static)),
            // The others name the error of each address themselves.
            _ => None,
        }
    }
}

/// The phase in which connecting failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// The system's resolver refused the name.
    Resolve,
    /// The system's resolver did not answer in time.
    ResolveTimeout,
    /// Every address refused, or there was none.
    Connect,
    /// At least one address neither accepted nor refused in time.
    ConnectTimeout,
}

/// How long a silent attempt keeps the next one waiting (RFC 8305 section 8 recommends 250 ms).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

type Attempt = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// Connection attempts under way; ends with the first socket, or with none when all failed.
struct Race {
    waiting: VecDeque<SocketAddr>,
    running: Vec<(SocketAddr, Attempt)>,
    failures: Vec<(PeerAddr, io::Error)>,
    /// Fires when the newest attempt has been silent too long.
    next_attempt: Option<Pin<Box<Sleep>>>,
}

impl Race {
    fn new(addresses: Vec<SocketAddr>) -> Self {
        Self { waiting: addresses.into(), running: Vec::new(), failures: Vec::new(), next_attempt: None }
    }

    /// What each address did; those still under way count as timed out.
    fn into_failures(mut self) -> Vec<(PeerAddr, io::Error)> {
        for (address, _) in &self.running {
            self.failures.push((PeerAddr::Tcp(*address), io::ErrorKind::TimedOut.into()));
        }
        self.failures
    }

    fn start_next(&mut self) {
        let Some(address) = self.waiting.pop_front() else { return };
        self.running.push((address, Box::pin(TcpStream::connect(address))));
        self.next_attempt = (!self.waiting.is_empty()).then(|| Box::pin(sleep(ATTEMPT_DELAY)));
    }

    fn poll_running(&mut self, cx: &mut Context<'_>) -> Option<(TcpStream, SocketAddr)> {
        let mut index = 0;
        while let Some((address, attempt)) = self.running.get_mut(index) {
            let address = *address;
            match attempt.as_mut().poll(cx) {
                Poll::Pending => index += 1,
                Poll::Ready(Ok(socket)) => return Some((socket, address)),
                Poll::Ready(Err(error)) => {
                    drop(self.running.remove(index));
                    self.failures.push((PeerAddr::Tcp(address), error));
                    // A refusal does not make the next address wait; the loop polls the new attempt as well.
                    self.start_next();
                }
            }
        }
        None
    }
}

impl Future for Race {
    type Output = Option<(TcpStream, SocketAddr)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.running.is_empty() {
            self.start_next();
        }
        loop {
            if let Some(winner) = self.poll_running(cx) {
                return Poll::Ready(Some(winner));
            }
            if self.running.is_empty() {
                return Poll::Ready(None);
            }
            match self.next_attempt.as_mut().map(|timer| timer.as_mut().poll(cx)) {
                Some(Poll::Ready(())) => self.start_next(),
                Some(Poll::Pending) | None => return Poll::Pending,
            }
        }
    }
}

/// Runs `future` until the timer fires; `None` is the timer. The future is polled first.
async fn or_timeout<F: Future>(mut timer: Pin<&mut Sleep>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(move |cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}

/// Alternates the families, the first one first; drops repetitions, which some resolvers give.
fn interleave(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (mut first, mut second): (VecDeque<_>, VecDeque<_>) = (VecDeque::new(), VecDeque::new());
    for address in addresses {
        let same = first.front().is_none_or(|front: &SocketAddr| front.is_ipv4() == address.is_ipv4());
        let family = if same { &mut first } else { &mut second };
        if !family.contains(&address) {
            family.push_back(address);
        }
    }
    let mut ordered = Vec::with_capacity(first.len() + second.len());
    while !first.is_empty() || !second.is_empty() {
        ordered.extend(first.pop_front());
        ordered.extend(second.pop_front());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, UnixListener};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    async fn closed_port() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
    }

    #[test]
    fn families_alternate_and_repetitions_go() {
        let list = ["[::1]:1", "[::2]:1", "[::1]:1", "127.0.0.1:1", "127.0.0.2:1", "[::3]:1"];
        let ordered = interleave(list.iter().map(|text| address(text)));
        let expected = ["[::1]:1", "127.0.0.1:1", "[::2]:1", "127.0.0.2:1", "[::3]:1"];
        assert_eq!(ordered, expected.map(address));
    }

    #[tokio::test]
    async fn a_refused_address_gives_way_to_the_next_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        let closed = closed_port().await;
        let mut race = Race::new(vec![closed, open]);
        let (_, winner) = (&mut race).await.unwrap();
        assert_eq!(winner, open);
        assert_eq!(race.failures.len(), 1);
    }

    #[tokio::test]
    async fn a_closed_port_is_told_with_its_address() {
        let closed = closed_port().await;
        let error = connect(&closed.into(), TIMEOUT).await.unwrap_err();
        assert_eq!(error.kind(), ConnectErrorKind::Connect);
        assert_eq!(error.failures()[0].0, PeerAddr::Tcp(closed));
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains(&closed.to_string()), "{error}");
    }

    #[tokio::test]
    async fn a_missing_unix_socket_is_told_with_its_path() {
        let target = Target::unix("/nonexistent/peregrine.sock");
        let error = connect(&target, TIMEOUT).await.unwrap_err();
        assert!(error.to_string().contains("unix:/nonexistent/peregrine.sock"), "{error}");
    }

    #[tokio::test]
    async fn unix_sockets_connect() {
        let directory = std::env::temp_dir().join(format!("peregrine-net-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("a.sock");
        let listener = super::super::Listener::from(UnixListener::bind(&path).unwrap());
        let target = Target::unix(&path);
        let (connected, accepted) = tokio::join!(connect(&target, TIMEOUT), listener.accept());
        assert_eq!(connected.unwrap().1, listener.local_addr().unwrap());
        assert_eq!(accepted.unwrap().1, PeerAddr::Unix(None));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_timer_ends_a_silent_attempt() {
        let timer = pin!(sleep(TIMEOUT));
        assert!(or_timeout(timer, std::future::pending::<()>()).await.is_none());
    }
}
