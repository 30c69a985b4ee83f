//! Which stream may send next: round robin over the streams that have data and window, one frame each
//! (wire-rules 84: no stream holds up another). Run by
//! [`Connection::poll_output`](crate::Connection::poll_output).

use std::collections::VecDeque;

use crate::StreamKey;
use crate::stream::Stream;

/// The ring of streams that have queued data and a window for it.
///
/// Invariant: a stream with queued data and window is in the ring exactly once, marked `scheduled`; entries
/// of streams that are gone are skipped when their turn comes.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    ring: VecDeque<StreamKey>,
}

impl Schedule {
    /// Adds the stream at the end, if it has something to send and may.
    #[inline]
    pub(crate) fn push_if_ready(&mut self, key: StreamKey, stream: &mut Stream) {
        if !stream.scheduled && !stream.queue.is_empty() && stream.send_window.available() > 0 {
            stream.scheduled = true;
            self.ring.push_back(key);
        }
    }

    /// Whose turn it is. The caller clears `scheduled`.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<StreamKey> {
        self.ring.pop_front()
    }

    /// Whose turns are to come; those of streams that are gone among them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = StreamKey> {
        self.ring.iter().copied()
    }

    /// Nobody waits for a turn.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Drops the turns of streams that are gone once they are the majority: while the connection's window is shut
    /// no turn comes, and streams that end meanwhile would leave theirs behind. `live` is how many streams there
    /// are, `is_live` which.
    #[inline]
    #[expect(clippy::arithmetic_side_effects, reason = "a number of streams in memory")]
    pub(crate) fn sweep(&mut self, live: usize, is_live: impl Fn(StreamKey) -> bool) {
        if self.ring.len() > 2 * live + SLACK {
            self.ring.retain(|key| is_live(*key));
        }
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.ring.capacity() * size_of::<StreamKey>()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    pub(crate) fn clear(&mut self) {
        self.ring.clear();
    }

    pub(crate) fn trim(&mut self) {
        self.ring.shrink_to_fit();
    }
}

/// Turns of streams that are gone, tolerated beside one for each live stream.
const SLACK: usize = 64;
