//! Metadata that many calls have in common: those whose peer repeats the same header block.

use std::ops::Deref;
use std::sync::Arc;

use crate::metadata::MetadataMap;

/// A [`MetadataMap`] that a call has for itself, or shares with others until it changes it.
///
/// The engine decodes a header block that comes again only once, and what is made of it is shared: a call whose
/// metadata is what the call before had allocates nothing for it, however much it is (wire-rules H1).
#[derive(Debug)]
pub struct SharedMetadata(State);

#[derive(Debug)]
enum State {
    Own(MetadataMap),
    Shared(Arc<MetadataMap>),
}

impl SharedMetadata {
    /// No metadata; allocates nothing.
    #[inline]
    pub const fn new() -> Self {
        Self(State::Own(MetadataMap::new()))
    }

    /// The map, to change; copied first if others share it.
    pub fn make_mut(&mut self) -> &mut MetadataMap {
        if let State::Shared(shared) = &mut self.0 {
            let shared = std::mem::take(shared);
            self.0 = State::Own(Arc::unwrap_or_clone(shared));
        }
        match &mut self.0 {
            State::Own(metadata) => metadata,
            State::Shared(_) => unreachable!("made the call's own just above"),
        }
    }

    /// The map, to be shared with others.
    pub fn into_shared(self) -> Arc<MetadataMap> {
        match self.0 {
            State::Own(metadata) => Arc::new(metadata),
            State::Shared(metadata) => metadata,
        }
    }

    /// The map, copied if others share it.
    pub fn into_own(self) -> MetadataMap {
        match self.0 {
            State::Own(metadata) => metadata,
            State::Shared(metadata) => Arc::unwrap_or_clone(metadata),
        }
    }
}

impl Deref for SharedMetadata {
    type Target = MetadataMap;

    #[inline]
    fn deref(&self) -> &MetadataMap {
        match &self.0 {
            State::Own(metadata) => metadata,
            State::Shared(metadata) => metadata,
        }
    }
}

impl Default for SharedMetadata {
    fn default() -> Self {
        Self::new()
    }
}

impl From<MetadataMap> for SharedMetadata {
    fn from(metadata: MetadataMap) -> Self {
        Self(State::Own(metadata))
    }
}

impl From<Arc<MetadataMap>> for SharedMetadata {
    fn from(metadata: Arc<MetadataMap>) -> Self {
        Self(State::Shared(metadata))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_metadata_is_copied_by_the_one_that_changes_it() {
        let mut map = MetadataMap::new();
        map.insert("k", "v").unwrap();
        let shared = Arc::new(map);
        let (mut one, other) =
            (SharedMetadata::from(Arc::clone(&shared)), SharedMetadata::from(Arc::clone(&shared)));
        one.make_mut().insert("k", "changed").unwrap();
        assert_eq!((one.get("k"), other.get("k"), shared.get("k")), (Some("changed"), Some("v"), Some("v")));
        assert_eq!(other.into_own(), *shared);
        assert_eq!(one.into_own().get("k"), Some("changed"));
    }

    #[test]
    fn the_last_to_share_it_takes_it_over() {
        let mut map = MetadataMap::new();
        map.insert("k", "v").unwrap();
        let mut last = SharedMetadata::from(Arc::new(map));
        let at = last.get("k").unwrap().as_ptr();
        assert_eq!(last.make_mut().get("k").unwrap().as_ptr(), at);
    }
}
