//! A call before it begins, as an interceptor sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::end::{CallEnd, EndHooks};
use super::message::{Message, MessageHooks};
use crate::call::{CallOptions, Extensions, MethodDescriptor, PeerAddr, PeerIdentity, Request, Response};
use crate::metadata::MetadataMap;
use crate::observe::Side;
use crate::status::Status;

/// A call that is about to begin, on a server or on a client. Seen by an [`Interceptor`](super::Interceptor).
pub struct InterceptedCall<'m> {
    side: Side,
    method: MethodDescriptor<'m>,
    is_secure: bool,
    parts: Intercepted,
}

/// What comes out of an [`InterceptedCall`]. For the server and the client.
#[derive(Debug, Default)]
pub struct Intercepted {
    pub(super) metadata: MetadataMap,
    /// Values by type, for the handler or from the caller.
    pub extensions: Extensions,
    /// When the call is over.
    pub deadline: Option<Instant>,
    /// On a server: who called.
    pub peer: PeerAddr,
    /// On a server: what its certificate says of it.
    pub peer_identity: Option<Arc<PeerIdentity>>,
    /// On a client: the call's options.
    pub options: CallOptions,
    /// On a server: the only request message, decompressed.
    pub body: Option<Bytes>,
    /// On a server: metadata to be sent with the response head.
    pub response_metadata: MetadataMap,
    /// Hooks for request messages.
    pub request_hooks: MessageHooks,
    /// Hooks for response messages.
    pub response_hooks: MessageHooks,
    /// Hooks for the end.
    pub end_hooks: EndHooks,
    /// The answer that was given in the handler's place.
    pub answer: Option<Response<Bytes>>,
}

impl<'m> InterceptedCall<'m> {
    /// A call on a server.
    pub fn on_server(
        method: MethodDescriptor<'m>,
        metadata: MetadataMap,
        deadline: Option<Instant>,
        peer: PeerAddr,
        is_secure: bool,
    ) -> Self {
        let parts = Intercepted { metadata, deadline, peer, ..Intercepted::default() };
        Self { side: Side::Server, method, is_secure, parts }
    }

    /// A call on a client; takes what `request` carries beside its message.
    pub fn on_client<T>(method: MethodDescriptor<'m>, request: &mut Request<T>, is_secure: bool) -> Self {
        let (metadata, extensions) = request.take_carried();
        let parts = Intercepted {
            metadata,
            extensions,
            deadline: request.deadline(),
            options: *request.options(),
            ..Intercepted::default()
        };
        Self { side: Side::Client, method, is_secure, parts }
    }

    /// On a server: what the peer's certificate says of it.
    #[must_use]
    pub fn with_identity(mut self, identity: Option<Arc<PeerIdentity>>) -> Self {
        self.parts.peer_identity = identity;
        self
    }

    /// On a server: the only request message, for methods that take one.
    #[must_use]
    pub fn with_body(mut self, body: Option<Bytes>) -> Self {
        self.parts.body = body;
        self
    }

    /// What has become of the call.
    pub fn into_parts(self) -> Intercepted {
        self.parts
    }

    /// Which half this is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The method that is called.
    pub fn method(&self) -> &MethodDescriptor<'m> {
        &self.method
    }

    /// Whether the connection is encrypted. On a client: whether it will be.
    pub fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// The request's metadata.
    pub fn metadata(&self) -> &MetadataMap {
        &self.parts.metadata
    }

    /// The request's metadata, to change: what the handler sees, or what is sent.
    pub fn metadata_mut(&mut self) -> &mut MetadataMap {
        &mut self.parts.metadata
    }

    /// Values by type that the handler's request will have, or the caller's has.
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// Values by type, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.parts.extensions
    }

    /// When the call is over. On a client: if the caller has set an instant; a timeout is among the
    /// [options](Self::options).
    pub fn deadline(&self) -> Option<Instant> {
        self.parts.deadline
    }

    /// On a server: who called.
    pub fn peer(&self) -> &PeerAddr {
        &self.parts.peer
    }

    /// On a server: who the peer has proved to be with a certificate, if it has shown one.
    pub fn peer_identity(&self) -> Option<&PeerIdentity> {
        self.parts.peer_identity.as_deref()
    }

    /// On a client: the options of the call, those of the channel not among them.
    pub fn options(&self) -> &CallOptions {
        &self.parts.options
    }

    /// On a client: the options, to change.
    pub fn options_mut(&mut self) -> &mut CallOptions {
        &mut self.parts.options
    }

    /// On a server: the request message as it came, decompressed and not decoded, for methods that take one.
    pub fn request_bytes(&self) -> Option<&Bytes> {
        self.parts.body.as_ref()
    }

    /// On a server: metadata to be sent with the response head, beside the handler's. A call that fails before it has
    /// a head sends none of it.
    pub fn response_metadata_mut(&mut self) -> &mut MetadataMap {
        &mut self.parts.response_metadata
    }

    /// Calls `hook` with each request message: on a server once it is decoded, before the handler has it; on a client
    /// before it is encoded. A hook that fails ends the call with its status.
    pub fn on_request_message<F>(&mut self, hook: F)
    where
        F: FnMut(&Message<'_>) -> Result<(), Status> + Send + 'static,
    {
        self.parts.request_hooks.push(hook);
    }

    /// Calls `hook` with each response message: on a server before it is encoded; on a client once it is decoded,
    /// before the caller has it. A hook that fails ends the call with its status.
    pub fn on_response_message<F>(&mut self, hook: F)
    where
        F: FnMut(&Message<'_>) -> Result<(), Status> + Send + 'static,
    {
        self.parts.response_hooks.push(hook);
    }

    /// Calls `hook` when the call is over, however it ends: also when an interceptor refuses it, when the handler
    /// panics, and when the caller leaves. A hook that panics ends the call UNKNOWN.
    pub fn on_end<F>(&mut self, hook: F)
    where
        F: FnOnce(&mut CallEnd) + Send + 'static,
    {
        self.parts.end_hooks.push(hook);
    }

    /// Answers in the handler's place, or in the server's: later interceptors do not run, and nothing is decoded or
    /// sent. The message is encoded as the method's codec does it.
    pub fn answer(&mut self, response: Response<Bytes>) {
        self.parts.answer = Some(response);
    }

    /// Whether there is an answer already.
    pub fn is_answered(&self) -> bool {
        self.parts.answer.is_some()
    }
}

impl Intercepted {
    /// Takes the request's metadata out.
    pub fn take_metadata(&mut self) -> MetadataMap {
        std::mem::take(&mut self.metadata)
    }

    /// Gives a client's request back what it carried, changes included.
    pub fn restore<T>(&mut self, request: &mut Request<T>) {
        let extensions = std::mem::take(&mut self.extensions);
        request.restore_carried(std::mem::take(&mut self.metadata), extensions);
        *request.options_mut() = self.options;
    }
}

impl fmt::Debug for InterceptedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterceptedCall")
            .field("side", &self.side)
            .field("path", &self.method.path)
            .field("metadata", self.metadata())
            .finish_non_exhaustive()
    }
}
