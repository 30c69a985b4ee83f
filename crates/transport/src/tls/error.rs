//! Why a handshake failed, sorted by what a person has to do about it.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::IpAddr;

use rustls::{AlertDescription, CertificateError, PeerIncompatible};

/// Characters shown of the first line of a peer that answered with text.
const SHOWN: usize = 80;

/// A handshake that came to nothing. `Display` says what is wrong in one clause, `source` is rustls's own error or the
/// socket's.
#[derive(Debug)]
pub struct HandshakeError {
    kind: HandshakeErrorKind,
    source: Option<io::Error>,
}

/// What is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HandshakeErrorKind {
    /// The peer speaks HTTP/2 without TLS.
    PlainHttp2,
    /// The peer speaks HTTP/1 without TLS; the first line of what it said.
    PlainHttp1(String),
    /// The peer speaks neither TLS nor HTTP; the first line of what it said, if that is text.
    NotTls(Option<String>),
    /// The two ends did not agree on HTTP/2 by ALPN.
    NoHttp2,
    /// The two ends speak no version of TLS in common.
    NoCommonVersion,
    /// The certificate is for other names.
    WrongName {
        /// The name that was expected.
        expected: String,
        /// The names that the certificate carries.
        presented: Vec<String>,
    },
    /// The certificate is out of date.
    OutOfDate,
    /// The certificate will be valid later.
    NotYetValid,
    /// The certificate was not issued by an authority that is trusted here.
    UnknownIssuer,
    /// The certificate cannot be accepted for another reason.
    BadCertificate,
    /// The client showed no certificate, and the server asks for one.
    ClientCertificateMissing,
    /// The server did not accept our certificate; the name of its TLS alert.
    ClientCertificateRefused(String),
    /// The peer gave up; the name of its TLS alert.
    Refused(String),
    /// The peer broke TLS, or offers no version or cipher that we accept.
    Protocol,
    /// The peer closed the connection before the handshake was over.
    Closed,
    /// The socket failed.
    Io,
}

impl HandshakeError {
    pub(super) fn new(kind: HandshakeErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// A peer whose first bytes are no TLS record.
    pub(super) fn not_tls(first: &[u8]) -> Self {
        Self::new(plaintext(first).unwrap_or(HandshakeErrorKind::NotTls(None)))
    }

    /// An expected name that cannot be one. Channels check it when they are built.
    pub(super) fn no_name(error: rustls::pki_types::InvalidDnsNameError) -> Self {
        let source = io::Error::new(io::ErrorKind::InvalidInput, error);
        Self { kind: HandshakeErrorKind::BadCertificate, source: Some(source) }
    }

    pub(super) fn of_rustls(error: rustls::Error) -> Self {
        Self { kind: of_rustls(&error), source: Some(io::Error::new(io::ErrorKind::InvalidData, error)) }
    }

    /// Sorts what came out of a client's handshake. `first` is what the server sent first; `has_identity`, whether the
    /// client has a certificate to show.
    pub(super) fn at_client(error: io::Error, first: &[u8], has_identity: bool) -> Self {
        let mut error = Self::classify(error, first);
        error.kind = error.kind.seen_by_client(has_identity);
        error
    }

    /// Sorts what came out of a server's handshake.
    pub(super) fn at_server(error: io::Error) -> Self {
        Self::classify(error, &[])
    }

    /// The alert with which a server ended a connection that the client took for open. In TLS 1.3 the client's
    /// handshake is over before the server has looked at the client's certificate. `None`: another failure.
    pub fn late_alert(error: &io::Error, has_identity: bool) -> Option<Self> {
        let rustls: &rustls::Error = error.get_ref()?.downcast_ref()?;
        let rustls::Error::AlertReceived(_) = rustls else { return None };
        let mut late = Self::of_rustls(rustls.clone());
        late.kind = late.kind.seen_by_client(has_identity);
        Some(late)
    }

    fn classify(error: io::Error, first: &[u8]) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
        let kind = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(rustls) => match of_rustls(rustls) {
                HandshakeErrorKind::Protocol => plaintext(first).unwrap_or(HandshakeErrorKind::Protocol),
                kind => kind,
            },
            None if matches!(
                error.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof
            ) =>
            {
                plaintext(first).unwrap_or(HandshakeErrorKind::Closed)
            }
            None => HandshakeErrorKind::Io,
        };
        Self { kind, source: Some(error) }
    }

    /// What is wrong.
    pub fn kind(&self) -> &HandshakeErrorKind {
        &self.kind
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            HandshakeErrorKind::PlainHttp2 => f.write_str("the peer speaks HTTP/2 without TLS"),
            HandshakeErrorKind::PlainHttp1(line) => {
                write!(f, "the peer speaks HTTP/1 without TLS; it said \"{line}\"")
            }
            HandshakeErrorKind::NotTls(Some(line)) => {
                write!(f, "the peer does not speak TLS; it said \"{line}\"")
            }
            HandshakeErrorKind::NotTls(None) => f.write_str("the peer does not speak TLS"),
            HandshakeErrorKind::NoHttp2 => f.write_str("the peer did not agree to HTTP/2 (ALPN h2)"),
            HandshakeErrorKind::NoCommonVersion => {
                f.write_str("the two ends speak no version of TLS in common")
            }
            HandshakeErrorKind::WrongName { expected, presented } => {
                write!(f, "the certificate is not for {expected} but for ")?;
                if presented.is_empty() {
                    return f.write_str("no name at all");
                }
                f.write_str(&presented.join(", "))
            }
            HandshakeErrorKind::OutOfDate => f.write_str("the certificate is out of date"),
            HandshakeErrorKind::NotYetValid => f.write_str("the certificate is not valid yet"),
            HandshakeErrorKind::UnknownIssuer => {
                f.write_str("the certificate was not issued by an authority that is trusted here")
            }
            HandshakeErrorKind::BadCertificate => f.write_str("the certificate cannot be accepted"),
            HandshakeErrorKind::ClientCertificateMissing => {
                f.write_str("the server asks for a client certificate, and none was shown")
            }
            HandshakeErrorKind::ClientCertificateRefused(alert) => {
                write!(f, "the server did not accept the client's certificate; its alert is {alert}")
            }
            HandshakeErrorKind::Refused(alert) => write!(f, "the peer refused with the alert {alert}"),
            HandshakeErrorKind::Protocol => f.write_str("the handshake went wrong"),
            HandshakeErrorKind::Closed => f.write_str("the peer closed the connection during the handshake"),
            HandshakeErrorKind::Io => f.write_str("the connection failed during the handshake"),
        }
    }
}

