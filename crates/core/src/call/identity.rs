//! Who is at the other end, as its certificate says (mutual TLS).
//!
//! Made by the transport once per connection; handlers read it from their request.

use std::fmt;
use std::net::IpAddr;

use super::certificate::{self, Names};

/// The certificates that a peer has shown and proven its own, already verified against the authorities that the
/// server trusts. Which of them may do what is for the handler, or an interceptor, to decide.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PeerIdentity {
    certificates: Vec<Vec<u8>>,
    names: Names,
}

impl PeerIdentity {
    /// From the chain, each certificate in DER form, the peer's own first.
    pub fn from_certificates(chain: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let certificates: Vec<_> = chain.into_iter().collect();
        let names = certificates.first().map(|own| certificate::names(own)).unwrap_or_default();
        Self { certificates, names }
    }

    /// The chain as the peer sent it, each certificate in DER form, the peer's own first.
    pub fn certificates(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.certificates.iter().map(Vec::as_slice)
    }

    /// DNS names among the subject's alternative names.
    pub fn dns_names(&self) -> &[String] {
        &self.names.dns
    }

    /// URIs among the subject's alternative names, such as `spiffe://cluster.local/ns/shop/sa/cart`.
    pub fn uris(&self) -> &[String] {
        &self.names.uris
    }

    /// E-mail addresses among the subject's alternative names.
    pub fn emails(&self) -> &[String] {
        &self.names.emails
    }

    /// IP addresses among the subject's alternative names.
    pub fn ip_addresses(&self) -> &[IpAddr] {
        &self.names.addresses
    }

    /// The subject's common name. Authorities check it less than the alternative names: prefer those.
    pub fn common_name(&self) -> Option<&str> {
        self.names.common_name.as_deref()
    }

    /// The SPIFFE id: the one URI of the certificate, if it has exactly one and its scheme is `spiffe`.
    pub fn spiffe_id(&self) -> Option<&str> {
        match self.uris() {
            [only] if only.starts_with("spiffe://") => Some(only),
            _ => None,
        }
    }
}

impl fmt::Debug for PeerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerIdentity")
            .field("common_name", &self.names.common_name)
            .field("dns_names", &self.names.dns)
            .field("uris", &self.names.uris)
            .field("emails", &self.names.emails)
            .field("ip_addresses", &self.names.addresses)
            .field("certificates", &self.certificates.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_uris(uris: &[&str]) -> PeerIdentity {
        let uris = uris.iter().map(|&uri| uri.to_owned()).collect();
        PeerIdentity { certificates: vec![vec![1], vec![2]], names: Names { uris, ..Names::default() } }
    }

    #[test]
    fn a_spiffe_id_is_the_only_uri() {
        assert_eq!(with_uris(&["spiffe://a/b"]).spiffe_id(), Some("spiffe://a/b"));
        assert_eq!(with_uris(&["https://a/b"]).spiffe_id(), None);
        assert_eq!(with_uris(&["spiffe://a/b", "spiffe://a/c"]).spiffe_id(), None);
        assert_eq!(with_uris(&[]).spiffe_id(), None);
    }

    #[test]
    fn certificates_that_are_none_have_no_names() {
        let identity = PeerIdentity::from_certificates([vec![1, 2, 3], vec![4]]);
        assert_eq!(identity.certificates().collect::<Vec<_>>(), [&[1, 2, 3][..], &[4]]);
        assert_eq!((identity.common_name(), identity.dns_names().len()), (None, 0));
        assert_eq!(PeerIdentity::from_certificates([]).certificates().len(), 0);
    }
}
