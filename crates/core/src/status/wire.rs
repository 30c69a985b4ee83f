//! A status as header fields, both ways.

use crate::metadata::{MetadataMap, WireField};
use crate::status::{Code, Status};

/// The status fields of a received header block, borrowed from it.
///
/// The client feeds every field of the trailers; a successful status copies
/// nothing (wire-rules D3).
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusFields<'a> {
    code: Option<&'a [u8]>,
    message: Option<&'a [u8]>,
    details: Option<&'a [u8]>,
}

impl<'a> StatusFields<'a> {
    /// Takes note of a field if it is one of the three that make a status;
    /// true if it was. Of repeated fields the first counts.
    pub fn observe(&mut self, _name: &[u8], _value: &'a [u8]) -> bool {
        todo!()
    }

    /// Whether `grpc-status` was among the fields (wire-rules 54).
    pub fn is_present(&self) -> bool {
        self.code.is_some()
    }

    /// Whether the status is success.
    pub fn is_ok(&self) -> bool {
        self.code == Some(b"0")
    }

    /// The code; UNKNOWN if missing or unreadable (53).
    pub fn code(&self) -> Code {
        self.code.map_or(Code::Unknown, Code::from_wire)
    }

    /// The status, with the metadata that came in the same block. Details
    /// that are not base64 are dropped; the code is never lost (D4).
    pub fn to_status(&self, _metadata: MetadataMap) -> Status {
        todo!()
    }
}

/// The fields of a status to send: `grpc-status`, `grpc-message`,
/// `grpc-status-details-bin`, then the metadata.
#[derive(Clone, Debug)]
pub struct StatusWire<'a> {
    next: std::marker::PhantomData<&'a Status>,
}

impl<'a> Iterator for StatusWire<'a> {
    type Item = WireField<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

impl Status {
    /// The trailer fields of this status in order, what needs encoding being
    /// written to `scratch` first (it is cleared, and reserved once).
    pub fn wire_fields<'a>(&'a self, _scratch: &'a mut Vec<u8>) -> StatusWire<'a> {
        todo!()
    }
}
