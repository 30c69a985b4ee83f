//! Names that are the protocol's own (wire-rules 20, D3, H2).

/// Whether a user's entry of this name is dropped when a header block is written.
pub fn is_reserved_on_send(_name: &[u8]) -> bool {
    todo!()
}

/// Whether a received field of this name stays out of the user's metadata.
pub fn is_reserved_on_receipt(_name: &[u8]) -> bool {
    todo!()
}
