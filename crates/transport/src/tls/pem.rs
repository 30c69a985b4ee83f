//! Certificates and keys out of PEM text, and the sentences of what is wrong with it.

use std::fmt;
use std::fs;
use std::path::Path;

use peregrine_core::{Error, Phase};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Where a PEM text comes from, for errors.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// Bytes that the caller had.
    Memory,
    File(&'a Path),
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("the PEM text given"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// What is in a file; `what` names it in the error ("the key").
pub(super) fn read(path: &Path, what: &str) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| {
        Error::new(Phase::Config, format!("{what} cannot be read from {}: {error}", path.display()))
            .with_source(error)
            .with_hint("check the path and the rights of the file")
    })
}

/// Every certificate in `text`, at least one.
pub(super) fn certificates(text: &[u8], origin: Origin<'_>) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|error| malformed("certificates", origin, error))?;
    if certificates.is_empty() {
        return Err(Error::new(Phase::Config, format!("there is no certificate in {origin}"))
            .with_hint("PEM certificates begin with -----BEGIN CERTIFICATE-----"));
    }
    Ok(certificates)
}

/// The first private key in `text`.
pub(super) fn key(text: &[u8], origin: Origin<'_>) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            Error::new(Phase::Config, format!("there is no private key in {origin}")).with_hint(
                "a PKCS#8, PKCS#1 or SEC1 key in PEM form, not encrypted, begins with -----BEGIN PRIVATE KEY----- or \
                 the like",
            )
        }
        error => malformed("the private key", origin, error),
    })
}

fn malformed(what: &str, origin: Origin<'_>, error: pem::Error) -> Error {
    Error::new(Phase::Config, format!("{what} in {origin} cannot be read: {error}"))
        .with_source(error)
        .with_hint("is this PEM text, and complete?")
}
