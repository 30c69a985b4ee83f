//! A message on its way to a handler, with what travels beside it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_core::Stream;

use crate::call::{
    CallContext, CallCredentials, CallOptions, Cancellation, Cancelled, CredentialSet, Extensions, Peer,
    PeerAddr, PeerIdentity,
};
use crate::compression::Compression;
use crate::format::Format;
use crate::metadata::MetadataMap;

/// A request message (or a stream of them) with metadata, deadline and peer.
///
/// Derefs to the message. A plain message converts into one, so callers
/// without options pass the message itself.
#[derive(Debug, Default)]
pub struct Request<T> {
    message: T,
    metadata: MetadataMap,
    context: CallContext,
    peer: Option<Arc<Peer>>,
    /// What most requests do without. A request is moved several times on its way to its handler.
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
struct Rare {
    extensions: Extensions,
    options: CallOptions,
    compressed: bool,
}

impl Rare {
    const NONE: &'static Self =
        &Self { extensions: Extensions::new(), options: CallOptions::UNSET, compressed: false };
}

/// What can be sent as the one request message of a call.
pub trait IntoRequest<T> {
    /// The request.
    fn into_request(self) -> Request<T>;
}

/// What can be sent as the request messages of a call.
pub trait IntoStreamingRequest<T> {
    /// The source of the messages.
    type Stream: Stream<Item = T> + Send + 'static;

    /// The request.
    fn into_streaming_request(self) -> Request<Self::Stream>;
}

impl<T> Request<T> {
    /// A request without metadata or options.
    pub fn new(message: T) -> Self {
        Self {
            message,
            metadata: MetadataMap::new(),
            context: CallContext::default(),
            peer: None,
            rare: None,
        }
    }

    /// A request as a server has received it from `peer`, with metadata that others may share.
    #[inline(always)]
    pub fn received(message: T, metadata: MetadataMap, context: CallContext, peer: Arc<Peer>) -> Self {
        Self { message, metadata, context, peer: Some(peer), rare: None }
    }

    fn rare(&self) -> &Rare {
        self.rare.as_deref().unwrap_or(Rare::NONE)
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// On a server, for a request of one message: whether the client sent it compressed. Of a stream, each message is
    /// asked about: [`Streaming::was_compressed`](crate::Streaming::was_compressed).
    // wire-rules 31
    pub fn was_compressed(&self) -> bool {
        self.rare().compressed
    }

    /// Sets [`was_compressed`](Self::was_compressed); done by the server.
    pub fn set_compressed(&mut self, compressed: bool) {
        if compressed || self.rare.is_some() {
            self.rare_mut().compressed = compressed;
        }
    }

    /// The message, dropping the rest.
    #[inline]
    pub fn into_inner(self) -> T {
        self.message
    }

    /// Message, metadata and extensions.
    pub fn into_parts(self) -> (T, MetadataMap, Extensions) {
        let extensions = self.rare.map_or_else(Extensions::new, |rare| rare.extensions);
        (self.message, self.metadata, extensions)
    }

    /// The message.
    pub fn get_ref(&self) -> &T {
        &self.message
    }

    /// The message, to change.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.message
    }

    /// Metadata, sent as request headers.
    pub fn metadata(&self) -> &MetadataMap {
        &self.metadata
    }

    /// Metadata, to change.
    pub fn metadata_mut(&mut self) -> &mut MetadataMap {
        &mut self.metadata
    }

    /// Values by type that stay inside the process.
    pub fn extensions(&self) -> &Extensions {
        &self.rare().extensions
    }

    /// Values by type, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.rare_mut().extensions
    }

    /// When the call is over. On a server: from the caller's timeout, `None` if it set none.
    // wire-rules 15
    pub fn deadline(&self) -> Option<Instant> {
        self.context.deadline
    }

