//! The documented list of errors that `?` turns into a status (wire-rules E1),
//! and the statuses of foreign failures.

use std::convert::Infallible;
use std::error::Error as StdError;

use crate::codec::{DecodeError, EncodeError, EncodeErrorKind};
use crate::error::{Error, Phase};
use crate::metadata::InvalidMetadata;
use crate::status::{Code, Status};

impl Status {
    /// The status of a stream that the peer reset.
    // wire-rules 65 to 70
    pub fn from_reset(error_code: u32) -> Self {
        Self::new(Code::from_reset(error_code), format!("peer reset the stream (HTTP/2 error {error_code})"))
    }

    /// The status of a response without `grpc-status`.
    // wire-rules 55
    pub fn from_http_status(status: u16) -> Self {
        Self::new(
            Code::from_http_status(status),
            format!("peer answered HTTP status {status} without a grpc-status"),
        )
    }
}

impl Status {
    /// The status that an error of any type stands for: the status itself if it is one or an [`Error`] around one,
    /// what `?` makes of the other types that it converts. Of any other error, code, details and metadata are those of
    /// the nearest status among its causes, or UNKNOWN; the error's own text becomes the message, and the error the
    /// source.
    ///
    /// The text goes to the caller. Where that is not meant, say what it may read:
    /// `Status::internal("..").with_source(error)`.
    ///
    /// ```
    /// # use peregrine_core::{Code, Status};
    /// let status = Status::from_error("seven is not prime enough".parse::<u64>().unwrap_err());
    /// assert_eq!((status.code(), status.message()), (Code::Unknown, "invalid digit found in string"));
    /// ```
    // wire-rules 64, E1
    pub fn from_error(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let error = error.into();
        let error = match error.downcast::<Self>() {
            Ok(status) => return *status,
            Err(error) => error,
        };
        let error = match error.downcast::<Error>() {
            Ok(error) => return (*error).into(),
            Err(error) => error,
        };
        let error = match error.downcast::<DecodeError>() {
            Ok(error) => return (*error).into(),
            Err(error) => error,
        };
        let error = match error.downcast::<EncodeError>() {
            Ok(error) => return (*error).into(),
            Err(error) => error,
        };
        match error.downcast::<InvalidMetadata>() {
            Ok(error) => (*error).into(),
            Err(error) => Self::from_chain(&*error)
                .unwrap_or_else(|| Self::unknown(""))
                .with_message(error.to_string())
                .with_source(error),
        }
    }

    /// A copy of the status that lies nearest among the causes of `error`.
    fn from_chain(error: &(dyn StdError + 'static)) -> Option<Self> {
        let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
        causes.find_map(|cause| match cause.downcast_ref::<Self>() {
            Some(status) => Some(status.clone()),
            None => cause.downcast_ref::<Error>()?.status().cloned(),
        })
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        if let Some(status) = error.status() {
            return status.clone();
        }
        let code = if error.phase() == Phase::Config { Code::Internal } else { Code::Unavailable };
        Self::new(code, error.to_string()).with_source(error)
    }
}

impl From<DecodeError> for Status {
    fn from(error: DecodeError) -> Self {
        Self::internal(error.to_string()).with_source(error)
    }
}

impl From<EncodeError> for Status {
    fn from(error: EncodeError) -> Self {
        let code = match error.kind() {
            EncodeErrorKind::TooLarge { .. } => Code::ResourceExhausted,
            EncodeErrorKind::Closed => Code::Cancelled,
            EncodeErrorKind::SizeMismatch { .. } | EncodeErrorKind::Codec { .. } => Code::Internal,
        };
        Self::new(code, error.to_string()).with_source(error)
    }
}

impl From<InvalidMetadata> for Status {
    fn from(error: InvalidMetadata) -> Self {
        Self::internal(error.to_string()).with_source(error)
    }
}

impl From<Infallible> for Status {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
