//! The port: where the call that is being polled on this thread writes its reply.
//!
//! A call is one future and never holds its connection. Before each poll the one who polls puts a port into
//! this thread's cell and takes it back afterwards. A call that runs in place finds the connection itself in
//! it ([`Port::Wire`]): what it sends is encoded straight into the connection's output. A spawned call finds
//! an outbox ([`Port::Outbox`]), whose contents its task hands to the connection after the poll.
//!
//! Ports nest: a handler that drives another server on the same thread (through `block_on`, or an in-process
//! transport) gets its own port back when that poll ends.

use std::cell::RefCell;
use std::task::Context;

use peregrine_core::compression::Compression;
use peregrine_core::intercept::{Message, MessageHooks};
use peregrine_core::message::{FrameBuf, GATHERED};
use peregrine_core::{Codec, MetadataMap, Status, Transcode};

use super::batch::Room;
use super::mailbox::Outbox;
use super::wire::Wire;

thread_local! {
    static PORT: RefCell<Option<Port>> = const { RefCell::new(None) };
}

/// Where the reply of the polled call goes. Two words: it is put in place and taken back for each poll.
#[derive(Debug)]
pub(crate) enum Port {
    /// Into the connection's output; the call is polled by the connection's driver.
    Wire(Box<Wire>),
    /// Into a buffer that travels to the driver; the call runs in a task of its own.
    Outbox(Box<Outbox>),
}

impl Port {
    /// What interceptors want with the reply.
    fn watch(&mut self) -> &mut Option<Box<Watch>> {
        match self {
            Self::Wire(wire) => &mut wire.watch,
            Self::Outbox(outbox) => &mut outbox.watch,
        }
    }

    /// Sends the response head, once.
    fn send_head(
        &mut self,
        mut metadata: MetadataMap,
        compression: Option<&Compression>,
    ) -> Result<(), Status> {
        if let Some(watch) = self.watch() {
            metadata.extend_from(&watch.metadata)?;
        }
        match self {
            Self::Wire(wire) => wire.open_reply(compression, &metadata),
            Self::Outbox(outbox) => outbox.send_head(compression, metadata),
        }
    }

    fn send_message<C: Codec<B>, B>(
        &mut self,
        message: &B,
        transcode: Option<&dyn Transcode>,
        wish: Option<bool>,
    ) -> Result<(), Status> {
        match self {
            Self::Wire(wire) => wire.send_message::<C, B>(message, transcode, wish),
            Self::Outbox(outbox) => outbox.send_message::<C, B>(message, transcode, wish),
        }
    }

    /// What may be gathered of the polled call's messages, if there is room for any; if not, `cx` is woken. `start`:
    /// length of the connection's output when the poll began, as far as is known.
    pub(super) fn poll_room(&mut self, start: &mut Option<usize>, cx: &mut Context<'_>) -> Option<Room> {
        let is_watched = self.watch().is_some();
        let room = match self {
            Self::Wire(wire) => {
                let len = wire.connection.output_len();
                // The output only grows while a call is polled.
                let sent = len.saturating_sub(*start.get_or_insert(len));
                if sent >= wire.batch_size {
                    cx.waker().wake_by_ref();
                    return None;
                }
                // The driver polls the call again when the engine reports room, so no waker is kept.
                let room = wire.poll_room()?;
                Room { bytes: room.bytes.min(wire.batch_size - sent).min(GATHERED), ..room }
            }
            Self::Outbox(outbox) => outbox.poll_room(cx)?,
        };
        Some(if is_watched { Room::default() } else { room })
    }

    /// Sends what was gathered where there was `room`, which nothing but the last message goes beyond.
    pub(super) fn send_gathered(&mut self, messages: &mut FrameBuf, room: usize) {
        match self {
            _ if messages.is_empty() => {}
            Self::Wire(wire) => wire.send_gathered(messages, room),
            Self::Outbox(outbox) => outbox.send_gathered(messages),
        }
    }
}

