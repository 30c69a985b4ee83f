//! Messages as observers hear of them: how large they are, and what compression made of them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Observe, Side};
use crate::message::Encoding;
use crate::survive::survive;

/// A message that was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageEvent<'a> {
    /// The half that speaks.
    pub side: Side,
    /// Whether it left or came.
    pub direction: Direction,
    /// The path of the method, `/package.Service/Method`.
    pub method: &'a str,
    /// How large the message is, here and on the wire.
    pub size: MessageSize,
}

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From here to the peer.
    Sent,
    /// From the peer to here.
    Received,
}

/// How large one message is. The five bytes of its prefix count nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageSize {
    /// Bytes before compression, as the call's format (protobuf, JSON) has them.
    pub raw_len: usize,
    /// Bytes on the wire; `raw_len` if the message is not compressed.
    pub wire_len: usize,
    /// What it is compressed with, or why it is not.
    pub compression: MessageCompression,
}

/// What a message is compressed with, or why it is not.
// wire-rules T1, T5, T6
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageCompression {
    /// With this encoding.
    With(Encoding),
    /// Not: by the settings, because the peer accepts none of their encodings, or because the message's own source
    /// said so.
    Off,
    /// Not: it has fewer bytes than the threshold, or none at all.
    BelowThreshold,
    /// Not: it was tried, and would have saved too little.
    NoGain,
    /// Not: messages of the method did not shrink of late, so that this one was not tried.
    BackedOff,
    /// Not by the peer that sent it, for reasons of its own.
    NotByPeer,
}

impl MessageSize {
    /// Of a message that came: `wire_len` bytes on the wire; `encoding` is `None` if they are not compressed.
    pub fn received(raw_len: usize, wire_len: usize, encoding: Option<Encoding>) -> Self {
        let compression = encoding.map_or(MessageCompression::NotByPeer, MessageCompression::With);
        Self { raw_len, wire_len, compression }
    }

    /// Of a message that leaves. Both lengths are the same unless it is compressed.
    pub(crate) fn sent(raw_len: usize, wire_len: usize, compression: MessageCompression) -> Self {
        Self { raw_len, wire_len, compression }
    }
}

/// Tells an observer of the messages of one method. Servers and channels make it for observers that
/// [want messages](Observe::wants_messages).
#[derive(Clone)]
pub struct MessageObserver {
    observer: Arc<dyn Observe>,
    side: Side,
    method: Cow<'static, str>,
}

impl MessageObserver {
    /// For the calls of the method with the path `method` on this `side`.
    pub fn new(observer: Arc<dyn Observe>, side: Side, method: impl Into<Cow<'static, str>>) -> Self {
        Self { observer, side, method: method.into() }
    }

    /// A message has left.
    pub fn sent(&self, size: MessageSize) {
        tell_message(&*self.observer, self.side, Direction::Sent, &self.method, size);
    }

    /// A message has come.
    pub fn received(&self, size: MessageSize) {
        tell_message(&*self.observer, self.side, Direction::Received, &self.method, size);
    }
}

impl fmt::Debug for MessageObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageObserver").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Tells `observer` of one message. It is the user's code: its panic must not take the call along.
#[cold]
pub fn tell_message(
    observer: &dyn Observe,
    side: Side,
    direction: Direction,
    method: &str,
    size: MessageSize,
) {
    let event = MessageEvent { side, direction, method, size };
    let _panicked = survive(|| observer.message(&event));
}
