//! The server's side: its certificate, which clients it takes, and the handshake of one connection.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use peregrine_core::Error;
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{Accepted, Acceptor, ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::StartHandshake;

use super::current::Current;
use super::error::{HandshakeError, HandshakeErrorKind};
use super::first_bytes::FirstBytes;
use super::material::{Authorities, Identity, Source, Text};
use super::version::TlsVersion;
use super::{ALPN, TlsStream, provider};
use crate::farewell;
use crate::sniff::{Sniffed, sniff};

/// Bytes read at once while the client's first message is on its way.
const READ: usize = 4096;
/// The plaintext record that refuses a client without ALPN: fatal `no_application_protocol` (RFC 7301 3.2), what
/// a client that offers other protocols gets from rustls.
const NO_APPLICATION_PROTOCOL: [u8; 7] = [0x15, 0x03, 0x03, 0, 2, 2, 120];

/// A server's TLS: its certificate chain and private key, and whether clients must show certificates too. Cheap to
/// clone.
///
/// TLS 1.2 and 1.3. Clients must offer the ALPN protocol `h2`; one that offers none, or only others, is refused with
/// the TLS alert `no_application_protocol`.
#[derive(Clone)]
pub struct ServerTls {
    current: Current<Made>,
    allow_missing_alpn: bool,
    /// Whether requests for names that the certificate does not cover are refused.
    refuse_foreign: bool,
}

/// What a configuration is made of.
#[derive(Clone)]
struct Recipe {
    identity: Identity,
    /// Whose certificates clients show, if they are asked for one.
    client_authorities: Option<Authorities>,
    anonymous_clients: bool,
    oldest: TlsVersion,
}

/// What a recipe gives.
struct Made {
    recipe: Recipe,
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// From PEM text: the certificate chain, the server's own certificate first, and its private key (PKCS#8, PKCS#1
    /// or SEC1).
    ///
    /// # Errors
    /// The text holds no certificate or key, they are malformed, or do not belong together.
    pub fn from_pem(certificates: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Result<Self, Error> {
        Identity::read(Text::memory(certificates), Text::memory(key)).map(Self::new)
    }

    /// The same from files, which are read now.
    ///
    /// # Errors
    /// A file cannot be read, or as [`from_pem`](Self::from_pem).
    pub fn from_files(certificates: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, Error> {
        Identity::read(Text::file(certificates), Text::file(key)).map(Self::new)
    }

    fn new(identity: Identity) -> Self {
        let recipe = Recipe {
            identity,
            client_authorities: None,
            anonymous_clients: false,
            oldest: TlsVersion::default(),
        };
        Self { current: Current::new(recipe.make()), allow_missing_alpn: false, refuse_foreign: false }
    }

    /// Asks clients for a certificate, and serves those only that show one which an authority in this PEM text has
    /// issued (mutual TLS). Handlers find it in `Request::peer_identity`. Called again, trusts those authorities as
    /// well. Default: clients are not asked.
    ///
    /// # Errors
    /// The text holds no certificate, or one that is malformed.
    pub fn client_ca_pem(self, authorities: impl AsRef<[u8]>) -> Result<Self, Error> {
        self.client_ca(Source::memory(authorities))
    }

    /// The same from a file, which is read now.
    ///
    /// # Errors
    /// The file cannot be read, or as [`client_ca_pem`](Self::client_ca_pem).
    pub fn client_ca_file(self, path: impl AsRef<Path>) -> Result<Self, Error> {
        self.client_ca(Source::file(path))
    }

    fn client_ca(self, source: Source) -> Result<Self, Error> {
        let authorities = match self.recipe().client_authorities {
            Some(authorities) => authorities.and(source)?,
            None => Authorities::read(source)?,
        };
        Ok(self.changed(|recipe| recipe.client_authorities = Some(authorities)))
    }

    /// Serves clients without a certificate as well, once [`client_ca_pem`](Self::client_ca_pem) asks for one: handlers
    /// tell the two apart by `Request::peer_identity`. A certificate that is shown must still be a good one. Default:
    /// the handshake fails with the alert `certificate_required`.
    #[must_use]
    pub fn anonymous_clients(self) -> Self {
        self.changed(|recipe| recipe.anonymous_clients = true)
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

    /// Reads the files that this was made of again, and uses what they hold now for every handshake that begins from
    /// here on; connections that are open stay open. All clones change with it: keep one, and give the other to the
    /// server. Either everything changes or, on an error, nothing. Returns whether the files had changed; sessions can
    /// be resumed across a reload only if they had not.
    ///
    /// # Errors
    /// A file cannot be read, or does not hold what it should (a key that was replaced before its certificate, for
    /// instance): what was in use stays in use.
    pub fn reload(&self) -> Result<bool, Error> {
        self.current.renew(|old| {
            let new = old.recipe.read_again()?;
            Ok((!new.shows_the_same(&old.recipe)).then(|| new.make()))
        })
    }

    /// Uses certificate, key, client authorities and versions of another one for every handshake that begins from here
    /// on, in this and all its clones. For certificates that come from elsewhere than files.
    pub fn replace(&self, other: &Self) {
        self.current.set(other.current.get());
    }

    /// Accepts clients that offer no ALPN protocol at all and takes them for HTTP/2 clients. Old HTTP libraries and
    /// some proxies need it. Default: they are refused, as every gRPC server does (wire-rules 95).
    #[must_use]
    pub fn allow_missing_alpn(mut self) -> Self {
        self.allow_missing_alpn = true;
        self
    }

    /// Refuses requests whose `:authority` the server's own certificate does not cover: HTTP 421, FAILED_PRECONDITION.
    /// They come from clients that use one connection for several hosts, or that were sent to the wrong server (RFC
    /// 9113 9.1.1, http2-abuse 46). Default: any authority is served, since proxies and balancers often rewrite it.
    #[must_use]
    pub fn refuse_foreign_authorities(mut self) -> Self {
        self.refuse_foreign = true;
        self
    }

    /// Whether a request for `authority` (`host` or `host:port`) may be served.
    pub fn serves(&self, authority: &[u8]) -> bool {
        !self.refuse_foreign || self.current.get().covers(authority)
    }

    /// The handshake on a connection that was accepted. Takes as long as the client likes: the caller has the timer.
    ///
    /// A client that speaks plaintext gets an answer in its own protocol before the connection closes: HTTP/1.1 `400`,
    /// or an HTTP/2 GOAWAY.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    ///
    /// # Errors
    /// What the client did instead of a handshake; it has been told as far as its protocol allows.
    pub async fn accept<IO>(&self, mut io: IO) -> Result<TlsStream<IO>, HandshakeError>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let accepted = match client_hello(&mut io).await {
            Ok(accepted) => accepted,
            Err((error, answer)) => {
                farewell::send(&mut io, &answer).await;
                return Err(error);
            }
        };
        // A client that offers protocols without h2 among them is refused by rustls.
        if !self.allow_missing_alpn && accepted.client_hello().alpn().is_none() {
            farewell::send(&mut io, &NO_APPLICATION_PROTOCOL).await;
            return Err(HandshakeError::new(HandshakeErrorKind::NoHttp2));
        }
        let accepting = StartHandshake::from_parts(accepted, FirstBytes::silent(io))
            .into_stream(Arc::clone(&self.current.get().config));
        match accepting.into_fallible().await {
            Ok(stream) => Ok(TlsStream::new(stream.into())),
            Err((error, mut io)) => {
                // The alert is in the socket already; it must not be lost to unread input.
                farewell::send(&mut io, &[]).await;
                Err(HandshakeError::at_server(error))
            }
        }
    }
}

impl Recipe {
    fn read_again(&self) -> Result<Self, Error> {
        let client_authorities = self.client_authorities.as_ref().map(Authorities::read_again).transpose()?;
        Ok(Self { identity: self.identity.read_again()?, client_authorities, ..self.clone() })
    }

    /// Whether certificates and authorities are equal.
    fn shows_the_same(&self, other: &Self) -> bool {
        self.identity == other.identity && self.client_authorities == other.client_authorities
    }

    fn make(&self) -> Made {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(self.oldest.and_newer())
            .unwrap_or_else(|_| unreachable!("the provider has cipher suites of every version"));
        let builder = match &self.client_authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => builder.with_client_cert_verifier(self.client_verifier(authorities)),
        };
        let shown = SingleCertAndKey::from(Arc::clone(self.identity.certified()));
        let mut config = builder.with_cert_resolver(Arc::new(shown));
        config.alpn_protocols = vec![ALPN.to_vec()];
        Made { recipe: self.clone(), config: Arc::new(config) }
    }

    fn client_verifier(&self, authorities: &Authorities) -> Arc<dyn ClientCertVerifier> {
        let mut builder = WebPkiClientVerifier::builder_with_provider(authorities.roots(), provider());
        if self.anonymous_clients {
            builder = builder.allow_unauthenticated();
        }
        builder.build().unwrap_or_else(|_| unreachable!("there are authorities, and no revocation lists"))
    }
}

impl Made {
    /// Whether the certificate names the host of `authority`.
    fn covers(&self, authority: &[u8]) -> bool {
        let certificate = self.recipe.identity.leaf().and_then(|leaf| ParsedCertificate::try_from(leaf).ok());
        let host = std::str::from_utf8(authority).ok().map(host_of);
        let name = host.and_then(|host| ServerName::try_from(host).ok());
        matches!((certificate, name), (Some(certificate), Some(name)) if verify_server_name(&certificate, &name).is_ok())
    }
}

/// The host of `host`, `host:port`, `[v6]` or `[v6]:port`.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recipe = self.recipe();
        f.debug_struct("ServerTls")
            .field("asks_clients", &recipe.client_authorities.is_some())
            .field("anonymous_clients", &recipe.anonymous_clients)
            .field("min_version", &recipe.oldest)
            .field("allow_missing_alpn", &self.allow_missing_alpn)
            .finish_non_exhaustive()
    }
}