/// What interceptors want with the reply of one call.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Sent with the head.
    metadata: MetadataMap,
    hooks: MessageHooks,
}

impl Watch {
    /// `None` if they want nothing.
    pub(crate) fn new(metadata: MetadataMap, hooks: MessageHooks) -> Option<Box<Self>> {
        (!metadata.is_empty() || !hooks.is_empty()).then(|| Box::new(Self { metadata, hooks }))
    }
}

/// Runs `poll` with `watch` in this thread's port, and takes it back afterwards.
pub(crate) fn watched<R>(watch: &mut Option<Box<Watch>>, poll: impl FnOnce() -> R) -> R {
    on_port(|port| *port.watch() = watch.take());
    let result = poll();
    on_port(|port| *watch = port.watch().take());
    result
}

/// Runs `poll` with `port` in this thread's cell, and gives the port back. Panics of `poll` are the caller's to
/// catch inside of `poll`: the port has to come back whatever happens.
#[inline(always)]
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
pub(crate) fn send_head(metadata: MetadataMap, compression: Option<&Compression>) -> Result<(), Status> {
    // Without a port the message that follows says what is wrong.
    on_port(|port| port.send_head(metadata, compression)).unwrap_or(Ok(()))
}

/// Encodes and sends one message, rewritten by `transcode` if the call's format is not the codec's own.
/// `wish`: what its source said of its compression.
///
/// # Errors
/// The message does not encode or is over the send limit.
pub(crate) fn send_message<C: Codec<B>, B: 'static>(
    message: &B,
    transcode: Option<&dyn Transcode>,
    wish: Option<bool>,
) -> Result<(), Status> {
    let sent = on_port(|port| {
        if port.watch().is_some() {
            return None;
        }
        Some(port.send_message::<C, B>(message, transcode, wish))
    });
    match sent {
        Some(Some(sent)) => sent,
        Some(None) => send_watched::<C, B>(message, transcode, wish),
        None => Err(polled_elsewhere()),
    }
}

/// Sends the response head and the one message of a unary reply: [`send_head`], then [`send_message`].
///
/// # Errors
/// As for both.
#[inline]
pub(crate) fn send_reply<C: Codec<B>, B: 'static>(
    metadata: MetadataMap,
    compression: Option<&Compression>,
    message: &B,
    transcode: Option<&dyn Transcode>,
) -> Result<(), Status> {
    let sent = on_port(|port| {
        if let Port::Wire(wire) = port
            && wire.watch.is_none()
            && compression.is_none()
            && metadata.is_empty()
        {
            return Some(wire.send_plain_reply::<C, B>(message, transcode));
        }
        if let Err(status) = port.send_head(metadata, compression) {
            return Some(Err(status));
        }
        if port.watch().is_some() {
            return None;
        }
        Some(port.send_message::<C, B>(message, transcode, None))
    });
    match sent {
        Some(Some(sent)) => sent,
        Some(None) => send_watched::<C, B>(message, transcode, None),
        None => Err(polled_elsewhere()),
    }
}

/// Shows a message to the hooks first. They are the user's code, so the port is not held meanwhile.
#[cold]
fn send_watched<C: Codec<B>, B: 'static>(
    message: &B,
    transcode: Option<&dyn Transcode>,
    wish: Option<bool>,
) -> Result<(), Status> {
    let mut watch = on_port(|port| port.watch().take()).flatten();
    let shown = watch.as_mut().map_or(Ok(()), |watch| watch.hooks.run(&Message::outgoing::<C, B>(message)));
    let sent = shown.and_then(|()| send_message::<C, B>(message, transcode, wish));
    on_port(|port| *port.watch() = watch);
    sent
}

/// `None` where no call is polled.
pub(super) fn on_port<R>(f: impl FnOnce(&mut Port) -> R) -> Option<R> {
    PORT.with(|cell| cell.try_borrow_mut().ok()?.as_mut().map(f))
}

fn polled_elsewhere() -> Status {
    Status::internal("a response sink was polled outside of its call; keep it in the handler's own future")
}
