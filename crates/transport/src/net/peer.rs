//! The address of the other side of a connection, for error sentences and for `Request::peer`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Address of the other side of a connection.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum PeerAddr {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket. The client side of such a socket mostly has no name, then there is no path.
    Unix(Option<PathBuf>),
}

impl PeerAddr {
    /// The TCP address, if it is one.
    pub fn as_tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    pub(super) fn from_unix(address: &tokio::net::unix::SocketAddr) -> Self {
        Self::Unix(address.as_pathname().map(PathBuf::from))
    }
}

impl From<SocketAddr> for PeerAddr {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(Some(path)) => write!(f, "unix:{}", path.display()),
            Self::Unix(None) => f.write_str("unix:(unnamed)"),
        }
    }
}
