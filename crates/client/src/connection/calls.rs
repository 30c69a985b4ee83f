//! The calls of a connection: a slab by call id, and the way from a stream to its call.
//!
//! A stream's index is free for the next stream as soon as the stream ends; a call's answer lies in its slot until
//! the caller takes it. So the two have indices of their own.

use peregrine_http2::StreamKey;

/// Names a call of one connection. Stale ids find nothing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct CallId {
    index: u32,
    generation: u32,
}

impl CallId {
    #[cfg(test)]
    pub(crate) fn from_parts(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }
}

/// Calls by id and by stream.
#[derive(Debug)]
pub(super) struct Calls<T> {
    slots: Vec<Slot<T>>,
    /// Indices of vacant slots.
    vacant: Vec<u32>,
    /// By [`StreamKey::index`]: the stream that uses the index, and its call.
    streams: Vec<Option<(StreamKey, CallId)>>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    call: Option<T>,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), vacant: Vec::new(), streams: Vec::new() }
    }
}

impl<T> Calls<T> {
    /// Adds the call of a new stream.
    #[inline]
    pub(super) fn insert(&mut self, stream: StreamKey, call: T) -> CallId {
        let id = if let Some(index) = self.vacant.pop() {
            let slot = &mut self.slots[index as usize];
            slot.call = Some(call);
            CallId { index, generation: slot.generation }
        } else {
            // Bounded by the streams of one connection, below 2^31.
            let index = self.slots.len() as u32;
            self.slots.push(Slot { generation: 0, call: Some(call) });
            CallId { index, generation: 0 }
        };
        let index = stream.index();
        if index >= self.streams.len() {
            self.streams.resize(index + 1, None);
        }
        self.streams[index] = Some((stream, id));
        id
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
    pub(super) fn of_stream_mut(&mut self, stream: StreamKey) -> Option<(CallId, &mut T)> {
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

    #[inline]
    pub(super) fn get(&self, id: CallId) -> Option<&T> {
        let slot = self.slots.get(id.index as usize)?;
        if slot.generation == id.generation { slot.call.as_ref() } else { None }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation == id.generation { slot.call.as_mut() } else { None }
    }

    #[inline]
    pub(super) fn remove(&mut self, id: CallId) -> Option<T> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation != id.generation {
            return None;
        }
        let call = slot.call.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.vacant.push(id.index);
        Some(call)
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