impl Error for HandshakeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let error = self.source.as_ref()?;
        // rustls's own error rather than the shell of an I/O error around it.
        match error.get_ref() {
            Some(inner) => Some(inner),
            None => Some(error),
        }
    }
}

impl HandshakeErrorKind {
    /// What an alert means to a client: those about certificates are about its own.
    fn seen_by_client(self, has_identity: bool) -> Self {
        match self {
            // The signature on our certificate is not that of the authority of this name.
            Self::Refused(alert) if has_identity && alert == "DecryptError" => {
                Self::ClientCertificateRefused(alert)
            }
            Self::Refused(alert) if ABOUT_CERTIFICATES.contains(&alert.as_str()) => {
                if has_identity {
                    Self::ClientCertificateRefused(alert)
                } else {
                    Self::ClientCertificateMissing
                }
            }
            kind => kind,
        }
    }
}

/// Alerts with which servers refuse a client's certificate, or that it has none: TLS 1.2 has no alert of its own for
/// that, and stacks choose among these.
const ABOUT_CERTIFICATES: [&str; 8] = [
    "BadCertificate",
    "UnsupportedCertificate",
    "CertificateRevoked",
    "CertificateExpired",
    "CertificateUnknown",
    "UnknownCA",
    "AccessDenied",
    "NoCertificate",
];

fn of_rustls(error: &rustls::Error) -> HandshakeErrorKind {
    match error {
        rustls::Error::NoCertificatesPresented
        | rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            HandshakeErrorKind::ClientCertificateMissing
        }
        rustls::Error::InvalidCertificate(certificate) => of_certificate(certificate),
        rustls::Error::NoApplicationProtocol
        | rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            HandshakeErrorKind::NoHttp2
        }
        rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)
        | rustls::Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled,
        ) => HandshakeErrorKind::NoCommonVersion,
        rustls::Error::AlertReceived(alert) => {
            let name = alert.as_str().map_or_else(|| format!("{alert:?}"), str::to_owned);
            HandshakeErrorKind::Refused(name)
        }
        _ => HandshakeErrorKind::Protocol,
    }
}

fn of_certificate(error: &CertificateError) -> HandshakeErrorKind {
    match error {
        CertificateError::NotValidForNameContext { expected, presented } => HandshakeErrorKind::WrongName {
            expected: expected.to_str().into_owned(),
            presented: presented.iter().map(|name| readable(name)).collect(),
        },
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => HandshakeErrorKind::OutOfDate,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            HandshakeErrorKind::NotYetValid
        }
        // The second: an authority of the same name is trusted, with another key. Home-made ones are often made anew.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => HandshakeErrorKind::UnknownIssuer,
        _ => HandshakeErrorKind::BadCertificate,
    }
}

/// The verifier writes `DnsName("example.org")` and `IpAddress(0::1)`; people want the name.
fn readable(name: &str) -> String {
    let address = name.strip_prefix("IpAddress(").and_then(|rest| rest.strip_suffix(')'));
    if let Some(address) = address {
        return address.parse().map_or_else(|_| address.to_owned(), |address: IpAddr| address.to_string());
    }
    name.split('"').nth(1).unwrap_or(name).to_owned()
}

/// What a peer speaks instead of TLS, if its first bytes tell: a SETTINGS frame, or text.
fn plaintext(first: &[u8]) -> Option<HandshakeErrorKind> {
    match first {
        [0x14..=0x18, 0x03, ..] | [] => return None,
        // Length, type 4, flags, stream 0: what every HTTP/2 server begins with. Or a client's preface.
        [0, 0, _, 4, 0, 0, 0, 0, 0, ..] => return Some(HandshakeErrorKind::PlainHttp2),
        _ if first.starts_with(b"PRI * HTTP/2.0") => return Some(HandshakeErrorKind::PlainHttp2),
        _ => {}
    }
    let line = first_line(first);
    Some(match line {
        Some(line) if line.contains("HTTP/1.") => HandshakeErrorKind::PlainHttp1(line),
        line => HandshakeErrorKind::NotTls(line),
    })
}

/// The first line, if it is printable.
fn first_line(first: &[u8]) -> Option<String> {
    let line = first.split(|&byte| byte == b'\r' || byte == b'\n').find(|line| !line.is_empty())?;
    let line = &line[..line.len().min(SHOWN)];
    let is_text = line.iter().all(|byte| (0x20..0x7f).contains(byte));
    is_text.then(|| String::from_utf8_lossy(line).into_owned())
}
