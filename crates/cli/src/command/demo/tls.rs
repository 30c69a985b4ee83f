//! The demo's second port: the same services over TLS, with a certificate that is made when the demo starts.
//!
//! Nothing is left to steal or to expire: the authority's key is gone as soon as it has signed the one certificate, that
//! one's key never leaves the process, and the file with the authority's certificate goes when the demo ends.

use std::{
    io::{self, Write},
    path::Path,
};

use peregrine_server::ServerTls;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;

use crate::report::Report;

/// The names under which the demo can be called.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A listener and what its connections are protected with.
pub(super) struct TlsPort {
    pub(super) port: u16,
    /// The certificate that callers must trust; the file goes with this value.
    authority: NamedTempFile,
}

impl TlsPort {
    /// Listens on `port`, or on any free one if that is taken and was not asked for.
    pub(super) async fn open(
        port: u16,
        is_asked_for: bool,
    ) -> Result<(Self, TcpListener, ServerTls), Report> {
        let listener = match TcpListener::bind(("127.0.0.1", port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && !is_asked_for => {
                TcpListener::bind(("127.0.0.1", 0)).await
            }
            bound => bound,
        };
        let listener = listener.map_err(|error| super::cannot_listen(port, "--tls-port", &error))?;
        let port = listener.local_addr().map_err(Report::from)?.port();
        let (authority, tls) = certificate().map_err(|cause| failed(&cause))?;
        let file = written(&authority).map_err(|cause| failed(&cause))?;
        Ok((Self { port, authority: file }, listener, tls))
    }

    /// The file for `--cacert`.
    pub(super) fn authority(&self) -> &Path {
        self.authority.path()
    }
}

/// An authority's certificate, PEM, and a server's TLS with a certificate by it.
fn certificate() -> Result<(String, ServerTls), Box<dyn std::error::Error>> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.distinguished_name.push(DnType::CommonName, "peregrine demo, of this run only");
    let key = KeyPair::generate()?;
    let trusted = authority.self_signed(&key)?.pem();
    let issuer = Issuer::new(authority, key);
    let mut server = CertificateParams::new(NAMES.map(str::to_owned))?;
    server.distinguished_name.push(DnType::CommonName, "peregrine demo");
    let key = KeyPair::generate()?;
    let chain = server.signed_by(&key, &issuer)?.pem();
    let tls = ServerTls::from_pem(chain, key.serialize_pem()).map_err(|error| error.to_string())?;
    Ok((trusted, tls))
}

fn written(authority: &str) -> Result<NamedTempFile, Box<dyn std::error::Error>> {
    let mut file = tempfile::Builder::new().prefix("peregrine-demo-").suffix(".pem").tempfile()?;
    file.write_all(authority.as_bytes())?;
    file.flush()?;
    Ok(file)
}

fn failed(cause: &dyn std::fmt::Display) -> Report {
    Report::system("the demo's certificate could not be made").fact("cause", cause)
}