    /// Sets when the call is over. Besides a [`timeout`](Self::timeout) the earlier one counts.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.context.deadline = deadline;
    }

    /// On a server: deadline and cancellation of the call, to keep when the request is taken apart, and to give to
    /// what the handler spawns.
    pub fn context(&self) -> &CallContext {
        &self.context
    }

    /// Sets what tells that the call is over; done by the server.
    pub fn set_cancellation(&mut self, cancellation: Cancellation) {
        self.context.cancellation = cancellation;
    }

    /// On a server: waits until the call is over, be it answered, given up by its client or out of time. For tasks
    /// that the handler spawns; the handler itself is dropped where it waits.
    // wire-rules 74
    pub fn cancelled(&self) -> Cancelled {
        self.context.cancelled()
    }

    /// On a client: makes the call on behalf of one that a server runs. It ends with that one's deadline, if that is
    /// the earlier, and when that one is over; metadata is not passed on.
    ///
    /// ```
    /// # use peregrine_core::Request;
    /// fn handle(incoming: &Request<u32>) {
    ///     let outgoing = Request::new(**incoming + 1).within(incoming);
    ///     // client.next(outgoing).await
    /// }
    /// ```
    #[must_use]
    pub fn within(mut self, call: &impl AsRef<CallContext>) -> Self {
        let CallContext { deadline, cancellation } = call.as_ref();
        self.context.deadline = match (self.context.deadline, *deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.context.cancellation = cancellation.clone();
        self
    }

    /// On a client: proves who this call is made for, besides the channel's own credentials. The call is made over
    /// TLS only.
    // wire-rules 94
    #[must_use]
    pub fn credentials(mut self, credentials: impl CallCredentials) -> Self {
        let extensions = self.extensions_mut();
        let mut set = extensions.remove::<CredentialSet>().unwrap_or_default();
        set.push(credentials);
        extensions.insert(set);
        self
    }

    /// Whether the call is bound to another one, or carries values by type, credentials among them: what the short
    /// way of a client does not look at.
    pub fn is_accompanied(&self) -> bool {
        !self.extensions().is_empty() || self.context.cancellation.is_set()
    }

    pub(crate) fn take_carried(&mut self) -> (MetadataMap, Extensions) {
        let extensions = self.rare.as_deref_mut().map(|rare| std::mem::take(&mut rare.extensions));
        (std::mem::take(&mut self.metadata), extensions.unwrap_or_default())
    }

    pub(crate) fn restore_carried(&mut self, metadata: MetadataMap, extensions: Extensions) {
        self.metadata = metadata;
        if !extensions.is_empty() || self.rare.is_some() {
            self.rare_mut().extensions = extensions;
        }
    }

    /// On a server: who called.
    pub fn peer(&self) -> &PeerAddr {
        self.peer.as_ref().map_or(&PeerAddr::Unknown, |peer| &peer.addr)
    }

    /// Sets the peer, which all requests of a connection share; done by the server.
    pub fn set_peer(&mut self, peer: Arc<Peer>) {
        self.peer = Some(peer);
    }

    /// On a server: who called, as the certificate says that the caller has proven its own. `None` unless the server
    /// asks for certificates (`ServerTls::client_ca_pem`), and for callers that showed none where that is allowed.
    pub fn peer_identity(&self) -> Option<&PeerIdentity> {
        self.peer.as_ref()?.identity.as_deref()
    }

    /// The options of the call.
    pub fn options(&self) -> &CallOptions {
        &self.rare().options
    }

    /// The options, if the call may have set any. Most set none.
    #[inline]
    pub fn own_options(&self) -> Option<&CallOptions> {
        self.rare.as_deref().map(|rare| &rare.options)
    }

    /// The options, to change.
    pub fn options_mut(&mut self) -> &mut CallOptions {
        &mut self.rare_mut().options
    }

    /// Limits the time of the whole call, counted from when it is made.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options_mut().timeout = Some(timeout);
        self
    }

    /// Waits for a connection instead of failing while none can be made.
    // wire-rules 96
    #[must_use]
    pub fn wait_for_ready(mut self) -> Self {
        self.options_mut().wait_for_ready = Some(true);
        self
    }

    /// Compresses the request's messages: `Encoding::Gzip` for that encoding with everything else at its default, or a
    /// [`Compression`], which may also be [off](Compression::off) where the channel compresses. The call fails with
    /// INTERNAL if that names an encoding that is not compiled in, or is not [possible](Compression::check) otherwise.
    // wire-rules P2, T4
    #[must_use]
    pub fn compress(mut self, compression: impl Into<Compression>) -> Self {
        self.options_mut().compression = Some(compression.into());
        self
    }

    /// Limits a response message to `bytes` bytes.
    #[must_use]
    pub fn max_response_size(mut self, bytes: usize) -> Self {
        self.options_mut().max_response_size = Some(bytes);
        self
    }

    /// Limits a request message to `bytes` bytes.
    #[must_use]
    pub fn max_request_size(mut self, bytes: usize) -> Self {
        self.options_mut().max_request_size = Some(bytes);
        self
    }

    /// Chooses how the call's messages look on the wire, one of the formats that the channel was given.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.options_mut().format = Some(format);
        self
    }

    /// The same request around another message.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Request<U> {
        Request {
            message: f(self.message),
            metadata: self.metadata,
            context: self.context,
            peer: self.peer,
            rare: self.rare,
        }
    }
}

impl<T> Deref for Request<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.message
    }
}

impl<T> DerefMut for Request<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.message
    }
}

