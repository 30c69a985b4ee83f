//! The client's side: whom it trusts, and the handshake of one connection.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use peregrine_core::{Error, Phase};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::error::{HandshakeError, HandshakeErrorKind};
use super::first_bytes::FirstBytes;
use super::pem::{self, Origin};
use super::{ALPN, TlsStream, provider};

/// A client's TLS: the authorities that it trusts, and the name that it expects. Cheap to clone.
///
/// TLS 1.2 and 1.3. The server must choose the ALPN protocol `h2`.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<String>,
    allow_missing_alpn: bool,
}

impl ClientTls {
    /// Trusts the certificate authorities in a PEM text, and nobody else.
    ///
    /// # Errors
    /// The text holds no certificate, or one that is malformed.
    pub fn with_ca_pem(authorities: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::new(pem::certificates(authorities.as_ref(), Origin::Memory)?, Origin::Memory)
    }

    /// The same from a file, which is read now and never again.
    ///
    /// # Errors
    /// The file cannot be read, or as [`with_ca_pem`](Self::with_ca_pem).
    pub fn with_ca_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = pem::read(path, "the trusted certificates")?;
        let origin = Origin::File(path);
        Self::new(pem::certificates(&text, origin)?, origin)
    }

    fn new(authorities: Vec<CertificateDer<'static>>, origin: Origin<'_>) -> Result<Self, Error> {
        let unusable = |error: rustls::Error| {
            Error::new(Phase::Config, format!("a certificate in {origin} cannot be trusted: {error}"))
                .with_source(error)
                .with_hint("the file must hold certificates of authorities, in PEM form")
        };
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).map_err(unusable)?;
        }
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self { config: Arc::new(config), server_name: None, allow_missing_alpn: false })
    }

    /// The DNS name or IP address that the server's certificate must carry, also sent as SNI. Default: the host of the
    /// channel's target. What calls send as `:authority` is a setting of its own.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// Accepts servers that choose no ALPN protocol, and takes them for HTTP/2 servers. Default: the connection is
    /// given up, as every gRPC client does (wire-rules 95).
    #[must_use]
    pub fn allow_missing_alpn(mut self) -> Self {
        self.allow_missing_alpn = true;
        self
    }

    /// The same, with the host of the target as the expected name unless another was set; checked, so that a name
    /// that no certificate can carry is found when the channel is built.
    ///
    /// # Errors
    /// The name is neither a DNS name nor an IP address.
    pub fn for_host(mut self, host: &str) -> Result<Self, Error> {
        let name = self.server_name.get_or_insert_with(|| host.to_owned());
        match ServerName::try_from(name.as_str()) {
            Ok(_) => Ok(self),
            Err(error) => {
                Err(Error::new(Phase::Config, format!("`{name}` is no name that a certificate can carry"))
                    .with_source(error)
                    .with_hint(
                        "give ClientTls::server_name a DNS name or an IP address without port and brackets",
                    ))
            }
        }
    }

    /// The handshake on a connection that was opened. Takes as long as the server likes: the caller has the timer.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    ///
    /// # Errors
    /// What is wrong with the server, its certificate, or the name expected of it.
    pub async fn connect<IO>(&self, io: IO) -> Result<TlsStream<IO>, HandshakeError>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let name = self.server_name.clone().unwrap_or_default();
        // rustls sends it as SNI. [9113-9.2-1]
        let name = ServerName::try_from(name).map_err(HandshakeError::no_name)?;
        let connecting =
            TlsConnector::from(Arc::clone(&self.config)).connect(name, FirstBytes::recording(io));
        match connecting.into_fallible().await {
            Ok(stream) if stream.get_ref().1.alpn_protocol().is_none() && !self.allow_missing_alpn => {
                Err(HandshakeError::new(HandshakeErrorKind::NoHttp2))
            }
            Ok(stream) => Ok(TlsStream::new(stream.into())),
            Err((error, io)) => Err(HandshakeError::classify(error, io.first())),
        }
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("server_name", &self.server_name)
            .field("allow_missing_alpn", &self.allow_missing_alpn)
            .finish_non_exhaustive()
    }
}
