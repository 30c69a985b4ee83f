//! The slab of streams. `id_map` leads from ids to it.
//!
//! Entries are used again, so a warm connection opens and closes streams without allocating.

use super::id_map::IdMap;
use super::{RecvHalf, SendHalf, SendQueue, StreamKey};
use crate::budget::Ledger;
use crate::flow::{RecvWindow, Window};
use crate::{ErrorCode, Head, StreamId};

/// Everything the engine knows about one stream.
#[derive(Debug)]
pub(crate) struct Stream {
    /// 0 if the entry is free.
    pub(crate) id: StreamId,
    pub(crate) send: SendHalf,
    pub(crate) recv: RecvHalf,
    /// In the ring of `schedule`.
    pub(crate) scheduled: bool,
    pub(crate) waiting: Waiting,
    /// The next DATA frame without data costs the peer nothing.
    pub(crate) empty_is_free: bool,
    /// How often in a row `connection::stall` found data in the queue and none sent.
    pub(crate) unmoved: u8,
    /// Client: the request was HEAD, so `content-length` promises nothing (RFC 9110, 9.3.2).
    pub(crate) bodiless: bool,
    /// By how much the receiving window was grown; in the ledger.
    pub(crate) grown: u32,
    /// What we may send.
    pub(crate) send_window: Window,
    pub(crate) recv_window: RecvWindow,
    /// Octets of DATA that `content-length` says are still to come; [`UNKNOWN_LENGTH`] without one.
    pub(crate) expected: u64,
    pub(crate) queue: SendQueue,
    /// Wait behind the queue; encoded when they go out, since blocks must be written in the order they are
    /// encoded.
    pub(crate) trailers: Option<Box<Head>>,
    /// RST_STREAM to send when the queue and the trailers are out.
    pub(crate) reset_after: Option<ErrorCode>,
}

/// What stands between the upper layer and the `Event::Writable` it was told to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Nobody waits.
    No,
    /// The stream's queue is above its mark.
    Queue,
    /// The output is above its mark.
    Output,
}

/// [`Stream::expected`] of a stream without `content-length`.
pub(crate) const UNKNOWN_LENGTH: u64 = u64::MAX;

impl Stream {
    /// Makes the entry free.
    #[inline]
    fn vacate(&mut self) {
        self.id = StreamId::CONNECTION;
        if !self.queue.is_unused() {
            self.queue = SendQueue::default();
        }
        if self.trailers.is_some() {
            self.trailers = None;
        }
        self.scheduled = false;
        self.waiting = Waiting::No;
        self.empty_is_free = true;
        self.unmoved = 0;
        self.bodiless = false;
        self.expected = UNKNOWN_LENGTH;
        self.reset_after = None;
    }

    /// An entry as [`vacate`](Self::vacate) leaves it: what every stream begins as, but for its id, halves and windows.
    fn vacant() -> Self {
        Stream {
            id: StreamId::CONNECTION,
            send: SendHalf::Ended,
            recv: RecvHalf::Ended,
            scheduled: false,
            waiting: Waiting::No,
            empty_is_free: true,
            unmoved: 0,
            bodiless: false,
            grown: 0,
            send_window: Window::new(0),
            recv_window: RecvWindow::new(0),
            expected: UNKNOWN_LENGTH,
            queue: SendQueue::default(),
            trailers: None,
            reset_after: None,
        }
    }

    /// No more frames in either direction but those the RFC allows on closed streams.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.send == SendHalf::Ended && self.recv == RecvHalf::Ended
    }
}

/// The streams of a connection.
#[derive(Debug)]
pub(crate) struct Store {
    entries: Vec<Stream>,
    /// Indices of free entries.
    free: Vec<u32>,
    ids: IdMap,
    /// What windows have grown by, all streams together.
    ledger: Ledger,
}

impl Store {
    /// `seed` is of the map from ids; `None` where the ids are our own, one after the other.
    pub(crate) fn new(seed: Option<u64>, ledger: Ledger) -> Self {
        Store { entries: Vec::new(), free: Vec::new(), ids: IdMap::new(seed), ledger }
    }

