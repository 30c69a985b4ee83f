//! The port: where the call that is being polled on this thread writes its reply.
//!
//! A call is one future and never holds its connection. Before each poll the one who polls puts a port into
//! this thread's cell and takes it back afterwards. A call that runs in place finds the connection itself in
//! it ([`Target::Wire`]): what it sends is encoded straight into the connection's output. A spawned call finds
//! an outbox ([`Target::Outbox`]), whose contents its task hands to the connection after the poll.
//!
//! Ports nest: a handler that drives another server on the same thread (through `block_on`, or an in-process
//! transport) gets its own port back when that poll ends.

use std::cell::RefCell;
use std::task::{Context, Poll};

use peregrine_core::{Codec, Format, MetadataMap, Status, Transcode};
use peregrine_http2::StreamKey;

use super::mailbox::Outbox;
use super::wire::Wire;

thread_local! {
    static PORT: RefCell<Option<Port>> = const { RefCell::new(None) };
}

/// The reply of one call, and where it goes.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) target: Target,
    pub(crate) key: StreamKey,
    pub(crate) format: Format,
    /// Whether the response head is out; decides between trailers and trailers-only.
    pub(crate) head_sent: bool,
}

/// Where a reply goes.
#[derive(Debug)]
pub(crate) enum Target {
    /// Into the connection's output; the call is polled by the connection's driver.
    Wire(Box<Wire>),
    /// Into a buffer that travels to the driver; the call runs in a task of its own.
    Outbox(Box<Outbox>),
}

/// Runs `poll` with `port` in this thread's cell, and gives the port back. Panics of `poll` are the caller's to
/// catch inside of `poll`: the port has to come back whatever happens.
pub(crate) fn with_port<R>(port: Port, poll: impl FnOnce() -> R) -> (Port, R) {
    let outer = PORT.with(|cell| cell.borrow_mut().replace(port));
    let result = poll();
    let port = PORT.with(|cell| std::mem::replace(&mut *cell.borrow_mut(), outer));
    match port {
        Some(port) => (port, result),
        // Only this function changes what the cell holds, and each nested use restores what it found.
        None => unreachable!("a nested poll took this call's port away"),
    }
}

/// Sends the response head, once.
///
/// # Errors
/// The peer does not accept that much metadata. A spawned call does not hear of it: its connection ends it.
pub(crate) fn send_head(metadata: MetadataMap) -> Result<(), Status> {
    let sent = on_port(|port| {
        if !port.head_sent {
            match &mut port.target {
                Target::Wire(wire) => wire.send_head(port.key, port.format, &metadata)?,
                Target::Outbox(outbox) => outbox.send_head(metadata),
            }
            port.head_sent = true;
        }
        Ok(())
    });
    // Without a port the message that follows says what is wrong.
    sent.unwrap_or(Ok(()))
}

/// Encodes and sends one message, rewritten by `transcode` if the call's format is not the codec's own.
///
/// # Errors
/// The message does not encode or is over the send limit.
pub(crate) fn send_message<C: Codec<B>, B>(
    message: &B,
    transcode: Option<&dyn Transcode>,
) -> Result<(), Status> {
    let sent = on_port(|port| match &mut port.target {
        Target::Wire(wire) => wire.send_message::<C, B>(port.key, message, transcode),
        Target::Outbox(outbox) => outbox.send_message::<C, B>(message, transcode),
    });
    sent.unwrap_or_else(|| Err(polled_elsewhere()))
}

/// Ready when the connection has room for another message of this call.
pub(crate) fn poll_writable(cx: &mut Context<'_>) -> Poll<()> {
    let ready = on_port(|port| match &mut port.target {
        // The driver polls the call again when the engine reports room, so no waker is kept.
        Target::Wire(wire) => wire.connection.poll_writable(port.key),
        Target::Outbox(outbox) => outbox.poll_writable(cx),
    });
    // Without a port the send that follows says what is wrong.
    if ready.unwrap_or(true) { Poll::Ready(()) } else { Poll::Pending }
}

fn on_port<R>(f: impl FnOnce(&mut Port) -> R) -> Option<R> {
    PORT.with(|cell| cell.try_borrow_mut().ok()?.as_mut().map(f))
}

fn polled_elsewhere() -> Status {
    Status::internal("a response sink was polled outside of its call; keep it in the handler's own future")
}
