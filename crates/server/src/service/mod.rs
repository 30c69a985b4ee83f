//! What a mounted service is to the server: a description, and a maker of slots in which its calls live.
//!
//! Generated code implements [`Service`]; the router looks methods up by path; a connection asks for a
//! [`CallSlot`] per method and uses it again and again.

mod intercepted;
mod shape;
mod slot;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use peregrine_core::call::{Peer, SharedInbox};
use peregrine_core::intercept::MessageHooks;
use peregrine_core::{
    DecodeLimits, Extensions, MetadataMap, MethodFormat, Payload, ServiceDescriptor, Status,
};

pub(crate) use self::intercepted::InterceptedSlot;
pub use self::shape::{bidi_slot, client_streaming_slot, server_streaming_slot, unary_slot};
pub use self::slot::ResponseSink;
pub use crate::call::port::PortPlace;

/// A service as generated code presents it. Implemented by `XServer<T>` types; users rarely name it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a service that a server can mount",
    label = "not a service",
    note = "an implementation of the trait `Greeter` is mounted as `add_service(GreeterServer::new(implementation))`"
)]
pub trait Service: Send + Sync + 'static {
    /// Name, methods and, for reflection, the descriptor set.
    fn descriptor(&self) -> &'static ServiceDescriptor;

    /// A fresh slot for calls of the method with this index in the descriptor; `None` when there is none.
    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>>;
}

/// The place in which one call of one method lives, from its start to its end, and then the next one.
///
/// A polled future cannot move, so it is born in its slot. A slot whose call ended is used again: the common
/// unary call therefore allocates nothing here. The whole call is one future, which owns the service handle,
/// so a response stream may borrow from the service.
pub trait CallSlot: Send {
    /// Decodes the request where the method takes one message, and makes the call's future, which takes out of `call`
    /// what it needs. Polls nothing.
    ///
    /// # Errors
    /// The status that the call ends with, when the request does not decode.
    fn start(self: Pin<&mut Self>, call: &mut IncomingCall<'_>) -> Result<(), Status>;

    /// Polls the call. It writes its reply through `port`.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, port: &mut PortPlace) -> Poll<CallResult>;

    /// Drops the future, if there is one, and makes the slot ready for the next call.
    fn clear(self: Pin<&mut Self>);
}

/// How a call ended: trailing metadata beside status OK, or the status.
pub type CallResult = Result<MetadataMap, Status>;

/// Everything that a call starts with.
#[derive(Debug)]
pub struct IncomingCall<'a> {
    /// The user's metadata, shared with every call that came with the same header block.
    pub metadata: MetadataMap,
    /// The one request message, for methods that take one. It lies in the read buffer.
    pub body: Payload<'a>,
    /// The incoming messages, for methods that take a stream.
    pub inbox: Option<Arc<SharedInbox>>,
    /// When the call has to be over.
    pub deadline: Option<Instant>,
    /// Who calls.
    pub peer: &'a Arc<Peer>,
    /// Bounds for decoding.
    pub limits: &'a DecodeLimits,
    /// How messages are rewritten, if they are in a format that is not the codec's own.
    pub format: Option<&'a MethodFormat>,
    /// What interceptors leave for the handler; `None` without any.
    pub extra: Option<Box<CallExtra>>,
}

/// What interceptors leave for a call's handler.
#[derive(Debug, Default)]
pub struct CallExtra {
    pub(crate) extensions: Extensions,
    pub(crate) request_hooks: MessageHooks,
}
