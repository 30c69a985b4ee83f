//! From the address on the command line to what is connected to, and whether TLS is meant.
//!
//! The rule: `http://` is plaintext, `https://` TLS, a bare `host:port` plaintext on loopback and TLS elsewhere;
//! `--plaintext` and `--tls` win, and `--cacert`, `--cert` and
//! `--server-name` mean TLS too. The reason is kept, because a wrong guess must be named in the error.

use std::{fmt, net::IpAddr};

use crate::{args::ConnectArgs, report::Report};

/// Where to connect to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) security: Security,
    pub(crate) reason: Reason,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Endpoint {
    Tcp {
        /// A name or an address; IPv6 without brackets.
        host: String,
        port: u16,
    },
    Unix(String),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Security {
    Plaintext,
    Tls,
}

/// Why plaintext or TLS was chosen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reason {
    /// `--plaintext`, `--tls`, or a flag that means TLS.
    Flag,
    /// `http://`, `https://` or a unix socket.
    Scheme,
    /// A bare address on this machine.
    Loopback,
    /// A bare address elsewhere.
    Remote,
}

impl Target {
    /// Reads the address of the command line.
    pub(crate) fn parse(text: &str, args: &ConnectArgs) -> Result<Self, Report> {
        let (endpoint, mut security, mut reason) = parse_address(text)?;
        if args.plaintext {
            (security, reason) = (Security::Plaintext, Reason::Flag);
        }
        // Whom to trust is of no use without TLS; a guess gives way to it, http:// does not.
        let implied = args.cacert.is_some() || args.cert.is_some() || args.server_name.is_some();
        if args.tls || implied && matches!(reason, Reason::Loopback | Reason::Remote) {
            (security, reason) = (Security::Tls, Reason::Flag);
        }
        Ok(Self { endpoint, security, reason })
    }

    /// The URI that the client's channel is built from.
    pub(crate) fn uri(&self) -> String {
        match (&self.endpoint, self.security) {
            (Endpoint::Tcp { .. }, Security::Plaintext) => format!("http://{self}"),
            (Endpoint::Tcp { .. }, Security::Tls) => format!("https://{self}"),
            (Endpoint::Unix(path), _) => format!("unix:{path}"),
        }
    }
}

/// The address without its scheme.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

fn parse_address(text: &str) -> Result<(Endpoint, Security, Reason), Report> {
    if let Some(path) = text.strip_prefix("unix:") {
        let path = if path.starts_with("///") { &path[2..] } else { path };
        if path.is_empty() {
            return Err(bad_target(text, "the path of the socket is missing"));
        }
        return Ok((Endpoint::Unix(path.to_owned()), Security::Plaintext, Reason::Scheme));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let (security, default_port) = match scheme {
            "http" => (Security::Plaintext, Some(80)),
            "https" => (Security::Tls, Some(443)),
            "dns" => {
                let (endpoint, security, reason) = parse_bare(text, rest.trim_start_matches('/'))?;
                return Ok((endpoint, security, reason));
            }
            _ => return Err(bad_target(text, "schemes are http, https, dns and unix")),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) {
            return Err(bad_target(
                text,
                "only host and port may follow the scheme; the method is an argument of its own",
            )
            .next(format!(
                "peregrine call {scheme}://{} {}",
                authority.split('/').next().unwrap_or_default(),
                method_of(authority)
            )));
        }
        return Ok((host_port(text, authority, default_port)?, security, Reason::Scheme));
    }
    parse_bare(text, text)
}

fn parse_bare(text: &str, address: &str) -> Result<(Endpoint, Security, Reason), Report> {
    let endpoint = host_port(text, address, None)?;
    let Endpoint::Tcp { host, .. } = &endpoint else {
        return Err(bad_target(text, "host:port is expected"));
    };
    let (security, reason) = if is_loopback(host) {
        (Security::Plaintext, Reason::Loopback)
    } else {
        (Security::Tls, Reason::Remote)
    };
    Ok((endpoint, security, reason))
}

