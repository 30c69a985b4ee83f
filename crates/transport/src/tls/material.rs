//! Certificates, keys and authorities as they were given, so that they can be read again.
//!
//! Everything is checked when it is read: a configuration that is made of these parts cannot fail.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use peregrine_core::{Error, Phase};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::pem::{self, Origin};
use super::provider;

/// A PEM text: bytes that the caller had, or a file's.
#[derive(Clone)]
pub(super) enum Text {
    Memory(Arc<[u8]>),
    File(PathBuf),
}

impl Text {
    pub(super) fn memory(text: impl AsRef<[u8]>) -> Self {
        Self::Memory(text.as_ref().into())
    }

    pub(super) fn file(path: impl AsRef<Path>) -> Self {
        Self::File(path.as_ref().to_owned())
    }

    fn read(&self, what: &str) -> Result<Cow<'_, [u8]>, Error> {
        match self {
            Self::Memory(text) => Ok(Cow::Borrowed(text)),
            Self::File(path) => pem::read(path, what).map(Cow::Owned),
        }
    }

    fn origin(&self) -> Origin<'_> {
        match self {
            Self::Memory(_) => Origin::Memory,
            Self::File(path) => Origin::File(path),
        }
    }
}

/// A certificate chain and its private key, read and checked. Cheap to clone.
#[derive(Clone)]
pub(super) struct Identity {
    chain: Text,
    key: Text,
    certified: Arc<CertifiedKey>,
}

impl Identity {
    /// Reads both.
    ///
    /// # Errors
    /// A file cannot be read, there is no certificate or key in a text, or they do not belong together.
    pub(super) fn read(chain: Text, key: Text) -> Result<Self, Error> {
        let certificates = pem::certificates(&chain.read("the certificate chain")?, chain.origin())?;
        let private = pem::key(&key.read("the private key")?, key.origin())?;
        let unusable = |error: rustls::Error| {
            let message =
                format!("the certificate in {} and the key in {}: {error}", chain.origin(), key.origin());
            Error::new(Phase::Config, message)
                .with_source(error)
                .with_hint("does the key belong to the first certificate of the chain?")
        };
        let certified = CertifiedKey::from_der(certificates, private, &provider()).map_err(unusable)?;
        Ok(Self { certified: Arc::new(certified), chain, key })
    }

    /// Reads both again.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_again(&self) -> Result<Self, Error> {
        Self::read(self.chain.clone(), self.key.clone())
    }

    pub(super) fn certified(&self) -> &Arc<CertifiedKey> {
        &self.certified
    }

    /// The certificate of the one who shows the chain.
    pub(super) fn leaf(&self) -> Option<&CertificateDer<'static>> {
        self.certified.cert.first()
    }
}

/// Equal certificates have equal keys, since a key must fit its certificate.
impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.certified.cert == other.certified.cert
    }
}

/// Authorities to trust, read and checked; never none. Cheap to clone.
#[derive(Clone)]
pub(super) struct Authorities {
    sources: Vec<Source>,
    roots: Arc<RootCertStore>,
}

/// Where authorities come from.
#[derive(Clone)]
pub(super) enum Source {
    Text(Text),
    /// The operating system's store.
    System,
}

impl Source {
    pub(super) fn memory(text: impl AsRef<[u8]>) -> Self {
        Self::Text(Text::memory(text))
    }

    pub(super) fn file(path: impl AsRef<Path>) -> Self {
        Self::Text(Text::file(path))
    }
}

impl Authorities {
    /// Reads the certificates in `source`.
    ///
    /// # Errors
    /// The file cannot be read, or holds no certificate of an authority; the system trusts nobody.
    pub(super) fn read(source: Source) -> Result<Self, Error> {
        Self::nobody().and(source)
    }

    /// These, and the certificates in `source`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn and(mut self, source: Source) -> Result<Self, Error> {
        let roots = Arc::make_mut(&mut self.roots);
        match &source {
            Source::Text(text) => add_text(roots, text)?,
            Source::System => add_system(roots)?,
        }
        self.sources.push(source);
        Ok(self)
    }

    /// Reads all of them again.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_again(&self) -> Result<Self, Error> {
        self.sources.iter().cloned().try_fold(Self::nobody(), Self::and)
    }

    pub(super) fn roots(&self) -> Arc<RootCertStore> {
        Arc::clone(&self.roots)
    }

    /// None yet; only a step on the way to some.
    fn nobody() -> Self {
        Self { sources: Vec::new(), roots: Arc::new(RootCertStore::empty()) }
    }
}

impl PartialEq for Authorities {
    fn eq(&self, other: &Self) -> bool {
        self.roots.roots == other.roots.roots
    }
}

fn add_text(roots: &mut RootCertStore, text: &Text) -> Result<(), Error> {
    let origin = text.origin();
    for authority in pem::certificates(&text.read("the trusted certificates")?, origin)? {
        roots.add(authority).map_err(|error| {
            Error::new(Phase::Config, format!("a certificate in {origin} cannot be trusted: {error}"))
                .with_source(error)
                .with_hint("the file must hold certificates of authorities, in PEM form")
        })?;
    }
    Ok(())
}

/// Stores of operating systems hold relics that no verifier takes; those are passed over.
fn add_system(roots: &mut RootCertStore) -> Result<(), Error> {
    let found = rustls_native_certs::load_native_certs();
    let (added, _relics) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(());
    }
    let error = Error::new(Phase::Config, "this system trusts no certificate authority").with_hint(
        "install the system's certificates (the package ca-certificates), or name the authorities to trust with \
         ClientTls::with_ca_file",
    );
    Err(match found.errors.into_iter().next() {
        Some(cause) => error.with_source(cause),
        None => error,
    })
}
