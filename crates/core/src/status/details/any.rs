//! A message of any type with its name: what the details of a status are made of.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use super::wire::{Merge, Value, Writer, set_string};
use crate::codec::{DecodeError, DecodeLimits, EncodeError, NamedCodec, Payload};
use crate::message::{FrameBuf, MAX_MESSAGE_LEN, PREFIX_LEN};

/// An encoded message together with the name of its type: `google.protobuf.Any`.
///
/// ```
/// # use peregrine_core::status::details::{Any, ErrorInfo};
///
/// let any = Any::from(ErrorInfo::new("OUT_OF_STOCK", "shop.example"));
/// assert_eq!(any.type_name(), "google.rpc.ErrorInfo");
/// assert_eq!(any.read::<ErrorInfo>().unwrap().unwrap().reason, "OUT_OF_STOCK");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Any {
    /// A prefix, a slash and the full name of the type: `type.googleapis.com/google.rpc.ErrorInfo`.
    pub type_url: String,
    /// The encoded message.
    pub value: Bytes,
}

/// A message that can be a detail of a status. The types of `google.rpc` are; a type of one's own becomes an [`Any`]
/// through its codec ([`Any::pack`]), or by implementing this.
pub trait Detail: Sized {
    /// Full name of the message: `google.rpc.ErrorInfo`.
    const TYPE_NAME: &'static str;

    /// The encoded message.
    fn to_value(&self) -> Vec<u8>;

    /// Reads an encoded message. Fields that the type does not know are dropped.
    ///
    /// # Errors
    /// The bytes are no such message.
    fn from_value(value: &[u8]) -> Result<Self, DecodeError>;
}

impl Any {
    /// A message of the type called `type_name`, already encoded.
    pub fn new(type_name: &str, value: impl Into<Bytes>) -> Self {
        Self { type_url: format!("{PREFIX}{type_name}"), value: value.into() }
    }

    /// Encodes a message of one's own with its codec: `Any::pack::<BuffaCodec, _>(&message)`.
    ///
    /// # Errors
    /// The codec's.
    pub fn pack<C: NamedCodec<M>, M>(message: &M) -> Result<Self, EncodeError> {
        let mut framed = FrameBuf::new();
        framed.encode::<C, M>(message, MAX_MESSAGE_LEN)?;
        let mut value = Vec::with_capacity(framed.len());
        for chunk in framed.chunks() {
            value.extend_from_slice(chunk);
        }
        Ok(Self::new(&C::message_name(), Bytes::from(value).slice(PREFIX_LEN..)))
    }

    /// Decodes a message of one's own with its codec; `None` if this is of another type.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn unpack<C: NamedCodec<M>, M>(&self) -> Option<Result<M, DecodeError>> {
        let name: Cow<'static, str> = C::message_name();
        self.is_of(&name).then(|| C::decode(Payload::Borrowed(&self.value), &DecodeLimits::default()))
    }

    /// Decodes a [`Detail`]; `None` if this is of another type.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn read<D: Detail>(&self) -> Option<Result<D, DecodeError>> {
        self.is_of(D::TYPE_NAME).then(|| D::from_value(&self.value))
    }

    /// Full name of the message's type: the URL from its last slash on.
    pub fn type_name(&self) -> &str {
        self.type_url.rsplit('/').next().unwrap_or_default()
    }

    fn is_of(&self, type_name: &str) -> bool {
        self.type_name() == type_name
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.string(1, &self.type_url);
        if !self.value.is_empty() {
            writer.message(2, &self.value);
        }
        writer.into_bytes()
    }
}

impl Merge for Any {
    fn take(&mut self, number: u32, value: Value<'_>) -> Result<(), DecodeError> {
        match (number, value) {
            (1, Value::Bytes(url)) => set_string(&mut self.type_url, url),
            (2, Value::Bytes(bytes)) => {
                self.value = Bytes::copy_from_slice(bytes);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl<D: Detail> From<D> for Any {
    fn from(detail: D) -> Self {
        Self::new(D::TYPE_NAME, detail.to_value())
    }
}

impl fmt::Debug for Any {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(b\"{}\")", self.type_name(), self.value.escape_ascii())
    }
}

/// What every implementation puts before the name.
const PREFIX: &str = "type.googleapis.com/";
