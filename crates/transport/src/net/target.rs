//! What a channel connects to, parsed from what people write.

use std::error::Error;
use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A place to connect to: host and port, or a Unix socket.
///
/// Accepted spellings:
///
/// | spelling | means |
/// |---|---|
/// | `127.0.0.1:50051`, `localhost:50051`, `[::1]:50051` | that host and port; plaintext unless TLS is set up |
/// | `http://host:port`, `http://host` | the same, and never TLS; the port defaults to 80 |
/// | `https://host:port`, `https://host` | TLS to that host and port; the port defaults to 443 |
/// | `dns:///host:port`, `dns:host:port` | the same, in gRPC's own name syntax |
/// | `unix:path`, `unix:/path`, `unix:///path` | a Unix socket; the second and third are absolute |
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Target {
    place: Place,
    security: Security,
}

/// What the spelling of a [`Target`] says about encryption.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Security {
    /// Nothing: the one who connects decides.
    #[default]
    Unsaid,
    /// `http://`.
    Plaintext,
    /// `https://`.
    Tls,
}

impl Target {
    /// Parses one of the spellings above.
    ///
    /// # Errors
    /// [`TargetError`] says what is wrong and what to write instead.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let fail = |reason| Err(TargetError::new(text, reason));
        let (scheme, rest) = split_scheme(text);
        let security = match scheme {
            Some("http") => Security::Plaintext,
            Some("https") => Security::Tls,
            _ => Security::Unsaid,
        };
        let place = match scheme {
            None => host_and_port(rest, None),
            Some("http") => host_and_port(http_authority(rest), Some(80)),
            Some("https") => host_and_port(http_authority(rest), Some(443)),
            Some("dns") => match rest.strip_prefix("//") {
                None => host_and_port(rest, None),
                Some(after) => match after.strip_prefix('/') {
                    Some(name) => host_and_port(name, None),
                    None => return fail(Reason::DnsServer),
                },
            },
            Some("unix") => unix_path(rest),
            Some(_) => return fail(Reason::Scheme),
        };
        match place {
            Ok(place) => Ok(Self { place, security }),
            Err(reason) => fail(reason),
        }
    }

    /// A Unix socket by its path.
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::Unix(path.into()), security: Security::Unsaid }
    }

    /// What the spelling said about encryption.
    pub fn security(&self) -> Security {
        self.security
    }

    /// The name that the certificate of a server there carries unless something else is known: the host, or the IP
    /// address without brackets and zone; `localhost` for a Unix socket.
    pub fn host(&self) -> String {
        match &self.place {
            Place::Address(address) => address.ip().to_string(),
            Place::Host { name, .. } => name.split('%').next().unwrap_or(name).to_owned(),
            Place::Unix(_) => "localhost".to_owned(),
        }
    }

    /// What goes into the `:authority` pseudo-header unless the user overrides it: `host:port`, without an IPv6
    /// zone (it has no meaning to the peer), and `localhost` for a Unix socket (a path there is refused by
    /// several servers).
    pub fn authority(&self) -> String {
        match &self.place {
            Place::Address(address) => address_without_zone(*address),
            Place::Host { name, port } if name.contains(':') => {
                let address = name.split('%').next().unwrap_or(name);
                format!("[{address}]:{port}")
            }
            Place::Host { name, port } => format!("{name}:{port}"),
            Place::Unix(_) => "localhost".to_owned(),
        }
    }

    /// The path, if this is a Unix socket.
    pub fn unix_path(&self) -> Option<&Path> {
        match &self.place {
            Place::Unix(path) => Some(path),
            _ => None,
        }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse(text)
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self { place: Place::Address(address), security: Security::Unsaid }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Address(address) => address.fmt(f),
            Place::Host { name, port } if name.contains(':') => write!(f, "[{name}]:{port}"),
            Place::Host { name, port } => write!(f, "{name}:{port}"),
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// What a [`Target`] is made of.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Place {
    /// Needs no name resolution.
    Address(SocketAddr),
    /// A name, or an IPv6 address with a zone, for the system's resolver; without brackets.
    Host {
        name: String,
        port: u16,
    },
    Unix(PathBuf),
}

/// What can be turned into a [`Target`]: text, a socket address, or a target.
pub trait IntoTarget {
    /// The target that `self` names.
    ///
    /// # Errors
    /// [`TargetError`] if `self` is text that names none.
    fn into_target(self) -> Result<Target, TargetError>;
}

impl IntoTarget for Target {
    fn into_target(self) -> Result<Target, TargetError> {
        Ok(self)
    }
}

impl IntoTarget for &Target {
    fn into_target(self) -> Result<Target, TargetError> {
        Ok(self.clone())
    }
}

impl IntoTarget for &str {
    fn into_target(self) -> Result<Target, TargetError> {
        Target::parse(self)
    }
}

impl IntoTarget for String {
    fn into_target(self) -> Result<Target, TargetError> {
        Target::parse(&self)
    }
}

