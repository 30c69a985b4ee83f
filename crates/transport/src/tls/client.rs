//! The client's side: whom it trusts, who it is, and the handshake of one connection.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use peregrine_core::{Error, Phase};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::current::Current;
use super::error::{HandshakeError, HandshakeErrorKind};
use super::first_bytes::FirstBytes;
use super::material::{Authorities, Identity, Source, Text};
use super::version::TlsVersion;
use super::{ALPN, TlsStream, provider};

/// A client's TLS: the authorities that it trusts, the name that it expects, and its own certificate if it has one.
/// Cheap to clone.
///
/// TLS 1.2 and 1.3. The server must choose the ALPN protocol `h2`.
#[derive(Clone)]
pub struct ClientTls {
    current: Current<Made>,
    server_name: Option<String>,
    allow_missing_alpn: bool,
}

/// What a configuration is made of.
#[derive(Clone)]
struct Recipe {
    authorities: Authorities,
    identity: Option<Identity>,
    oldest: TlsVersion,
}

/// What a recipe gives.
struct Made {
    recipe: Recipe,
    config: Arc<ClientConfig>,
}

impl ClientTls {
    /// Trusts the certificate authorities in a PEM text, and nobody else.
    ///
    /// # Errors
    /// The text holds no certificate, or one that is malformed.
    pub fn with_ca_pem(authorities: impl AsRef<[u8]>) -> Result<Self, Error> {
        Authorities::read(Source::memory(authorities)).map(Self::new)
    }