fn host_port(text: &str, authority: &str, default_port: Option<u16>) -> Result<Endpoint, Report> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let Some((host, port)) = rest.split_once(']') else {
            return Err(bad_target(text, "the bracket of the IPv6 address is not closed"));
        };
        (host, port.strip_prefix(':'))
    } else {
        match authority.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => {
                return Err(bad_target(text, "an IPv6 address needs brackets")
                    .next(format!("write `[{authority}]:PORT`")));
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err(bad_target(text, "the host is missing").next(format!("write `localhost{authority}`")));
    }
    if let Some(bad) = host.chars().find(|c| c.is_whitespace() || c.is_control() || "/?#@".contains(*c)) {
        return Err(bad_target(text, format_args!("`{bad}` cannot be part of a host name")));
    }
    let port = match (port, default_port) {
        (Some(port), _) => port
            .parse()
            .ok()
            .filter(|&port| port != 0)
            .ok_or_else(|| bad_target(text, format_args!("`{port}` is no port; ports are 1 to 65535")))?,
        (None, Some(port)) => port,
        (None, None) => {
            return Err(bad_target(text, "the port is missing").next(format!("write `{authority}:50051`")));
        }
    };
    Ok(Endpoint::Tcp { host: host.to_owned(), port })
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// What follows the host in a pasted URL is the method in the notation of some tools.
fn method_of(authority: &str) -> &str {
    authority.split_once('/').map_or("", |(_, path)| path)
}

fn bad_target(text: &str, why: impl fmt::Display) -> Report {
    Report::usage(format!("`{text}` is not an address: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> ConnectArgs {
        ConnectArgs {
            plaintext: false,
            tls: false,
            cacert: None,
            cert: None,
            key: None,
            authority: None,
            server_name: None,
            connect_timeout: std::time::Duration::from_secs(10),
        }
    }

    fn parse(text: &str) -> Target {
        Target::parse(text, &args()).unwrap()
    }

    #[test]
    fn loopback_is_plaintext_and_the_rest_tls() {
        for text in
            ["localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "api.localhost:1", "dns:///localhost:1"]
        {
            let target = parse(text);
            assert_eq!((target.security, target.reason), (Security::Plaintext, Reason::Loopback), "{text}");
        }
        for text in ["example.com:443", "10.0.0.1:1", "[2001:db8::1]:1", "localhost.example.com:1"] {
            let target = parse(text);
            assert_eq!((target.security, target.reason), (Security::Tls, Reason::Remote), "{text}");
        }
    }

    #[test]
    fn schemes_decide_and_have_default_ports() {
        assert_eq!(parse("http://example.com").uri(), "http://example.com:80");
        assert_eq!(parse("https://localhost/").uri(), "https://localhost:443");
        assert_eq!(parse("http://[::1]:50051").uri(), "http://[::1]:50051");
        assert_eq!(parse("http://x:1").reason, Reason::Scheme);
    }

    #[test]
    fn flags_win() {
        let plaintext = ConnectArgs { plaintext: true, ..args() };
        assert_eq!(Target::parse("https://x:1", &plaintext).unwrap().uri(), "http://x:1");
        let tls = ConnectArgs { tls: true, ..args() };
        assert_eq!(Target::parse("localhost:1", &tls).unwrap().security, Security::Tls);
        let trusting = ConnectArgs { cacert: Some("ca.pem".into()), ..args() };
        assert_eq!(Target::parse("localhost:1", &trusting).unwrap().security, Security::Tls);
        assert_eq!(Target::parse("http://localhost:1", &trusting).unwrap().security, Security::Plaintext);
    }

    #[test]
    fn unix_sockets_have_two_spellings() {
        assert_eq!(parse("unix:/tmp/s").uri(), "unix:/tmp/s");
        assert_eq!(parse("unix:///tmp/s").uri(), "unix:/tmp/s");
        assert_eq!(parse("unix:s.sock").uri(), "unix:s.sock");
    }

    #[test]
    fn bad_addresses_say_what_to_write() {
        let cases = [
            ("localhost", "write `localhost:50051`"),
            (":50051", "write `localhost:50051`"),
            ("::1:50051", "brackets"),
            ("localhost:http", "`http` is no port"),
            ("localhost:0", "ports are 1 to 65535"),
            ("localhost:99999", "ports are 1 to 65535"),
            ("ftp://x:1", "schemes are"),
            ("http://x:1/a.B/C", "peregrine call http://x:1 a.B/C"),
            ("[::1:1", "not closed"),
            ("unix:", "path"),
            ("a b:1", "host name"),
        ];
        for (text, part) in cases {
            let report = Target::parse(text, &args()).unwrap_err();
            assert!(format!("{report:?}").contains(part), "{text}: {report:?}");
            assert_eq!(report.exit(), crate::exit::Exit::Usage);
        }
    }
}