impl<T> AsRef<CallContext> for Request<T> {
    fn as_ref(&self) -> &CallContext {
        &self.context
    }
}

impl<T> From<T> for Request<T> {
    fn from(message: T) -> Self {
        Self::new(message)
    }
}

impl<T> IntoRequest<T> for T {
    fn into_request(self) -> Request<T> {
        Request::new(self)
    }
}

impl<T> IntoRequest<T> for Request<T> {
    fn into_request(self) -> Self {
        self
    }
}

impl<T, S: Stream<Item = T> + Send + 'static> IntoStreamingRequest<T> for S {
    type Stream = S;

    fn into_streaming_request(self) -> Request<S> {
        Request::new(self)
    }
}

impl<T, S: Stream<Item = T> + Send + 'static> IntoStreamingRequest<T> for Request<S> {
    type Stream = S;

    fn into_streaming_request(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::CallScope;
    use crate::stream::iter;

    #[derive(Debug, Default, PartialEq)]
    struct Hello {
        name: String,
    }

    fn unary(request: impl IntoRequest<Hello>) -> Request<Hello> {
        request.into_request()
    }

    fn streaming<S: IntoStreamingRequest<u32>>(request: S) -> Request<S::Stream> {
        request.into_streaming_request()
    }

    #[test]
    fn a_message_and_a_request_both_convert() {
        assert_eq!(unary(Hello::default()).options().timeout, None);
        let request = unary(Request::new(Hello::default()).timeout(Duration::from_secs(2)).wait_for_ready());
        assert_eq!(request.options().timeout, Some(Duration::from_secs(2)));
        assert_eq!(request.options().wait_for_ready, Some(true));
        streaming(iter([1, 2]));
        let request = streaming(Request::new(iter(vec![1])).max_response_size(7).max_request_size(8));
        assert_eq!(request.options().max_response_size, Some(7));
        assert_eq!(request.options().max_request_size, Some(8));
    }

    #[test]
    fn a_request_derefs_to_its_message() {
        let mut request = Request::from(Hello { name: "Ada".into() });
        request.name.push('!');
        assert_eq!(request.name, "Ada!");
        assert_eq!(request.get_ref(), &Hello { name: "Ada!".into() });
    }

    #[test]
    fn shared_metadata_is_copied_by_the_request_that_changes_it() {
        let mut shared = MetadataMap::new();
        shared.insert("k", "v").unwrap();
        let (mut one, mut other) = (Request::new(1), Request::new(2));
        *one.metadata_mut() = shared.clone();
        *other.metadata_mut() = shared;
        one.metadata_mut().insert("k", "changed").unwrap();
        assert_eq!(one.metadata().get("k"), Some("changed"));
        assert_eq!(other.metadata().get("k"), Some("v"));
        assert_eq!(other.into_parts().1.get("k"), Some("v"));
    }

    // wire-rules 13, 74
    #[test]
    fn a_call_within_another_has_the_earlier_deadline_and_its_cancellation() {
        let (sooner, later) = (Instant::now(), Instant::now() + Duration::from_secs(1));
        let scope = CallScope::default();
        for (incoming, own, expected) in [
            (None, None, None),
            (Some(later), None, Some(later)),
            (None, Some(later), Some(later)),
            (Some(later), Some(sooner), Some(sooner)),
            (Some(sooner), Some(later), Some(sooner)),
        ] {
            let (mut served, mut made) = (Request::new(1), Request::new("made"));
            served.set_deadline(incoming);
            served.set_cancellation(scope.cancellation());
            made.set_deadline(own);
            assert!(!made.is_accompanied());
            let made = made.within(&served);
            assert_eq!(made.deadline(), expected);
            assert!(made.is_accompanied() && made.within(served.context()).deadline() == expected);
        }
    }

    #[test]
    fn mapping_keeps_everything_else() {
        let mut request = Request::new(1).timeout(Duration::from_secs(1));
        let deadline = Instant::now();
        request.metadata_mut().insert("k", "v").unwrap();
        request.extensions_mut().insert("kept");
        request.set_deadline(Some(deadline));
        request.set_peer(Arc::new(Peer { addr: PeerAddr::Unix(None), identity: None }));
        let request = request.map(|n| n.to_string());
        assert_eq!(request.get_ref(), "1");
        assert_eq!(request.metadata().get("k"), Some("v"));
        assert_eq!(request.extensions().get::<&str>(), Some(&"kept"));
        assert_eq!(request.deadline(), Some(deadline));
        assert_eq!(request.peer(), &PeerAddr::Unix(None));
        assert_eq!(request.options().timeout, Some(Duration::from_secs(1)));
    }
}
