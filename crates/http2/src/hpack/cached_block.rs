//! An encoded block kept for reuse.

/// A field block encoded once per state of an encoder's table. Safe to use with several connections in turn,
/// though it then holds the block of the last one only.
#[derive(Debug, Default)]
pub struct CachedBlock {}
