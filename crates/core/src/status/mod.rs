//! How a call ended: [`Status`] and its [`Code`].
//!
//! Handlers return a status as their error, the server writes it into
//! trailers ([`Status::wire_fields`]), the client reads it back
//! ([`StatusFields`]).

mod code;
mod convert;
pub mod percent;
mod wire;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

pub use crate::status::code::Code;
pub use crate::status::wire::{StatusFields, StatusWire};

use crate::metadata::MetadataMap;
use crate::report;

/// How a call ended: code, message, and optionally details, metadata and a
/// local cause. One word wide, so that `Result<T, Status>` stays small
/// (wire-rules D1).
///
/// `Display` is one line; `Debug` is the full report with all causes. The
/// cause never leaves the process.
///
/// # Conversions with `?`
/// [`peregrine_core::Error`](crate::Error) becomes UNAVAILABLE,
/// [`DecodeError`](crate::DecodeError) INTERNAL, [`EncodeError`](crate::EncodeError)
/// RESOURCE_EXHAUSTED for a message over the limit, CANCELLED for a call that
/// has ended, else INTERNAL, [`InvalidMetadata`](crate::InvalidMetadata)
/// INTERNAL, and `Infallible` nothing. There is no blanket conversion, and none
/// from `std::io::Error`: neither its code nor its text is meant for a peer.
#[derive(Clone)]
pub struct Status {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    code: Code,
    message: Cow<'static, str>,
    details: Bytes,
    /// Allocated on demand (D1); kept as given, even if empty (D2).
    metadata: Option<Box<MetadataMap>>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Status {
    /// A status of any code.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let inner =
            Inner { code, message: message.into(), details: Bytes::new(), metadata: None, source: None };
        Self { inner: Box::new(inner) }
    }

    /// A status that carries `metadata` as its trailers; the map is kept as it
    /// is, reserved capacity included (D2).
    pub fn with_code_and_metadata(
        code: Code,
        message: impl Into<Cow<'static, str>>,
        metadata: MetadataMap,
    ) -> Self {
        Self::new(code, message).with_metadata(metadata)
    }

    /// Success. Only for trailers: as the error of a handler it is refused
    /// ([`Self::refuse_ok`]).
    pub fn ok() -> Self {
        Self::new(Code::Ok, "")
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.inner.code
    }

    /// The text for people; may be empty.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// An encoded `google.rpc.Status`, or empty (wire-rules 61).
    pub fn details(&self) -> &[u8] {
        &self.inner.details
    }

    /// Metadata sent or received with the status, in trailers.
    pub fn metadata(&self) -> &MetadataMap {
        static EMPTY: MetadataMap = MetadataMap::new();
        self.inner.metadata.as_deref().unwrap_or(&EMPTY)
    }

    /// The same, to change; allocates on first use.
    pub fn metadata_mut(&mut self) -> &mut MetadataMap {
        self.inner.metadata.get_or_insert_default()
    }

    /// Replaces the metadata; the map is kept as it is (D2).
    #[must_use]
    pub fn with_metadata(mut self, metadata: MetadataMap) -> Self {
        self.inner.metadata = Some(Box::new(metadata));
        self
    }

    /// Replaces the details with an encoded `google.rpc.Status`.
    #[must_use]
    pub fn with_details_bytes(mut self, details: impl Into<Bytes>) -> Self {
        self.inner.details = details.into();
        self
    }

    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.inner.message = message.into();
        self
    }

    /// Remembers the cause. It shows in `Debug` and `source()` and is not sent.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.inner.source = Some(Arc::from(source.into()));
        self
    }

    /// The status a handler's error stands for: itself, but INTERNAL if it
    /// says OK, which no error can (wire-rules E1).
    #[must_use]
    pub fn refuse_ok(mut self) -> Self {
        if self.inner.code == Code::Ok {
            self.inner.code = Code::Internal;
            self.inner.message = Cow::Borrowed("the handler returned status OK as an error");
        }
        self
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        /// One constructor per error code.
        impl Status {
            $($(#[$doc])*
            pub fn $name(message: impl Into<Cow<'static, str>>) -> Self {
                Self::new(Code::$code, message)
            })*
        }
    };
}

constructors! {
    /// CANCELLED: the caller gave up.
    cancelled => Cancelled;
    /// UNKNOWN: an error without a known code.
    unknown => Unknown;
    /// INVALID_ARGUMENT: wrong whatever the state of the system.
    invalid_argument => InvalidArgument;
    /// DEADLINE_EXCEEDED: out of time.
    deadline_exceeded => DeadlineExceeded;
    /// NOT_FOUND: no such entity.
    not_found => NotFound;
    /// ALREADY_EXISTS: the entity to create is there.
    already_exists => AlreadyExists;
    /// PERMISSION_DENIED: the caller is known and may not.
    permission_denied => PermissionDenied;
    /// RESOURCE_EXHAUSTED: a quota, a limit or the disk is used up.
    resource_exhausted => ResourceExhausted;
    /// FAILED_PRECONDITION: wrong in the present state; do not retry as it is.
    failed_precondition => FailedPrecondition;
    /// ABORTED: a conflict; retry at a higher level.
    aborted => Aborted;
    /// OUT_OF_RANGE: past the valid range, for example past the end.
    out_of_range => OutOfRange;
    /// UNIMPLEMENTED: no such method or feature.
    unimplemented => Unimplemented;
    /// INTERNAL: an invariant is broken.
    internal => Internal;
    /// UNAVAILABLE: not now; retry with backoff.
    unavailable => Unavailable;
    /// DATA_LOSS: unrecoverable loss or corruption.
    data_loss => DataLoss;
    /// UNAUTHENTICATED: no valid credentials.
    unauthenticated => Unauthenticated;
}

impl Error for Status {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as _)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code().name())?;
        if self.message().is_empty() { Ok(()) } else { write!(f, ": {}", self.message()) }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        if !self.details().is_empty() {
            write!(f, "\n  details: {} bytes", self.details().len())?;
        }
        for (name, value) in self.metadata() {
            write!(f, "\n  metadata: {name}: {value:?}")?;
        }
        report::write_causes(f, self.source())
    }
}
