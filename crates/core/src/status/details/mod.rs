//! Details of a failed call: messages beside code and text that programs can act on.
//!
//! A handler adds them with [`Status::with_detail`]; they travel as a `google.rpc.Status` in
//! `grpc-status-details-bin` (wire-rules 61); a caller asks for one by its type with [`Status::detail`], or for all
//! with [`Status::error_details`]. All types of google/rpc/error_details.proto are here; messages of one's own go
//! through their codec ([`Any::pack`]).
//!
//! ```
//! # use peregrine_core::Status;
//! # use peregrine_core::status::details::{BadRequest, Help};
//!
//! let status = Status::invalid_argument("the book cannot be added")
//!     .with_detail(BadRequest::field("book.title", "is empty").and("book.isbn", "has 12 digits"))
//!     .with_detail(Help::link("the rules", "https://shop.example/books"));
//!
//! let wrong = status.detail::<BadRequest>().unwrap();
//! assert_eq!(wrong.field_violations[1].field, "book.isbn");
//! ```

mod any;
mod lists;
mod rpc_status;
mod types;
mod wire;

pub use self::any::{Any, Detail};
pub use self::lists::{
    BadRequest, FieldViolation, Help, HelpLink, PreconditionFailure, PreconditionViolation, QuotaFailure,
    QuotaViolation,
};
pub use self::rpc_status::RpcStatus;
pub(super) use self::rpc_status::{Details, with_details};
pub use self::types::{DebugInfo, ErrorInfo, LocalizedMessage, RequestInfo, ResourceInfo, RetryInfo};

use std::fmt;

use crate::codec::NamedCodec;
use crate::status::Status;

impl Status {
    /// Adds a detail: a type of `google.rpc`, or a message of one's own as an [`Any`].
    ///
    /// Code and message of this status are sent along with its details, as they are when it is sent.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Any>) -> Self {
        self.inner.details.push(&detail.into());
        self
    }

    /// Adds several details.
    #[must_use]
    pub fn with_details<D: Into<Any>>(self, details: impl IntoIterator<Item = D>) -> Self {
        details.into_iter().fold(self, Self::with_detail)
    }

    /// The first detail of this type, if there is one that can be read.
    pub fn detail<D: Detail>(&self) -> Option<D> {
        self.detail_list().iter().find_map(|any| any.read()?.ok())
    }

    /// The first detail that is this message of one's own, read with its codec:
    /// `status.message_detail::<BuffaCodec, Shortage>()`.
    pub fn message_detail<C: NamedCodec<M>, M>(&self) -> Option<M> {
        self.detail_list().iter().find_map(|any| any.unpack::<C, M>()?.ok())
    }

    /// All details in order, encoded as they came.
    pub fn detail_list(&self) -> Vec<Any> {
        self.inner.details.list()
    }

    /// All details in order, those of `google.rpc` decoded.
    pub fn error_details(&self) -> Vec<ErrorDetail> {
        self.detail_list().into_iter().map(ErrorDetail::from).collect()
    }
}

/// A detail by its type.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorDetail {
    /// Why, for programs.
    ErrorInfo(ErrorInfo),
    /// When to try again.
    RetryInfo(RetryInfo),
    /// Where, for developers.
    DebugInfo(DebugInfo),
    /// Quotas that are used up.
    QuotaFailure(QuotaFailure),
    /// Conditions that do not hold.
    PreconditionFailure(PreconditionFailure),
    /// Fields that are wrong.
    BadRequest(BadRequest),
    /// Which request.
    RequestInfo(RequestInfo),
    /// Which resource.
    ResourceInfo(ResourceInfo),
    /// Where to read on.
    Help(Help),
    /// The text in the user's language.
    LocalizedMessage(LocalizedMessage),
    /// Of another type, or one of these that cannot be read.
    Other(Any),
}

macro_rules! each_type {
    ($($name:ident)*) => {
        impl From<Any> for ErrorDetail {
            fn from(any: Any) -> Self {
                let known = match any.type_name() {
                    $($name::TYPE_NAME => any.read().map(|read| read.map(Self::$name)),)*
                    _ => None,
                };
                match known {
                    Some(Ok(detail)) => detail,
                    _ => Self::Other(any),
                }
            }
        }

        impl From<ErrorDetail> for Any {
            fn from(detail: ErrorDetail) -> Self {
                match detail {
                    $(ErrorDetail::$name(detail) => detail.into(),)*
                    ErrorDetail::Other(any) => any,
                }
            }
        }

        /// As the detail itself does it: `BadRequest { .. }`.
        impl fmt::Debug for ErrorDetail {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(detail) => detail.fmt(f),)*
                    Self::Other(any) => any.fmt(f),
                }
            }
        }
    };
}

each_type! {
    ErrorInfo RetryInfo DebugInfo QuotaFailure PreconditionFailure BadRequest RequestInfo ResourceInfo Help
    LocalizedMessage
}

#[cfg(test)]
mod tests;
