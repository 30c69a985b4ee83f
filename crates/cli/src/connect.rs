//! Opening the connection that a command's calls share.

use std::time::{Duration, Instant};

use peregrine_client::{Channel, ClientTls};
use peregrine_core::{Error, MetadataMap};

use crate::{
    args::{ConnectArgs, HeaderArgs},
    header::{self, Header, HeaderValue},
    report::{self, Report},
    target::{Reason, Security, Target},
};

/// How the command introduces itself to servers, in front of the library's own words.
const USER_AGENT: &str = concat!("peregrine-cli/", env!("CARGO_PKG_VERSION"));

/// A connected channel, with what is sent on every call. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connection {
    channel: Channel,
    target: Target,
    call_metadata: MetadataMap,
    reflection_metadata: MetadataMap,
    deadline: Option<Instant>,
    connect_time: Duration,
}

/// Everything of the command line that decides how to connect, read and checked.
pub(crate) struct ConnectPlan {
    target: Target,
    tls: Option<ClientTls>,
    authority: Option<String>,
    connect_timeout: Duration,
    call_metadata: MetadataMap,
    reflection_metadata: MetadataMap,
}

impl ConnectPlan {
    /// Reads address, flags and headers; nothing is connected yet.
    pub(crate) fn new(address: &str, args: &ConnectArgs, headers: &HeaderArgs) -> Result<Self, Report> {
        let target = Target::parse(address, args)?;
        let tls = tls(&target, args)?;
        let env = |name: &str| std::env::var(name).ok();
        let both = header::parse_all(&headers.header, env)?;
        let reflect = header::parse_all(&headers.reflect_header, env)?;
        let call_metadata = metadata(&both)?;
        let reflection_metadata = metadata(&[both, reflect].concat())?;
        Ok(Self {
            target,
            tls,
            authority: args.authority.clone(),
            connect_timeout: args.connect_timeout,
            call_metadata,
            reflection_metadata,
        })
    }

    /// Connects. `timeout` limits the whole command, so it limits this too.
    pub(crate) async fn connect(self, timeout: Option<Duration>) -> Result<Connection, Report> {
        let start = Instant::now();
        let deadline = timeout.map(|timeout| start + timeout);
        let limit = timeout.map_or(self.connect_timeout, |timeout| timeout.min(self.connect_timeout));
        let mut builder = Channel::builder(self.target.uri()).connect_timeout(limit).user_agent(USER_AGENT);
        if let Some(tls) = self.tls {
            builder = builder.tls(tls);
        }
        if let Some(authority) = &self.authority {
            builder = builder.authority(authority);
        }
        let channel = builder.connect().await.map_err(|error| {
            // The time of the whole call ran out while connecting: that is the call's own failure.
            let whole =
                timeout.filter(|&timeout| timeout <= self.connect_timeout && start.elapsed() >= timeout);
            match whole {
                Some(timeout) => report::out_of_time(&error, timeout),
                None => report::connect(&error, Some(&self.target)),
            }
        })?;
        Ok(Connection {
            channel,
            target: self.target,
            call_metadata: self.call_metadata,
            reflection_metadata: self.reflection_metadata,
            deadline,
            connect_time: start.elapsed(),
        })
    }
}

impl Connection {
    pub(crate) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The address without a scheme, for sentences.
    pub(crate) fn address(&self) -> String {
        self.target.to_string()
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// The headers of the command line, for the call itself.
    pub(crate) fn call_metadata(&self) -> &MetadataMap {
        &self.call_metadata
    }

    /// The same with those for reflection only.
    pub(crate) fn reflection_metadata(&self) -> &MetadataMap {
        &self.reflection_metadata
    }

    /// When the command's time is up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How long connecting took.
    pub(crate) fn connect_time(&self) -> Duration {
        self.connect_time
    }
}

/// Whom to trust, if the target is called with TLS.
fn tls(target: &Target, args: &ConnectArgs) -> Result<Option<ClientTls>, Report> {
    if target.security == Security::Plaintext {
        return match needs_tls(args) {
            Some(flag) => {
                Err(Report::usage(format!("{flag} needs TLS, but {target} would be called without"))
                    .next(format!("write https://{target} or add --tls, or leave {flag} out")))
            }
            None => Ok(None),
        };
    }
    let mut tls = match &args.cacert {
        Some(authorities) => {
            ClientTls::with_ca_file(authorities).map_err(|error| report::connect(&error, None))?
        }
        None => ClientTls::with_system_roots().map_err(|error| nobody_trusted(&error, target))?,
    };
    // clap asks for both or none.
    if let (Some(certificate), Some(key)) = (&args.cert, &args.key) {
        tls = tls.identity_files(certificate, key).map_err(|error| report::connect(&error, None))?;
    }
    Ok(Some(match &args.server_name {
        Some(name) => tls.server_name(name),
        None => tls,
    }))
}

/// A flag that has no meaning without TLS, if one was given.
fn needs_tls(args: &ConnectArgs) -> Option<&'static str> {
    [
        (args.cacert.is_some(), "--cacert"),
        (args.cert.is_some(), "--cert"),
        (args.server_name.is_some(), "--server-name"),
    ]
    .into_iter()
    .find_map(|(is_given, flag)| is_given.then_some(flag))
}

/// The system trusts nobody. If TLS was only guessed, plaintext may be the way out.
fn nobody_trusted(error: &Error, target: &Target) -> Report {
    let mut report = Report::usage(error.to_string());
    for cause in report::causes(error) {
        report = report.fact("cause", cause);
    }
    report = report.next("give the certificates of the authorities to trust with --cacert FILE");
    if target.reason == Reason::Remote {
        report = report
            .fact("why TLS", "the address is not on this machine")
            .next(format!("if the server speaks plaintext: http://{target} or --plaintext"));
    }
    report
}

fn metadata(headers: &[Header]) -> Result<MetadataMap, Report> {
    let mut map = MetadataMap::new();
    for header in headers {
        let added = match &header.value {
            HeaderValue::Text(text) => map.append(&header.name, text),
            HeaderValue::Binary(bytes) => map.append_bin(&header.name, bytes),
        };
        added.map_err(|error| Report::input(error.to_string()))?;
        if is_secret(&header.name) {
            map.set_sensitive(&header.name);
        }
    }
    Ok(map)
}

/// Values under these names stay out of compression tables and of `-v`.
pub(crate) fn is_secret(name: &str) -> bool {
    matches!(name, "authorization" | "cookie" | "proxy-authorization" | "x-api-key")
}
