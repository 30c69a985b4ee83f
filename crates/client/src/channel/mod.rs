//! [`Channel`]: what clients hold. It makes connections when calls need them and hands them out.
//!
//! A channel has one [`Subchannel`] today, one connection to one endpoint; a resolver and a
//! balancer will choose between several in the same place.

pub(crate) mod backoff;
mod builder;
mod connector;
mod formats;
pub(crate) mod keepalive;
mod method_options;
pub(crate) mod packers;
mod secure;
mod subchannel;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use peregrine_core::call::CredentialSet;
use peregrine_core::intercept::Interceptors;
use peregrine_core::{CallOptions, Error, Format, MethodDescriptor, MethodFormat, Observe, Status};
use peregrine_transport::net::{IntoTarget, Target};

pub use self::builder::ChannelBuilder;
use self::method_options::Settled;
use self::packers::Packers;
use self::subchannel::Subchannel;
use crate::connection::{ChannelHead, SharedConnection};

/// A way to a server, shared by any number of clients and calls. Cloning is cheap.
///
/// A channel is lazy: it connects when the first call is made, again when the connection was lost and another call
/// comes, and waits between failed attempts (1 s at first, 1.6 times longer each time, 120 s at most, ±20 %). While
/// it waits, calls fail at once with UNAVAILABLE and the reason, unless they
/// [wait for ready](peregrine_core::Request::wait_for_ready).
///
/// Connections are driven by a task on the tokio runtime in which the call that needed one was made, of either
/// flavour. When the last handle of a channel is dropped, calls in progress finish and the connection closes.
#[derive(Clone)]
pub struct Channel {
    subchannel: Arc<Subchannel>,
}

impl Channel {
    /// A channel to `target` that is ready for calls. See [`Target`] for what can be written.
    ///
    /// # Errors
    /// `target` names no place, or the one attempt to connect failed: the error says in which phase, why, and what
    /// to do next.
    pub async fn connect(target: impl IntoTarget) -> Result<Self, Error> {
        Self::builder(target).connect().await
    }

    /// Settings for a channel to `target`. See [`Target`] for what can be written.
    pub fn builder(target: impl IntoTarget) -> ChannelBuilder {
        ChannelBuilder::new(target.into_target())
    }

    /// Waits until the channel is ready for calls: connected, and the peer has shown that it speaks HTTP/2.
    ///
    /// # Errors
    /// The attempt under way, or the one made now, failed; or the last one did a moment ago and the channel waits.
    pub async fn ready(&self) -> Result<(), Error> {
        self.subchannel.connection(false).await.map(drop).map_err(|(error, _)| error)
    }

    /// Where the channel connects to.
    pub fn target(&self) -> &Target {
        &self.subchannel.config.target
    }

    /// What calls send as `:authority`.
    pub fn authority(&self) -> &str {
        &self.subchannel.config.head.authority
    }

    /// Whether connections are encrypted.
    pub(crate) fn is_secure(&self) -> bool {
        self.subchannel.config.secure.is_tls()
    }

    /// Whether anybody is to be asked before a call.
    #[inline]
    pub(crate) fn is_accompanied(&self) -> bool {
        self.subchannel.config.is_accompanied
    }

    /// Who sees each call first.
    pub(crate) fn interceptors(&self) -> &Interceptors {
        &self.subchannel.config.interceptors
    }

    /// Who each call is made for.
    pub(crate) fn credentials(&self) -> &CredentialSet {
        &self.subchannel.config.credentials
    }

    /// What the heads of all its calls say.
    #[inline]
    pub(crate) fn head(&self) -> &ChannelHead {
        &self.subchannel.config.head
    }

    /// How the requests of calls are compressed.
    pub(crate) fn packers(&self) -> &Packers {
        &self.subchannel.config.packers
    }

    /// Who is told of every message, if anybody is.
    #[inline]
    pub(crate) fn message_observer(&self) -> Option<&Arc<dyn Observe>> {
        self.subchannel.config.message_observer.as_ref()
    }

    /// Options of calls of the method with this path, as far as they set none of their own.
    pub(crate) fn defaults(&self, path: &str) -> Cow<'_, CallOptions> {
        self.subchannel.config.methods.of(path)
    }

    /// What the options of a call of the method with this path come to; `own` are those that the call has set.
    #[inline]
    pub(crate) fn settle(&self, own: Option<&CallOptions>, path: &str) -> Settled {
        self.subchannel.config.methods.settle(own, path)
    }

    /// How the messages of a call of `method` are rewritten; `None` if they are in the codec's own format.
    ///
    /// # Errors
    /// UNIMPLEMENTED: the channel was not given the format, or the format does not know the method's types.
    pub(crate) fn method_format(
        &self,
        format: Option<Format>,
        method: &MethodDescriptor<'_>,
    ) -> Result<Option<Arc<MethodFormat>>, Status> {
        match format {
            None | Some(Format::Proto) => Ok(None),
            Some(format) => self.subchannel.config.formats.method(format, method).map(Some),
        }
    }

    /// Receive window of a stream, in bytes.
    pub(crate) fn stream_window(&self) -> usize {
        self.subchannel.config.engine.initial_window_size as usize
    }

    /// Bytes after which a request stream that is always ready lets what it gave leave.
    pub(crate) fn stream_batch_size(&self) -> usize {
        self.subchannel.config.stream_batch_size
    }

    /// A connection that takes calls, if there is one already.
    #[inline]
    pub(crate) fn ready_connection(&self) -> Option<Arc<SharedConnection>> {
        self.subchannel.ready()
    }

    /// A connection that takes calls, made first if there is none.
    ///
    /// # Errors
    /// Why the last attempt failed, and how long until the next one.
    pub(crate) async fn connection(
        &self,
        wait_for_ready: bool,
    ) -> Result<Arc<SharedConnection>, (Error, Duration)> {
        self.subchannel.connection(wait_for_ready).await
    }

    /// Why the last attempt to connect failed, while there is no connection.
    pub(crate) fn last_failure(&self) -> Option<Error> {
        self.subchannel.last_failure()
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("target", &format_args!("{}", self.target()))
            .field("authority", &self.authority())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "_tls"))]
mod tests {
    use peregrine_testkit::Authority;
    use peregrine_transport::tls::ClientTls;

    use super::*;

    #[test]
    fn calls_say_https_over_tls_and_only_there() {
        // wire-rules 3
        let tls = ClientTls::with_ca_pem(Authority::new().pem).unwrap();
        for target in ["https://a.test", "a.test:443", "dns:///a.test:443"] {
            let channel = Channel::builder(target).tls(tls.clone()).build().unwrap();
            assert_eq!(channel.head().scheme, "https", "{target}");
        }
        for target in ["http://a.test", "a.test:443", "unix:/a"] {
            assert_eq!(Channel::builder(target).build().unwrap().head().scheme, "http", "{target}");
        }
        // What names TLS is never called without.
        assert!(Channel::builder("http://a.test").tls(tls).build().is_err());
    }
}