impl IntoTarget for &String {
    fn into_target(self) -> Result<Target, TargetError> {
        Target::parse(self)
    }
}

impl IntoTarget for SocketAddr {
    fn into_target(self) -> Result<Target, TargetError> {
        Ok(self.into())
    }
}

/// Text that names no target. Display quotes the text, says what is wrong with it and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TargetError {
    text: String,
    reason: Reason,
}

impl TargetError {
    fn new(text: &str, reason: Reason) -> Self {
        Self { text: text.to_owned(), reason }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no target: ", self.text)?;
        f.write_str(match self.reason {
            Reason::Scheme => "the scheme is not known; use host:port, http://, https://, dns:/// or unix:",
            Reason::DnsServer => "a name server of your own cannot be chosen; write dns:///host:port",
            Reason::NoHost => "the host is missing; write host:port",
            Reason::NoPort => "the port is missing; write host:port, for example localhost:50051",
            Reason::Port => "the port is not a number from 1 to 65535",
            Reason::Host => "the host has characters that no host name has",
            Reason::Brackets => "an IPv6 address is written in brackets, for example [::1]:50051",
            Reason::UserInfo => {
                "a user name or password cannot be given in the address; send metadata instead"
            }
            Reason::Path => "a path cannot be given; gRPC paths are made of service and method",
            Reason::NoPath => "the path of the socket is missing; write unix:/path/to/socket",
            Reason::UnixHost => "a Unix socket has no host; write unix:/path or unix:///path",
        })
    }
}

impl Error for TargetError {}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reason {
    Scheme,
    DnsServer,
    NoHost,
    NoPort,
    Port,
    Host,
    Brackets,
    UserInfo,
    Path,
    NoPath,
    UnixHost,
}

/// Splits `scheme:` off. `host:50051` has none: what stands before the colon is a scheme only if it is one that we
/// know, or if `//` follows.
fn split_scheme(text: &str) -> (Option<&str>, &str) {
    let Some((scheme, rest)) = text.split_once(':') else { return (None, text) };
    for known in ["http", "https"] {
        if scheme.eq_ignore_ascii_case(known) && rest.starts_with("//") {
            return (Some(known), &rest[2..]);
        }
    }
    // A host may be called `dns`, then what follows is a port.
    let is_port = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    for known in ["dns", "unix"] {
        if scheme.eq_ignore_ascii_case(known) && !is_port {
            return (Some(known), rest);
        }
    }
    if rest.starts_with("//") { (Some(scheme), rest) } else { (None, text) }
}

/// `host:port/` as browsers write it, without the last slash.
fn http_authority(rest: &str) -> &str {
    rest.strip_suffix('/').unwrap_or(rest)
}

fn host_and_port(text: &str, default_port: Option<u16>) -> Result<Place, Reason> {
    if text.contains(['/', '?', '#']) {
        return Err(Reason::Path);
    }
    if text.contains('@') {
        return Err(Reason::UserInfo);
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return if address.port() == 0 { Err(Reason::Port) } else { Ok(Place::Address(address)) };
    }
    if let Some(inner) = text.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or(Reason::Brackets)?;
        let port = match (after.strip_prefix(':'), after.is_empty()) {
            (Some(port), _) => parse_port(port)?,
            (None, true) => default_port.ok_or(Reason::NoPort)?,
            (None, false) => return Err(Reason::Brackets),
        };
        return ipv6(host, port);
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, _)) if host.contains(':') => return Err(Reason::Brackets),
        Some((host, port)) => (host, Some(parse_port(port)?)),
        None => (text, default_port),
    };
    if host.is_empty() {
        return Err(Reason::NoHost);
    }
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')) {
        return Err(Reason::Host);
    }
    let port = port.ok_or(Reason::NoPort)?;
    Ok(Place::Host { name: host.to_owned(), port })
}

/// What stands in brackets. A zone is written `%25eth0` in a URI (RFC 6874) and `%eth0` everywhere else.
fn ipv6(host: &str, port: u16) -> Result<Place, Reason> {
    let (address, zone) = match host.split_once('%') {
        Some((address, zone)) => (address, Some(zone.strip_prefix("25").unwrap_or(zone))),
        None => (host, None),
    };
    let parsed: Ipv6Addr = address.parse().map_err(|_| Reason::Brackets)?;
    match zone {
        None => Ok(Place::Address(SocketAddr::from((parsed, port)))),
        Some(zone) if zone.is_empty() || !zone.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(Reason::Host)
        }
        Some(zone) => Ok(Place::Host { name: format!("{parsed}%{zone}"), port }),
    }
}

fn parse_port(text: &str) -> Result<u16, Reason> {
    if text.is_empty() {
        return Err(Reason::NoPort);
    }
    match text.parse::<u16>() {
        Ok(port) if port != 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(Reason::Port),
    }
}

fn unix_path(rest: &str) -> Result<Place, Reason> {
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some("") => return Err(Reason::NoPath),
        Some(_) => return Err(Reason::UnixHost),
        None => rest,
    };
    if path.is_empty() { Err(Reason::NoPath) } else { Ok(Place::Unix(PathBuf::from(path))) }
}

