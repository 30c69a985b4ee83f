//! `google.rpc.Status`: what `grpc-status-details-bin` holds (wire-rules 61).

use bytes::Bytes;

use super::any::{Any, Detail};
use super::wire::{Merge, Value, Writer, push_message, set_string};
use crate::codec::DecodeError;
use crate::status::{Code, Status};

/// A status as a protobuf message, for example one of the results of a batch.
///
/// ```
/// # use peregrine_core::Status;
/// # use peregrine_core::status::details::{ErrorInfo, RpcStatus};
///
/// let status = Status::not_found("no such book").with_detail(ErrorInfo::new("SOLD", "shop.example"));
/// let message = RpcStatus::from(&status);
/// assert_eq!((message.code, message.details.len()), (5, 1));
/// assert_eq!(Status::from(message).detail::<ErrorInfo>().unwrap().reason, "SOLD");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RpcStatus {
    /// Number of the code.
    pub code: i32,
    /// Text for people.
    pub message: String,
    /// More about it, for programs.
    pub details: Vec<Any>,
}

/// The details of a status, in the form in which they came.
#[derive(Clone, Debug)]
pub(in crate::status) enum Details {
    /// A whole `google.rpc.Status`, received or given so; nothing in most statuses. Kept as it is, so that a proxy
    /// passes on what it does not understand.
    Whole(Bytes),
    /// Only its `details` fields. Code and message are put before them when it is sent, so that they agree with
    /// `grpc-status` and `grpc-message` (61) whatever became of those meanwhile.
    Listed(Vec<u8>),
}

impl Details {
    pub(in crate::status) const NONE: Self = Self::Whole(Bytes::new());

    pub(in crate::status) fn is_empty(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Listed(fields) => fields.is_empty(),
        }
    }

    pub(super) fn push(&mut self, detail: &Any) {
        let mut writer = Writer::default();
        writer.message(DETAILS, &detail.encode());
        let field = writer.into_bytes();
        match self {
            Self::Whole(bytes) if bytes.is_empty() => *self = Self::Listed(field),
            // Encoded messages back to back are one with the fields of both.
            Self::Whole(bytes) => *bytes = [&bytes[..], &field].concat().into(),
            Self::Listed(fields) => fields.extend_from_slice(&field),
        }
    }

    /// The details one by one, as far as they can be read.
    pub(super) fn list(&self) -> Vec<Any> {
        let bytes = match self {
            Self::Whole(bytes) => &bytes[..],
            Self::Listed(fields) => fields,
        };
        let mut status = RpcStatus::default();
        // What is read before something broken is as good as ever.
        let _broken = status.merge(bytes);
        status.details
    }
}

/// The `google.rpc.Status` of a code and a message, with encoded `details` fields behind them.
pub(in crate::status) fn with_details(code: Code, message: &str, details: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.integer(CODE, i64::from(code.value()));
    writer.string(MESSAGE, message);
    let mut bytes = writer.into_bytes();
    bytes.extend_from_slice(details);
    bytes
}

impl Merge for RpcStatus {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            // Cut to 32 bits, as protobuf has it.
            (CODE, Value::Varint(code)) => self.code = code as i32,
            (MESSAGE, Value::Bytes(message)) => set_string(&mut self.message, message)?,
            (DETAILS, Value::Bytes(detail)) => push_message(&mut self.details, detail)?,
            _ => {}
        }
        Ok(())
    }
}

impl Detail for RpcStatus {
    const TYPE_NAME: &'static str = "google.rpc.Status";

    fn to_value(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.integer(CODE, i64::from(self.code));
        writer.string(MESSAGE, &self.message);
        for detail in &self.details {
            writer.message(DETAILS, &detail.encode());
        }
        writer.into_bytes()
    }

    fn from_value(value: &[u8]) -> Result<Self, DecodeError> {
        Self::from_bytes(value)
    }
}

impl From<&Status> for RpcStatus {
    fn from(status: &Status) -> Self {
        Self {
            code: status.code().value(),
            message: status.message().to_owned(),
            details: status.detail_list(),
        }
    }
}

/// A number without a code is UNKNOWN.
impl From<RpcStatus> for Status {
    fn from(message: RpcStatus) -> Self {
        Self::new(Code::from_i32(message.code), message.message).with_details(message.details)
    }
}

const CODE: u32 = 1;
const MESSAGE: u32 = 2;
const DETAILS: u32 = 3;
