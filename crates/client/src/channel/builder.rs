//! Settings of a [`Channel`], each with its default. `connection` has those of its connections, `calls` those of the
//! calls, `format` those of message formats, `compression` those of message encodings.

mod calls;
mod compression;
mod connection;
mod foreign;
mod format;

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use peregrine_core::call::CredentialSet;
use peregrine_core::compression::EncodingSet;
use peregrine_core::intercept::Interceptors;
use peregrine_core::message::DEFAULT_MAX_RECEIVE;
use peregrine_core::stream::DEFAULT_BATCH_SIZE;
use peregrine_core::{CallOptions, Error, Observe, Phase};
use peregrine_http2::Config;
use peregrine_transport::net::{Target, TargetError};
use tokio::io::{AsyncRead, AsyncWrite};

use super::Channel;
use super::connector::Connector;
use super::formats::Formats;
use super::keepalive::KeepaliveTime;
use super::method_options::MethodOptions;
use super::secure::Secure;
use super::subchannel::{self, Subchannel};
use crate::connection::{ChannelHead, HttpCodes};
use crate::error;

/// What this library calls itself (wire-rules 17).
const USER_AGENT: &str = concat!("grpc-rust-peregrine/", env!("CARGO_PKG_VERSION"));

/// Default of [`ChannelBuilder::connect_timeout`].
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// RFC 9113 6.9.1.
const MAX_WINDOW: u32 = (1 << 31) - 1;
/// RFC 9113 6.9.2: what every connection starts with.
const MIN_CONNECTION_WINDOW: u32 = 65_535;

/// Builds a [`Channel`]. Made by [`Channel::builder`].
#[must_use = "a builder does nothing until build() or connect()"]
pub struct ChannelBuilder {
    target: Result<Target, TargetError>,
    connector: Connector,
    secure: Secure,
    authority: Option<String>,
    user_agent: Option<String>,
    connect_timeout: Duration,
    defaults: CallOptions,
    formats: Formats,
    methods: Vec<(String, CallOptions)>,
    stream_batch_size: usize,
    interceptors: Interceptors,
    credentials: CredentialSet,
    engine: Config,
    observer: Option<Arc<dyn Observe>>,
    accept_encodings: EncodingSet,
    http_codes: HttpCodes,
}

impl ChannelBuilder {
    pub(super) fn new(target: Result<Target, TargetError>) -> Self {
        Self {
            target,
            connector: Connector::Sockets,
            secure: Secure::default(),
            authority: None,
            user_agent: None,
            connect_timeout: CONNECT_TIMEOUT,
            defaults: CallOptions::default(),
            formats: Formats::default(),
            methods: Vec::new(),
            stream_batch_size: DEFAULT_BATCH_SIZE,
            interceptors: Interceptors::default(),
            credentials: CredentialSet::default(),
            engine: Config::client(),
            observer: None,
            accept_encodings: EncodingSet::supported(),
            http_codes: HttpCodes::default(),
        }
    }

    /// Time for one attempt to connect: name resolution, all addresses of the name, and the starts of TLS and
    /// of HTTP/2 (for each of which the peer has 10 s at most). Default: 20 s, as long as gRPC's connection-backoff document gives an
    /// attempt at least. A call's own deadline ends the waiting earlier.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Encrypts the connections, and sends `https` as the scheme of the calls. Refused for a target that begins with
    /// `http://`. The time for the handshake is part of the [`connect_timeout`](Self::connect_timeout). Default: TLS with
    /// the authorities that the system trusts ([`ClientTls::with_system_roots`]) for a target that begins with `https://`,
    /// plaintext for any other.
    ///
    /// [`ClientTls::with_system_roots`]: peregrine_transport::tls::ClientTls::with_system_roots
    #[cfg(feature = "_tls")]
    pub fn tls(mut self, tls: peregrine_transport::tls::ClientTls) -> Self {
        self.secure = Secure::with(tls);
        self
    }

    /// Text put in front of the library's own `user-agent`, `grpc-rust-peregrine/` and the version; usually the
    /// program's name and version. Default: none.
    // wire-rules 17
    pub fn user_agent(mut self, text: impl Into<String>) -> Self {
        self.user_agent = Some(text.into());
        self
    }

    /// What calls send as `:authority`. Default: `host:port` of the target; `localhost` for a Unix socket.
    pub fn authority(mut self, authority: impl Into<String>) -> Self {
        self.authority = Some(authority.into());
        self
    }

    /// Longest response message in bytes; longer ones end the call with RESOURCE_EXHAUSTED. A call may set its own.
    /// Default: 4 MiB.
    pub fn max_receive_message_size(mut self, bytes: usize) -> Self {
        self.defaults.max_response_size = Some(bytes);
        self
    }

    /// Longest request message in bytes; longer ones are not sent and the call ends with RESOURCE_EXHAUSTED. A call
    /// may set its own. Default: 4 GiB less one byte, what the wire can carry.
    pub fn max_send_message_size(mut self, bytes: usize) -> Self {
        self.defaults.max_request_size = Some(bytes);
        self
    }

