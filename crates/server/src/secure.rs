//! Whether the connections of a server are protected, and how. Kept among its options, used by `listen`.

/// How the connections of a server are protected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secure {
    #[cfg(feature = "_tls")]
    pub(crate) tls: Option<peregrine_transport::tls::ServerTls>,
}

impl Secure {
    #[cfg(feature = "_tls")]
    pub(crate) fn with(tls: peregrine_transport::tls::ServerTls) -> Self {
        Self { tls: Some(tls) }
    }

    #[cfg(feature = "_tls")]
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether a request for `authority` may be served on a protected connection.
    #[cfg(feature = "_tls")]
    pub(crate) fn serves(&self, authority: Option<&[u8]>) -> bool {
        self.tls.as_ref().is_none_or(|tls| tls.serves(authority.unwrap_or_default()))
    }

    #[cfg(not(feature = "_tls"))]
    #[expect(clippy::unused_self, reason = "the same face as with TLS")]
    pub(crate) fn serves(&self, _authority: Option<&[u8]>) -> bool {
        true
    }

    #[cfg(not(feature = "_tls"))]
    #[expect(clippy::unused_self, reason = "the same face as with TLS")]
    pub(crate) fn is_tls(&self) -> bool {
        false
    }
}
