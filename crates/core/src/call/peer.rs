//! Who is at the other end of a connection.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use crate::call::PeerIdentity;

/// Address of a peer; cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAddr {
    /// Not known, for example over a stream that the user opened.
    #[default]
    Unknown,
    /// An internet address.
    Tcp(SocketAddr),
    /// A unix socket; clients of one usually have no path.
    Unix(Option<Arc<Path>>),
}

/// Who is at the other end of a connection, as a server knows it; shared by the requests that come over it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Where it is.
    pub addr: PeerAddr,
    /// What its certificate says, over mutual TLS.
    pub identity: Option<Arc<PeerIdentity>>,
}

impl PeerAddr {
    /// The internet address, if it is one.
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(addr) => Some(*addr),
            Self::Unknown | Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown peer"),
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(Some(path)) => write!(f, "unix:{}", path.display()),
            Self::Unix(None) => f.write_str("unix:(unnamed)"),
        }
    }
}

impl From<SocketAddr> for PeerAddr {
    fn from(addr: SocketAddr) -> Self {
        Self::Tcp(addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_print_as_targets_do() {
        let addr: SocketAddr = ([127, 0, 0, 1], 50_051).into();
        assert_eq!(PeerAddr::from(addr).to_string(), "127.0.0.1:50051");
        assert_eq!(PeerAddr::from(addr).socket_addr(), Some(addr));
        let path = PeerAddr::Unix(Some(Path::new("/run/x.sock").into()));
        assert_eq!(path.to_string(), "unix:/run/x.sock");
        assert_eq!(PeerAddr::Unix(None).to_string(), "unix:(unnamed)");
        assert_eq!(PeerAddr::default().to_string(), "unknown peer");
        assert_eq!(PeerAddr::default().socket_addr(), None);
    }
}
