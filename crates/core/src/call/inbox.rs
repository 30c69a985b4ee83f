//! Incoming bytes of one streaming call, between the connection's driver that
//! pushes and the task that reads.

use std::sync::Arc;

use crate::message::Encoding;
use crate::metadata::MetadataMap;
use crate::status::Status;

/// Who feeds an inbox: the connection.
///
/// Both are called from whatever task or thread holds the
/// [`Streaming`](crate::Streaming), never with the inbox locked.
pub trait InboxOwner: Send + Sync {
    /// There is flow-control credit to fetch with [`SharedInbox::take_credit`].
    fn credit_available(&self, call: u64);

    /// Nobody will read this call's messages any more, and its end has not come yet.
    fn dropped(&self, call: u64);
}

/// Settings of an inbox.
#[derive(Clone, Copy, Debug)]
pub struct InboxConfig {
    /// How messages may be compressed.
    pub encoding: Encoding,
    /// Longest message in bytes (wire-rules 42).
    pub max_message: usize,
    /// Credit to gather before [`InboxOwner::credit_available`] is called, in
    /// bytes; at most the stream's receive window, or the call could stall.
    pub credit_step: usize,
}

/// The inbox as its two sides share it.
#[derive(Debug)]
pub struct SharedInbox {
    _todo: (),
}

impl SharedInbox {
    /// An inbox whose owner wants to hear of credit and of readers that leave;
    /// `call` is the owner's name for the call.
    pub fn new(_config: InboxConfig, _owner: Arc<dyn InboxOwner>, _call: u64) -> Arc<Self> {
        todo!()
    }

    /// An inbox that nobody owns: filled in advance, for tests and for
    /// in-process use.
    pub fn detached(_config: InboxConfig) -> Arc<Self> {
        todo!()
    }

    /// Driver: bytes of a DATA frame. Returns the bytes of receive window to give back now.
    #[must_use]
    pub fn push(&self, _data: &[u8]) -> usize {
        todo!()
    }

    /// Driver, client side: the response headers came.
    pub fn set_headers(&self, _headers: MetadataMap) {
        todo!()
    }

    /// Driver: nothing more comes. `None` is a clean end, and a message that
    /// is not complete then is INTERNAL (wire-rules 45); a status is delivered
    /// after the messages that are complete.
    pub fn finish(&self, _status: Option<Status>) {
        todo!()
    }

    /// Driver, client side: as [`finish`](Self::finish) with success and these trailers.
    pub fn finish_with_trailers(&self, _trailers: MetadataMap) {
        todo!()
    }

    /// Driver: bytes of receive window to give back, each reported once.
    #[must_use]
    pub fn take_credit(&self) -> usize {
        todo!()
    }

    /// Whether the reader is gone.
    pub fn is_abandoned(&self) -> bool {
        todo!()
    }
}
