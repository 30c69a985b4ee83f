//! The server's end: bound sockets, and which accept errors matter.

use std::error::Error;
use std::fmt;
use std::io;

use tokio::net::{TcpListener, UnixListener};

use super::{PeerAddr, Stream};

/// A bound TCP or Unix socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Waits for the next connection.
    ///
    /// # Cancel safety
    /// Dropping the future loses no connection.
    ///
    /// # Errors
    /// See [`AcceptError`]: only [`AcceptError::Fatal`] means that the listener is of no more use.
    pub async fn accept(&self) -> Result<(Stream, PeerAddr), AcceptError> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (socket, address) = listener.accept().await.map_err(AcceptError::classify)?;
                let stream = Stream::from_tcp(socket).map_err(AcceptError::Connection)?;
                Ok((stream, PeerAddr::Tcp(address)))
            }
            Socket::Unix(listener) => {
                let (socket, address) = listener.accept().await.map_err(AcceptError::classify)?;
                Ok((Stream::from_unix(socket), unix_peer(&address)))
            }
        }
    }

    /// The address that clients reach; tells the port when port 0 was asked for.
    ///
    /// # Errors
    /// What the system says, for example that the socket was closed behind our back.
    pub fn local_addr(&self) -> io::Result<PeerAddr> {
        match &self.socket {
            Socket::Tcp(listener) => Ok(PeerAddr::Tcp(listener.local_addr()?)),
            Socket::Unix(listener) => Ok(unix_peer(&listener.local_addr()?)),
        }
    }
}

fn unix_peer(address: &tokio::net::unix::SocketAddr) -> PeerAddr {
    PeerAddr::Unix(address.as_pathname().map(Into::into))
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self { socket: Socket::Tcp(listener) }
    }
}

impl From<UnixListener> for Listener {
    fn from(listener: UnixListener) -> Self {
        Self { socket: Socket::Unix(listener) }
    }
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Why no connection was accepted, by what the accept loop should do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// This one connection failed before it was ours (the peer went away): accept the next one at once.
    Connection(io::Error),
    /// The process or the system has no file descriptors or memory left: wait a moment, then go on. The waiting
    /// connections stay in the backlog.
    Exhausted(io::Error),
    /// The listening socket is of no more use.
    Fatal(io::Error),
}

impl AcceptError {
    /// Sorts an error of `accept(2)`.
    ///
    /// Linux hands errors that are already pending on the new socket to `accept`; its manual page asks to treat
    /// the network ones like `EAGAIN`.
    pub fn classify(error: io::Error) -> Self {
        use io::ErrorKind;
        match error.kind() {
            ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::NetworkUnreachable
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::WouldBlock
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected
            | ErrorKind::PermissionDenied => Self::Connection(error),
            ErrorKind::OutOfMemory => Self::Exhausted(error),
            _ => match error.raw_os_error() {
                Some(code) if OUT_OF_DESCRIPTORS.contains(&code) => Self::Exhausted(error),
                Some(code) if BAD_LISTENER.contains(&code) => Self::Fatal(error),
                // A firewall's EPROTO and the like: about one connection, not about the listener.
                Some(_) => Self::Connection(error),
                None => Self::Fatal(error),
            },
        }
    }

    /// The system's error.
    pub fn io_error(&self) -> &io::Error {
        match self {
            Self::Connection(error) | Self::Exhausted(error) | Self::Fatal(error) => error,
        }
    }
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection(_) => "a connection failed while it was accepted",
            Self::Exhausted(_) => "out of file descriptors or memory while accepting a connection",
            Self::Fatal(_) => "the listening socket cannot accept any more",
        })
    }
}

impl Error for AcceptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.io_error())
    }
}

/// ENFILE, EMFILE (the same numbers on Linux, macOS and the BSDs), ENOBUFS on Linux and on the others.
const OUT_OF_DESCRIPTORS: [i32; 4] = [23, 24, 105, 55];
/// EBADF, EFAULT, EINVAL; ENOTSOCK on Linux and on the others.
const BAD_LISTENER: [i32; 5] = [9, 14, 22, 88, 38];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_errors_are_sorted_by_what_to_do() {
        let sorted = |code| AcceptError::classify(io::Error::from_raw_os_error(code));
        assert!(matches!(sorted(103), AcceptError::Connection(_)), "ECONNABORTED");
        assert!(matches!(sorted(71), AcceptError::Connection(_)), "EPROTO");
        assert!(matches!(sorted(1), AcceptError::Connection(_)), "EPERM");
        assert!(matches!(sorted(24), AcceptError::Exhausted(_)), "EMFILE");
        assert!(matches!(sorted(23), AcceptError::Exhausted(_)), "ENFILE");
        assert!(matches!(sorted(12), AcceptError::Exhausted(_)), "ENOMEM");
        assert!(matches!(sorted(9), AcceptError::Fatal(_)), "EBADF");
        assert!(matches!(sorted(22), AcceptError::Fatal(_)), "EINVAL");
    }

    #[tokio::test]
    async fn a_listener_tells_its_port() {
        let listener = Listener::from(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap().socket_addr().unwrap();
        assert_ne!(address.port(), 0);
    }
}