fn address_without_zone(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.to_string(),
        SocketAddr::V6(address) => format!("[{}]:{}", address.ip(), address.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> Reason {
        Target::parse(text).unwrap_err().reason
    }

    #[test]
    fn every_spelling_of_a_host_is_understood() {
        for (text, shown) in [
            ("127.0.0.1:50051", "127.0.0.1:50051"),
            ("localhost:50051", "localhost:50051"),
            ("[::1]:50051", "[::1]:50051"),
            ("http://127.0.0.1:50051", "127.0.0.1:50051"),
            ("HTTP://localhost:50051/", "localhost:50051"),
            ("http://example.org", "example.org:80"),
            ("http://[::1]", "[::1]:80"),
            ("https://example.org", "example.org:443"),
            ("https://[::1]:50051", "[::1]:50051"),
            ("dns:///example.org:443", "example.org:443"),
            ("dns:example.org:443", "example.org:443"),
            ("dns:50051", "dns:50051"),
            ("unix:50051x", "unix:50051x"),
            ("my_service:80", "my_service:80"),
        ] {
            let target = Target::parse(text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(target.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn unix_paths_may_be_relative_or_absolute() {
        for (text, path) in
            [("unix:a.sock", "a.sock"), ("unix:/tmp/a", "/tmp/a"), ("unix:///tmp/a b", "/tmp/a b")]
        {
            let target = Target::parse(text).unwrap();
            assert_eq!(target.unix_path(), Some(Path::new(path)), "{text}");
        }
        assert_eq!(reason("unix:"), Reason::NoPath);
        assert_eq!(reason("unix://"), Reason::NoPath);
        assert_eq!(reason("unix://host/path"), Reason::UnixHost);
    }

    #[test]
    fn the_authority_has_brackets_and_no_zone() {
        // bug-reports 89, 91
        let authority = |text| Target::parse(text).unwrap().authority();
        assert_eq!(authority("[::1]:50051"), "[::1]:50051");
        assert_eq!(authority("http://[fe80::1%25lo]:50051"), "[fe80::1]:50051");
        assert_eq!(authority("[fe80::1%lo]:50051"), "[fe80::1]:50051");
        assert_eq!(authority("[fe80::1%3]:50051"), "[fe80::1]:50051");
        assert_eq!(authority("unix:/tmp/a"), "localhost");
        assert_eq!(authority("http://example.org"), "example.org:80");
    }

    #[test]
    fn http_and_https_say_whether_tls_is_spoken() {
        let security = |text| Target::parse(text).unwrap().security();
        assert_eq!(security("http://a:1"), Security::Plaintext);
        assert_eq!(security("HTTPS://a:1"), Security::Tls);
        for text in ["a:1", "dns:///a:1", "unix:/a"] {
            assert_eq!(security(text), Security::Unsaid, "{text}");
        }
    }

    #[test]
    fn the_name_for_a_certificate_has_no_brackets_and_no_zone() {
        // bug-reports 91
        let host = |text| Target::parse(text).unwrap().host();
        assert_eq!(host("https://[::1]:50051"), "::1");
        assert_eq!(host("https://[fe80::1%25lo]:50051"), "fe80::1");
        assert_eq!(host("[fe80::1%lo]:50051"), "fe80::1");
        assert_eq!(host("https://127.0.0.1"), "127.0.0.1");
        assert_eq!(host("https://example.org"), "example.org");
        assert_eq!(host("unix:/tmp/a"), "localhost");
    }

    #[test]
    fn a_wrong_target_says_what_is_wrong() {
        assert_eq!(reason("ftp://example.org"), Reason::Scheme);
        assert_eq!(reason("dns://8.8.8.8/example.org:1"), Reason::DnsServer);
        assert_eq!(reason("localhost"), Reason::NoPort);
        assert_eq!(reason("localhost:"), Reason::NoPort);
        assert_eq!(reason("dns:///localhost"), Reason::NoPort);
        assert_eq!(reason("localhost:0"), Reason::Port);
        assert_eq!(reason("localhost:+1"), Reason::Port);
        assert_eq!(reason("localhost:65536"), Reason::Port);
        assert_eq!(reason("127.0.0.1:0"), Reason::Port);
        assert_eq!(reason("::1:50051"), Reason::Brackets);
        assert_eq!(reason("[::1"), Reason::Brackets);
        assert_eq!(reason("[name]:1"), Reason::Brackets);
        assert_eq!(reason(":50051"), Reason::NoHost);
        assert_eq!(reason(""), Reason::NoHost);
        assert_eq!(reason("ho st:1"), Reason::Host);
        assert_eq!(reason("http://user@host:1"), Reason::UserInfo);
        assert_eq!(reason("http://host:1/path"), Reason::Path);
        let shown = Target::parse("ftp://a:1").unwrap_err();
        assert!(shown.to_string().contains("`ftp://a:1`"), "{shown}");
    }
}
