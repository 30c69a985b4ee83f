//! Bodies that hold exactly one message: requests of unary and
//! server-streaming calls, responses of unary and client-streaming calls.

use crate::codec::Payload;
use crate::message::{Deframer, Encoding};
use crate::status::Status;

/// The one message of a complete body: the fast path for a body that arrived
/// in one piece.
///
/// # Errors
/// The table "Malformed bodies" of the wire rules.
pub fn single_message(_body: &[u8], _encoding: Encoding, _max: usize) -> Result<Payload<'_>, Status> {
    todo!()
}

/// Collects a body that arrives in several pieces; equal to [`single_message`]
/// for every way of cutting it (wire-rules M2, M3).
#[derive(Debug)]
pub struct UnaryBody {
    deframer: Deframer,
}

impl UnaryBody {
    /// For a message of at most `max` bytes.
    pub fn new(encoding: Encoding, max: usize) -> Self {
        Self { deframer: Deframer::new(encoding, max) }
    }

    /// Appends received bytes.
    ///
    /// # Errors
    /// As soon as the body is known to be wrong, for example at the prefix of a
    /// message over the limit (wire-rules 42).
    pub fn push(&mut self, data: &[u8]) -> Result<(), Status> {
        self.deframer.push(data);
        todo!()
    }

    /// The body is complete.
    ///
    /// # Errors
    /// The table "Malformed bodies" of the wire rules.
    pub fn finish(&mut self) -> Result<Payload<'_>, Status> {
        todo!()
    }
}
