//! Takes messages out of DATA bytes, however these are cut.

use crate::codec::Payload;
use crate::message::Encoding;
use crate::status::Status;

/// Bytes received and the messages in them.
#[derive(Debug)]
pub struct Deframer {
    bytes: Vec<u8>,
    /// Start of the first byte not yet handed out.
    head: usize,
    encoding: Encoding,
    max: usize,
}

impl Deframer {
    /// For messages of at most `max` bytes.
    pub fn new(encoding: Encoding, max: usize) -> Self {
        Self { bytes: Vec::new(), head: 0, encoding, max }
    }

    /// Appends received bytes.
    pub fn push(&mut self, _data: &[u8]) {
        todo!()
    }

    /// The next whole message, if it is there.
    ///
    /// # Errors
    /// The next prefix breaks a rule; see [`parse_prefix`](crate::message::parse_prefix).
    pub fn next_message(&mut self) -> Result<Option<Payload<'_>>, Status> {
        let _ = (&self.bytes, self.encoding, self.max, self.head);
        todo!()
    }

    /// Bytes held that belong to no message handed out.
    pub fn buffered(&self) -> usize {
        self.bytes.len() - self.head
    }
}
