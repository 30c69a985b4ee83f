//! Whether the connections of a server are protected, and how. Kept among its options, used by `listen`.

/// How the connections of a server are protected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secure {
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<peregrine_transport::tls::ServerTls>,
}

impl Secure {
    #[cfg(feature = "tls")]
    pub(crate) fn with(tls: peregrine_transport::tls::ServerTls) -> Self {
        Self { tls: Some(tls) }
    }

    #[cfg(feature = "tls")]
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, reason = "the same face as with TLS")]
    pub(crate) fn is_tls(&self) -> bool {
        false
    }
}