    /// The same from a file, which is read now.
    ///
    /// # Errors
    /// The file cannot be read, or as [`with_ca_pem`](Self::with_ca_pem).
    pub fn with_ca_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Authorities::read(Source::file(path)).map(Self::new)
    }

    /// Trusts the certificate authorities that the operating system trusts: its certificate store, or the file and the
    /// folder that the environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name. They are read now, which takes some
    /// milliseconds. A channel with the target `https://` does this by itself.
    ///
    /// # Errors
    /// The store cannot be read, or is empty.
    pub fn with_system_roots() -> Result<Self, Error> {
        Authorities::read(Source::System).map(Self::new)
    }

    fn new(authorities: Authorities) -> Self {
        let recipe = Recipe { authorities, identity: None, oldest: TlsVersion::default() };
        Self { current: Current::new(recipe.make()), server_name: None, allow_missing_alpn: false }
    }

    /// Trusts the authorities in this PEM text as well.
    ///
    /// ```
    /// # use peregrine_transport::tls::ClientTls;
    /// # fn tls(own: &str) -> Result<ClientTls, peregrine_core::Error> {
    /// ClientTls::with_system_roots()?.and_ca_pem(own)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`with_ca_pem`](Self::with_ca_pem).
    pub fn and_ca_pem(self, authorities: impl AsRef<[u8]>) -> Result<Self, Error> {
        self.and(Source::memory(authorities))
    }

    /// The same from a file, which is read now.
    ///
    /// # Errors
    /// As [`with_ca_file`](Self::with_ca_file).
    pub fn and_ca_file(self, path: impl AsRef<Path>) -> Result<Self, Error> {
        self.and(Source::file(path))
    }

    fn and(self, source: Source) -> Result<Self, Error> {
        let authorities = self.recipe().authorities.and(source)?;
        Ok(self.changed(|recipe| recipe.authorities = authorities))
    }

    /// Shows this certificate to servers that ask for one: the chain in PEM, the client's own certificate first, and
    /// its private key (PKCS#8, PKCS#1 or SEC1). Default: none.
    ///
    /// # Errors
    /// The text holds no certificate or key, they are malformed, or do not belong together.
    pub fn identity_pem(self, certificates: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Result<Self, Error> {
        self.identity(Text::memory(certificates), Text::memory(key))
    }

    /// The same from files, which are read now.
    ///
    /// # Errors
    /// A file cannot be read, or as [`identity_pem`](Self::identity_pem).
    pub fn identity_files(
        self,
        certificates: impl AsRef<Path>,
        key: impl AsRef<Path>,
    ) -> Result<Self, Error> {
        self.identity(Text::file(certificates), Text::file(key))
    }

    fn identity(self, certificates: Text, key: Text) -> Result<Self, Error> {
        let identity = Identity::read(certificates, key)?;
        Ok(self.changed(|recipe| recipe.identity = Some(identity)))
    }

    /// The oldest version of TLS that is spoken. Default: [`TlsVersion::V1_2`].
    #[must_use]
    pub fn min_version(self, oldest: TlsVersion) -> Self {
        self.changed(|recipe| recipe.oldest = oldest)
    }

    fn recipe(&self) -> Recipe {
        self.current.get().recipe.clone()
    }

    /// With a changed recipe, which no clone made before shares.
    fn changed(mut self, change: impl FnOnce(&mut Recipe)) -> Self {
        let mut recipe = self.recipe();
        change(&mut recipe);
        self.current = Current::new(recipe.make());
        self
    }

    /// Reads the files that this was made of again, and the system's authorities if those are trusted, and uses what
    /// they hold now for every connection that is made from here on; those that are open stay open. All clones change
    /// with it, those that channels were given too. Either everything changes or, on an error, nothing. Returns whether
    /// the files had changed.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold what it should: what was in use stays in use.
    pub fn reload(&self) -> Result<bool, Error> {
        self.current.renew(|old| {
            let new = old.recipe.read_again()?;
            Ok((!new.shows_the_same(&old.recipe)).then(|| new.make()))
        })
    }

    /// Uses authorities, certificate, key and versions of another one for every connection that is made from here on,
    /// in this and all its clones. For certificates that come from elsewhere than files.
    pub fn replace(&self, other: &Self) {
        self.current.set(other.current.get());
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

    /// Whether servers are shown a certificate if they ask.
    pub fn has_identity(&self) -> bool {
        self.current.get().recipe.identity.is_some()
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
        let made = self.current.get();
        let has_identity = made.recipe.identity.is_some();
        let connector = TlsConnector::from(Arc::clone(&made.config));
        drop(made);
        let connecting = connector.connect(name, FirstBytes::recording(io));
        match connecting.into_fallible().await {
            Ok(stream) if stream.get_ref().1.alpn_protocol().is_none() && !self.allow_missing_alpn => {
                Err(HandshakeError::new(HandshakeErrorKind::NoHttp2))
            }
            Ok(stream) => Ok(TlsStream::new(stream.into())),
            Err((error, io)) => Err(HandshakeError::at_client(error, io.first(), has_identity)),
        }
    }
}

impl Recipe {
    fn read_again(&self) -> Result<Self, Error> {
        let identity = self.identity.as_ref().map(Identity::read_again).transpose()?;
        Ok(Self { authorities: self.authorities.read_again()?, identity, oldest: self.oldest })
    }

    /// Whether certificates and authorities are equal.
    fn shows_the_same(&self, other: &Self) -> bool {
        self.identity == other.identity && self.authorities == other.authorities
    }

    fn make(&self) -> Made {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(self.oldest.and_newer())
            .unwrap_or_else(|_| unreachable!("the provider has cipher suites of every version"))
            .with_root_certificates(self.authorities.roots());
        let mut config = match &self.identity {
            Some(identity) => {
                let shown = SingleCertAndKey::from(Arc::clone(identity.certified()));
                builder.with_client_cert_resolver(Arc::new(shown))
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        Made { recipe: self.clone(), config: Arc::new(config) }
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls")
            .field("server_name", &self.server_name)
            .field("has_identity", &self.has_identity())
            .field("min_version", &self.recipe().oldest)
            .field("allow_missing_alpn", &self.allow_missing_alpn)
            .finish_non_exhaustive()
    }
}
