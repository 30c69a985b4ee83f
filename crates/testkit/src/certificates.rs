//! Certificates for tests of TLS, made anew for each run: nothing expires in the tree, and no private key is in it.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
    date_time_ymd,
};

/// A certificate authority of the test's own.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, PEM: what a client is told to trust.
    pub pem: String,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The chain, PEM; the authority's own certificate is not part of it.
    pub chain: String,
    /// The private key, PEM.
    pub key: String,
}

impl Authority {
    /// A new one, with a key of its own.
    #[expect(clippy::new_without_default, reason = "two of them are never equal, which a default suggests")]
    pub fn new() -> Self {
        Self::named("test authority")
    }

    /// A new one with this name. Two of one name differ in their keys, so that what one has signed is a forgery to the
    /// other; of two names, one is unknown to the other.
    pub fn named(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = generate();
        let certificate = params.self_signed(&key).expect("the parameters are complete");
        Self { pem: certificate.pem(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for these DNS names and IP addresses, valid for a long time.
    pub fn issue(&self, names: &[&str]) -> Certificate {
        self.sign(&params(names))
    }

    /// A certificate that was valid long ago.
    pub fn issue_expired(&self, names: &[&str]) -> Certificate {
        let mut params = params(names);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.sign(&params)
    }

    /// A certificate that will be valid in a long time.
    pub fn issue_early(&self, names: &[&str]) -> Certificate {
        let mut params = params(names);
        params.not_before = date_time_ymd(4000, 1, 1);
        params.not_after = date_time_ymd(4001, 1, 1);
        self.sign(&params)
    }

    /// A client's certificate with this common name and these alternative names: a URI where there is `://`, an e-mail
    /// address where there is `@`, else DNS names and IP addresses.
    pub fn issue_client(&self, common_name: &str, names: &[&str]) -> Certificate {
        let (plain, other): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| !name.contains("://") && !name.contains('@'));
        let mut params = params(&plain);
        for name in other {
            let text = name.try_into().expect("tests give names that are valid");
            params.subject_alt_names.push(if name.contains("://") {
                SanType::URI(text)
            } else {
                SanType::Rfc822Name(text)
            });
        }
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Certificate {
        let key = generate();
        let certificate = params.signed_by(&key, &self.issuer).expect("the parameters are complete");
        Certificate { chain: certificate.pem(), key: key.serialize_pem() }
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("tests give names that are valid");
    params.distinguished_name.push(DnType::CommonName, "test server");
    params
}

fn generate() -> KeyPair {
    KeyPair::generate().expect("keys can always be made")
}
