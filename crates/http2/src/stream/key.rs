//! The handle by which the layers above name a stream.

use crate::StreamId;

/// Names one stream of one connection: a small index that is used again, with the id that never is.
///
/// A key outlives its stream harmlessly: commands with it fail or do nothing, they never reach the stream
/// that uses the index now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey {
    index: u32,
    id: StreamId,
}

impl StreamKey {
    pub(crate) const fn new(index: u32, id: StreamId) -> Self {
        StreamKey { index, id }
    }

    /// Small and dense: below the largest number of streams that were ever open at once. Use it to index a
    /// table of your own; a new stream may get the index of one that is gone.
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The stream's id on the wire.
    pub const fn id(self) -> StreamId {
        self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_index_and_the_id() {
        let key = StreamKey::new(3, StreamId::new(9));
        assert_eq!((key.index(), key.id()), (3, StreamId::new(9)));
    }
}
