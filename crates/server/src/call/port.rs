//! The port: where the call that is being polled writes its reply.
//!
//! A call is one future and never holds its connection. The one who polls it lends it a port for each poll. A call
//! that runs in place finds the connection itself in it ([`Port::Wire`]): what it sends is encoded straight into the
//! connection's output. A spawned call finds an outbox ([`Port::Outbox`]), whose contents its task hands to the
//! connection after the poll.
//!
//! A reply of one message is written behind the handler's future, by whoever polled that, who has the port at hand. A
//! stream is driven inside of that future, where nothing can be handed in: for its polls the port is in a cell of this
//! thread ([`PortPlace::lend`]). Ports nest: a handler that drives another server on the same thread (through
//! `block_on`, or an in-process transport) gets its own port back when that poll ends.

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

/// Where the reply of the polled call goes. Two words, since it is put in place and taken back for each poll.
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

/// Holds a call's port while that is polled.
#[derive(Debug)]
pub struct PortPlace(Option<Port>);

impl PortPlace {
    pub(crate) fn new(port: Port) -> Self {
        Self(Some(port))
    }

    /// The port, back from a poll.
    pub(crate) fn into_port(self) -> Port {
        match self.0 {
            Some(port) => port,
            // It is away only while `lend` runs.
            None => unreachable!("a poll took its call's port away"),
        }
    }

    /// Runs `poll` with the port in this thread's cell.
    pub(crate) fn lend<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        let _lent = Lent::new(&mut self.0);
        poll()
    }

    /// Runs `poll` with `watch` in the port, and takes it back afterwards. Panics of `poll` are the caller's to catch
    /// inside of it.
    pub(crate) fn watched<R>(
        &mut self,
        watch: &mut Option<Box<Watch>>,
        poll: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if let Some(port) = &mut self.0 {
            *port.watch() = watch.take();
        }
        let result = poll(self);
        if let Some(port) = &mut self.0 {
            *watch = port.watch().take();
        }
        result
    }

    /// The connection, if it is at hand, and nobody but the client is told of the reply, of which nothing is out.
    #[inline]
    pub(crate) fn unwatched_wire(&mut self) -> Option<&mut Wire> {
        match &mut self.0 {
            Some(Port::Wire(wire)) if wire.watch.is_none() && wire.sent.is_none() => Some(wire),
            _ => None,
        }
    }

    /// Sends the response head, once.
    ///
    /// # Errors
    /// The peer does not accept that much metadata. A spawned call does not hear of it: its connection ends it.
    pub(crate) fn send_head(
        &mut self,
        metadata: MetadataMap,
        compression: Option<&Compression>,
    ) -> Result<(), Status> {
        self.port()?.send_head(metadata, compression)
    }

    /// Encodes and sends the one message of a reply, rewritten by `transcode` if the call's format is not the codec's
    /// own. Hooks of interceptors see it first.
    ///
    /// # Errors
    /// The message does not encode or is over the send limit, or a hook refuses it.
    pub(crate) fn send_message<C: Codec<B>, B: 'static>(
        &mut self,
        message: &B,
        transcode: Option<&dyn Transcode>,
    ) -> Result<(), Status> {
        let port = self.port()?;
        if let Some(watch) = port.watch() {
            watch.hooks.run(&Message::outgoing::<C, B>(message))?;
        }
        port.send_message::<C, B>(message, transcode, None)
    }

    fn port(&mut self) -> Result<&mut Port, Status> {
        self.0.as_mut().ok_or_else(polled_elsewhere)
    }
}

/// A port that is in this thread's cell; what was there before is in the port's place.
struct Lent<'p>(&'p mut Option<Port>);

impl<'p> Lent<'p> {
    fn new(place: &'p mut Option<Port>) -> Self {
        let mut lent = Self(place);
        lent.swap();
        lent
    }

    fn swap(&mut self) {
        PORT.with(|cell| std::mem::swap(&mut *cell.borrow_mut(), self.0));
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.swap();
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