    /// Time that calls without a timeout of their own may take. Default: no limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.defaults.timeout = Some(timeout);
        self
    }

    /// Whether calls wait for a connection instead of failing UNAVAILABLE while none can be made, unless they say
    /// otherwise. Default: false.
    // wire-rules 96
    pub fn wait_for_ready(mut self, wait: bool) -> Self {
        self.defaults.wait_for_ready = Some(wait);
        self
    }

    /// Bytes the peer may send on one stream before the call has read them. Default: 256 KiB; at most 2^31-1.
    pub fn initial_stream_window(mut self, bytes: u32) -> Self {
        self.engine.initial_window_size = bytes.min(MAX_WINDOW);
        self
    }

    /// Bytes the peer may have on the way to us in all. Default: 1 MiB; from 65,535 to 2^31-1.
    pub fn initial_connection_window(mut self, bytes: u32) -> Self {
        self.engine.connection_window_size = bytes.clamp(MIN_CONNECTION_WINDOW, MAX_WINDOW);
        self
    }

    /// Longest header list of a response, counted as RFC 9113 6.5.2 does: name, value and 32 for each field. A
    /// longer one ends the call with RESOURCE_EXHAUSTED. Default: 16 KiB.
    pub fn max_header_list_size(mut self, bytes: u32) -> Self {
        self.engine.max_header_list_size = bytes;
        self
    }

    /// Opens byte streams with `open` instead of sockets: through a tunnel, or within the process. The target then
    /// only names the server in `:authority` and in errors. Default: sockets.
    pub fn connector<F, Fut, S>(mut self, open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        self.connector = Connector::custom(open);
        self
    }

    /// The channel. It connects when the first call is made.
    ///
    /// # Errors
    /// The target, the authority, the user agent or a setting cannot be used, or they do not go together; the error says
    /// why.
    pub fn build(self) -> Result<Channel, Error> {
        let target = self.target.map_err(error::bad_target)?;
        let secure = self.secure.for_target(&target)?;
        if !self.credentials.is_empty() && !secure.is_tls() {
            return Err(error::plaintext_credentials(&target));
        }
        let authority = match self.authority {
            Some(authority) => checked("authority", authority, |byte| byte.is_ascii_graphic())?,
            None => target.authority(),
        };
        let user_agent = match self.user_agent {
            Some(text) => {
                let text = checked("user agent", text, |byte| byte.is_ascii_graphic() || byte == b' ')?;
                format!("{text} {USER_AGENT}")
            }
            None => USER_AGENT.to_owned(),
        };
        let mut defaults = self.defaults;
        defaults.max_response_size.get_or_insert(DEFAULT_MAX_RECEIVE);
        let mut methods = MethodOptions::new(defaults);
        compression::check(&defaults, "the channel")?;
        self.formats.check(&defaults, "the channel")?;
        for (name, options) in &self.methods {
            compression::check(options, name)?;
            self.formats.check(options, name)?;
            methods.add(name, *options)?;
        }
        let message_observer = self.observer.clone().filter(Observe::wants_messages);
        if let Some(observer) = &self.observer {
            methods.observe_compression(&**observer);
        }
        let head = ChannelHead {
            scheme: if secure.is_tls() { "https" } else { "http" },
            authority,
            user_agent,
            accept_encoding: compression::accept_encoding(self.accept_encodings),
        };
        let config = subchannel::Config {
            target,
            connector: self.connector,
            secure,
            head,
            connect_timeout: self.connect_timeout,
            methods,
            formats: self.formats,
            stream_batch_size: self.stream_batch_size,
            is_accompanied: !self.interceptors.is_empty() || !self.credentials.is_empty(),
            interceptors: self.interceptors,
            credentials: self.credentials,
            keepalive: Arc::new(KeepaliveTime::new(self.engine.keepalive)),
            engine: self.engine,
            observer: self.observer,
            message_observer,
            packers: Arc::default(),
            http_codes: self.http_codes,
        };
        Ok(Channel { subchannel: Subchannel::new(config) })
    }

    /// The channel, connected: one attempt is made, and waited for.
    ///
    /// # Errors
    /// As for [`build`](Self::build), or the attempt failed.
    pub async fn connect(self) -> Result<Channel, Error> {
        let channel = self.build()?;
        channel.ready().await?;
        Ok(channel)
    }
}

impl fmt::Debug for ChannelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelBuilder").field("target", &self.target).finish_non_exhaustive()
    }
}

/// `text`, if it can stand in a header field.
fn checked(what: &str, text: String, is_allowed: impl Fn(u8) -> bool) -> Result<String, Error> {
    if !text.is_empty() && text.bytes().all(is_allowed) && text.trim() == text {
        return Ok(text);
    }
    let message = format!("the {what} {text:?} cannot stand in a header field");
    Err(Error::new(Phase::Config, message).with_hint("use printable ASCII only"))
}
