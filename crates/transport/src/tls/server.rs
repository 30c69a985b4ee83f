//! The server's side: its certificate, and the handshake of one connection.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use peregrine_core::{Error, Phase};
use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{Accepted, Acceptor, ParsedCertificate};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::StartHandshake;

use super::error::{HandshakeError, HandshakeErrorKind};
use super::first_bytes::FirstBytes;
use super::pem::{self, Origin};
use super::{ALPN, TlsStream, provider};
use crate::farewell;
use crate::sniff::{Sniffed, sniff};

/// Bytes read at once while the client's first message is on its way.
const READ: usize = 4096;
/// The plaintext record that refuses a client without ALPN: fatal `no_application_protocol` (RFC 7301 3.2), what
/// a client that offers other protocols gets from rustls.
const NO_APPLICATION_PROTOCOL: [u8; 7] = [0x15, 0x03, 0x03, 0, 2, 2, 120];

/// A server's TLS: its certificate chain and private key. Cheap to clone.
///
/// TLS 1.2 and 1.3. Clients must offer the ALPN protocol `h2`; one that offers none, or only others, is refused with
/// the TLS alert `no_application_protocol`.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    allow_missing_alpn: bool,
    /// The server's own certificate, if requests for other names are refused.
    own: Own,
}

impl ServerTls {
    /// From PEM text: the certificate chain, the server's own certificate first, and its private key (PKCS#8, PKCS#1
    /// or SEC1).
    ///
    /// # Errors
    /// The text holds no certificate or key, they are malformed, or do not belong together.
    pub fn from_pem(certificates: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Result<Self, Error> {
        Self::new((certificates.as_ref(), Origin::Memory), (key.as_ref(), Origin::Memory))
    }

    /// The same from files, which are read now and never again.
    ///
    /// # Errors
    /// A file cannot be read, or as [`from_pem`](Self::from_pem).
    pub fn from_files(certificates: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, Error> {
        let (certificates, key) = (certificates.as_ref(), key.as_ref());
        Self::new(
            (&pem::read(certificates, "the certificate chain")?, Origin::File(certificates)),
            (&pem::read(key, "the private key")?, Origin::File(key)),
        )
    }

    fn new(certificates: (&[u8], Origin<'_>), key: (&[u8], Origin<'_>)) -> Result<Self, Error> {
        let chain = pem::certificates(certificates.0, certificates.1)?;
        let private = pem::key(key.0, key.1)?;
        let own = Own { leaf: chain.first().cloned(), is_checked: false };
        let unusable = |error: rustls::Error| {
            let message = format!("the certificate in {} and the key in {}: {error}", certificates.1, key.1);
            Error::new(Phase::Config, message)
                .with_source(error)
                .with_hint("does the key belong to the first certificate of the chain?")
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(unusable)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self { config: Arc::new(config), allow_missing_alpn: false, own })
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
        self.own.is_checked = true;
        self
    }

    /// Whether a request for `authority` (`host` or `host:port`) may be served.
    pub fn serves(&self, authority: &[u8]) -> bool {
        !self.own.is_checked || self.own.covers(authority)
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
            .into_stream(Arc::clone(&self.config));
        match accepting.into_fallible().await {
            Ok(stream) => Ok(TlsStream::new(stream.into())),
            Err((error, mut io)) => {
                // The alert is in the socket already; it must not be lost to unread input.
                farewell::send(&mut io, &[]).await;
                Err(HandshakeError::classify(error, &[]))
            }
        }
    }
}

/// The server's own certificate, and whether it bounds what is served.
#[derive(Clone)]
struct Own {
    leaf: Option<CertificateDer<'static>>,
    is_checked: bool,
}

impl Own {
    /// Whether the certificate names the host of `authority`.
    fn covers(&self, authority: &[u8]) -> bool {
        let certificate = self.leaf.as_ref().and_then(|leaf| ParsedCertificate::try_from(leaf).ok());
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
        f.debug_struct("ServerTls")
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
    (HandshakeError::classify(error, &[]), Vec::new())
}
