//! The calls of a connection: a slab by call id, and the way from a stream to its call.
//!
//! A stream's index is free for the next stream as soon as the stream ends; a call's answer lies in its slot until
//! the caller takes it. So the two have indices of their own.

use peregrine_http2::StreamKey;

use super::call::{Call, Sink};

/// Names a call of one connection. Stale ids find nothing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct CallId {
    pub(super) index: u32,
    generation: u32,
}

impl CallId {
    #[cfg(test)]
    pub(crate) fn from_parts(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }
}

/// Calls by id and by stream.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// Indices of vacant slots.
    vacant: Vec<u32>,
    /// By [`StreamKey::index`]: the stream that uses the index, and its call.
    streams: Vec<Option<(StreamKey, CallId)>>,
}

/// A place for a call, used again in place.
#[derive(Debug)]
struct Slot {
    generation: u32,
    call: Call,
}

impl Calls {
    /// Takes a place for the call of a new stream. What is found there is what the call before has left behind.
    #[inline]
    pub(super) fn open(&mut self, stream: StreamKey) -> (CallId, &mut Call) {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, call: Call::new(stream) });
            // Bounded by the streams of one connection, below 2^31.
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let id = CallId { index, generation: slot.generation };
        slot.call.stream = stream;
        let at = stream.index();
        if at >= self.streams.len() {
            self.streams.resize(at + 1, None);
        }
        self.streams[at] = Some((stream, id));
        (id, &mut slot.call)
    }

    /// The call of a stream that has not been detached.
    #[inline]
    pub(super) fn of_stream(&self, stream: StreamKey) -> Option<CallId> {
        match self.streams.get(stream.index()) {
            Some(Some((key, id))) if *key == stream => Some(*id),
            _ => None,
        }
    }

    /// As [`of_stream`](Self::of_stream), with the call itself.
    #[inline]
    pub(super) fn of_stream_mut(&mut self, stream: StreamKey) -> Option<(CallId, &mut Call)> {
        let id = self.of_stream(stream)?;
        Some((id, self.get_mut(id)?))
    }

    /// Forgets the stream; the call stays until it is removed.
    #[inline]
    pub(super) fn detach(&mut self, stream: StreamKey) {
        if self.of_stream(stream).is_some() {
            self.streams[stream.index()] = None;
        }
    }

    /// The call with this id, unless it was removed.
    #[inline]
    pub(super) fn get(&self, id: CallId) -> Option<&Call> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then_some(&slot.call)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call> {
        let slot = self.slots.get_mut(id.index as usize)?;
        (slot.generation == id.generation).then_some(&mut slot.call)
    }

    /// Makes the place of a call free whose response was taken out of it.
    #[inline]
    pub(super) fn vacate(&mut self, id: CallId) {
        if let Some(slot) = self.slots.get_mut(id.index as usize)
            && slot.generation == id.generation
        {
            // A vacant slot has a generation that no id has had yet.
            slot.generation = slot.generation.wrapping_add(1);
            self.vacant.push(id.index);
        }
    }

    /// Takes a call out: what is worth keeping of it is its sink.
    pub(super) fn remove(&mut self, id: CallId) -> Option<Sink> {
        let sink = std::mem::take(&mut self.get_mut(id)?.sink);
        self.vacate(id);
        Some(sink)
    }

    /// The calls whose streams have not been detached.
    pub(super) fn attached(&self) -> Vec<CallId> {
        self.streams.iter().flatten().map(|(_, id)| *id).collect()
    }

    /// Calls in the slab, answered ones included.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }
}