/// Reads until the client's first message is whole. On an error, with what the client should be answered.
async fn client_hello<IO>(io: &mut IO) -> Result<Accepted, (HandshakeError, Vec<u8>)>
where
    IO: AsyncRead + Unpin,
{
    let mut acceptor = Acceptor::default();
    let mut first = Vec::new();
    let mut is_tls = false;
    let mut buffer = vec![0; READ];
    loop {
        let mut unfilled = ReadBuf::new(&mut buffer);
        poll_fn(|cx| Pin::new(&mut *io).poll_read(cx, &mut unfilled)).await.map_err(untold)?;
        let mut bytes: &[u8] = unfilled.filled();
        if bytes.is_empty() {
            return Err(untold(io::ErrorKind::UnexpectedEof.into()));
        }
        if !is_tls {
            first.extend_from_slice(bytes);
            match sniff(&first) {
                None => continue,
                Some(Sniffed::Tls) => is_tls = true,
                Some(other) => {
                    return Err((HandshakeError::not_tls(&first), farewell::to_plaintext(other)));
                }
            }
            bytes = &first;
        }
        while !bytes.is_empty() {
            acceptor.read_tls(&mut bytes).map_err(untold)?;
        }
        match acceptor.accept() {
            Ok(None) => {}
            Ok(Some(accepted)) => return Ok(accepted),
            Err((error, mut alert)) => {
                let mut answer = Vec::new();
                // Writing into memory cannot fail.
                let _infallible = alert.write_all(&mut answer);
                return Err((HandshakeError::of_rustls(error), answer));
            }
        }
    }
}

/// A failure that leaves nobody to tell.
fn untold(error: io::Error) -> (HandshakeError, Vec<u8>) {
    (HandshakeError::at_server(error), Vec::new())
}
