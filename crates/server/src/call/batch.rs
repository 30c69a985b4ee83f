//! What one poll of a response stream makes: messages that nothing is done to are gathered and sent together.

use std::task::{Context, Poll};

use peregrine_core::message::FrameBuf;
use peregrine_core::{Codec, Status, Transcode};

use super::port;

/// The messages of one poll of a response stream (wire-rules B1, S2). Sends what it has gathered when there is no room
/// for more and when it is dropped: because the source has ended, failed, panicked or has nothing for now (B2, B3).
///
/// Messages that are compressed, or that interceptors or observers want to see, go one by one.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// `None` while messages go one by one.
    messages: Option<Box<FrameBuf>>,
    room: Room,
    /// Length of the connection's output when the batch began.
    start: Option<usize>,
}

/// What may be gathered before it has to be sent. Nothing, if messages go one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// In bytes. The message that goes beyond it is still taken.
    pub(crate) bytes: usize,
    /// Bytes that go where the first of them goes, at least as many.
    pub(crate) frame: usize,
    /// Longest message.
    pub(crate) limit: usize,
}

impl Batch {
    /// Ready when there is room for another message of the polled call.
    #[inline]
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.messages {
            Some(messages) if messages.len() < self.room.bytes => Poll::Ready(()),
            _ => self.poll_more_room(cx),
        }
    }

    /// Sends what there is first.
    #[inline(never)]
    fn poll_more_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let polled = port::on_port(|port| {
            if let Some(messages) = &mut self.messages {
                port.send_gathered(messages, self.room.frame);
            }
            port.poll_room(&mut self.start, cx)
        });
        // Without a port the send that follows says what is wrong.
        let Some(room) = polled.unwrap_or_else(|| Some(Room::default())) else { return Poll::Pending };
        self.room = room;
        if room.bytes == 0 {
            self.messages = None;
        } else if self.messages.is_none() {
            self.messages = Some(FrameBuf::reused());
        }
        Poll::Ready(())
    }

    /// Takes one message, rewritten by `transcode` if the call's format is not the codec's own. `wish`: what its source
    /// said of its compression.
    ///
    /// # Errors
    /// The message does not encode or is over the send limit.
    #[inline]
    pub(crate) fn send<C: Codec<B>, B: 'static>(
        &mut self,
        message: &B,
        transcode: Option<&dyn Transcode>,
        wish: Option<bool>,
    ) -> Result<(), Status> {
        match &mut self.messages {
            None => port::send_message::<C, B>(message, transcode, wish),
            Some(messages) if transcode.is_none() => {
                messages.encode::<C, B>(message, self.room.limit).map_err(Status::from)
            }
            Some(messages) => {
                messages.encode_as::<C, B>(message, transcode, self.room.limit, None)?;
                Ok(())
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let Some(mut messages) = self.messages.take() else { return };
        if !messages.is_empty() {
            port::on_port(|port| port.send_gathered(&mut messages, self.room.frame));
        }
        messages.recycle();
    }
}