    /// Streams that are open or half-closed.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.len() == 0
    }

    /// Adds a stream. The id must be new.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the index of a free entry was that of an entry once")]
    pub(crate) fn insert(
        &mut self,
        id: StreamId,
        (send, recv): (SendHalf, RecvHalf),
        send_window: u32,
        recv_window: u32,
    ) -> StreamKey {
        let index = self.free.pop().unwrap_or_else(|| self.make_vacant());
        let stream = &mut self.entries[index as usize];
        stream.id = id;
        (stream.send, stream.recv) = (send, recv);
        stream.send_window = Window::new(send_window);
        stream.recv_window = RecvWindow::new(recv_window);
        self.ids.insert(id, index);
        StreamKey::new(index, id)
    }

    #[inline(never)]
    #[expect(clippy::arithmetic_side_effects, reason = "there is one after the push")]
    fn make_vacant(&mut self) -> u32 {
        self.entries.push(Stream::vacant());
        (self.entries.len() - 1) as u32
    }

    /// Removes a stream and all that is queued on it. A stale key removes nothing.
    pub(crate) fn remove(&mut self, key: StreamKey) {
        self.remove_now(key);
    }

    /// [`remove`](Self::remove), compiled where it is called.
    #[inline(always)]
    pub(crate) fn remove_now(&mut self, key: StreamKey) {
        if let Some(stream) = self.get_mut(key) {
            stream.vacate();
            let grown = std::mem::take(&mut stream.grown);
            if grown > 0 {
                self.ledger.give(grown);
            }
            self.ids.remove(key.id());
            self.free.push(key.index() as u32);
        }
    }

    /// The key of the stream with this id, if it is there.
    #[inline]
    pub(crate) fn find(&self, id: StreamId) -> Option<StreamKey> {
        Some(StreamKey::new(self.ids.find(id)?, id))
    }

    #[inline]
    pub(crate) fn get(&self, key: StreamKey) -> Option<&Stream> {
        self.entries.get(key.index()).filter(|stream| stream.id == key.id())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: StreamKey) -> Option<&mut Stream> {
        self.entries.get_mut(key.index()).filter(|stream| stream.id == key.id())
    }

    /// All streams, in no particular order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (StreamKey, &mut Stream)> {
        let live = self.entries.iter_mut().enumerate().filter(|(_, stream)| !stream.id.is_connection());
        live.map(|(index, stream)| (StreamKey::new(index as u32, stream.id), stream))
    }

    /// Removes every stream.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.free.clear();
        self.ids.clear();
        self.ledger.give_all();
    }

    /// Grows the receiving window of a stream to `size` octets, if the ledger has them; answers by how much, which
    /// the caller announces.
    pub(crate) fn grow(&mut self, key: StreamKey, size: u32) -> u32 {
        let Some(stream) = self.entries.get_mut(key.index()).filter(|stream| stream.id == key.id()) else {
            return 0;
        };
        let more = size.saturating_sub(stream.recv_window.size());
        if more == 0 || !self.ledger.take(more) {
            return 0;
        }
        stream.recv_window.grow(more);
        stream.grown = stream.grown.saturating_add(more);
        more
    }

    /// Heap octets in use.
    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        let waiting = |stream: &Stream| {
            let trailers = stream.trailers.as_ref().map_or(0, |head| size_of::<Head>() + head.footprint());
            stream.queue.footprint() + trailers
        };
        self.entries.capacity() * size_of::<Stream>()
            + self.entries.iter().map(waiting).sum::<usize>()
            + self.free.capacity() * size_of::<u32>()
            + self.ids.footprint()
    }

    /// Gives memory back if no stream is open.
    pub(crate) fn trim(&mut self) {
        if self.is_empty() {
            self.entries = Vec::new();
            self.free = Vec::new();
            self.ids.trim();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(store: &mut Store, id: u32) -> StreamKey {
        store.insert(StreamId::new(id), (SendHalf::Open, RecvHalf::Open), 10, 10)
    }

    #[test]
    fn an_index_is_used_again_and_old_keys_stay_dead() {
        let mut store = Store::new(Some(1), Ledger::default());
        let first = insert(&mut store, 1);
        store.remove(first);
        let second = insert(&mut store, 3);
        assert_eq!(first.index(), second.index());
        assert!(store.get(first).is_none() && store.get(second).is_some());
        store.remove(first);
        assert_eq!(store.len(), 1);
        assert_eq!(store.find(StreamId::new(3)), Some(second));
        assert_eq!(store.find(StreamId::new(1)), None);
    }

    #[test]
    fn streams_come_and_go() {
        let mut store = Store::new(Some(1), Ledger::default());
        assert!(store.is_empty());
        let ids = [1, 3, 5].map(StreamId::new);
        let keys = ids.map(|id| store.insert(id, (SendHalf::Open, RecvHalf::Open), 10, 20));
        assert_eq!((store.len(), store.is_empty()), (3, false));
        store.remove(keys[1]);
        assert_eq!((store.len(), store.find(ids[1])), (2, None));
        let mut live: Vec<_> = store.iter_mut().map(|(key, stream)| (key, stream.id)).collect();
        live.sort_by_key(|(_, id)| *id);
        assert_eq!(live, [(keys[0], ids[0]), (keys[2], ids[2])]);
        // While a stream is open, nothing is given back.
        store.trim();
        assert!(store.get(keys[2]).is_some() && store.find(ids[2]).is_some());
        store.clear();
        assert_eq!((store.len(), store.find(ids[0]), store.get(keys[0]).is_none()), (0, None, true));
        store.trim();
        assert_eq!((store.entries.capacity(), store.ids.footprint()), (0, 0));
    }

    #[test]
    fn a_stream_is_closed_when_both_halves_have_ended() {
        let mut store = Store::new(Some(1), Ledger::default());
        for (number, (send, recv, closed)) in [
            (SendHalf::Open, RecvHalf::Open, false),
            (SendHalf::Ended, RecvHalf::Open, false),
            (SendHalf::Open, RecvHalf::Ended, false),
            (SendHalf::Ending, RecvHalf::Ended, false),
            (SendHalf::Ended, RecvHalf::Ended, true),
        ]
        .into_iter()
        .enumerate()
        {
            let key = store.insert(StreamId::new(2 * number as u32 + 1), (send, recv), 0, 0);
            assert_eq!(store.get(key).map(Stream::is_closed), Some(closed), "{send:?} {recv:?}");
        }
    }

    #[test]
    fn an_open_stream_stays_small() {
        assert!(size_of::<Stream>() <= 96, "{}", size_of::<Stream>());
    }
}
