//! How a call ended: [`Status`] and its [`Code`].
//!
//! Handlers return a status as their error, the server writes it into
//! trailers ([`Status::wire_fields`]), the client reads it back
//! ([`StatusFields`]).

mod code;
mod convert;
pub mod details;
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
use crate::status::details::Details;

/// How a call ended: code, message, and optionally details, metadata and a local cause. One word wide, so that
/// `Result<T, Status>` stays small.
///
/// `Display` is one line; `Debug` is the full report with all causes. The
/// cause never leaves the process.
///
/// # Conversions with `?`
/// [`peregrine_core::Error`](crate::Error) becomes UNAVAILABLE (INTERNAL for a
/// mistake in the configuration, and the status itself if it holds one),
/// [`DecodeError`](crate::DecodeError) INTERNAL, [`EncodeError`](crate::EncodeError)
/// RESOURCE_EXHAUSTED for a message over the limit, CANCELLED for a call that
/// has ended, else INTERNAL, [`InvalidMetadata`](crate::InvalidMetadata)
/// INTERNAL, and `Infallible` nothing. There is no blanket conversion, and none
/// from `std::io::Error`: neither its code nor its text is meant for a peer.
// wire-rules D1
#[derive(Clone)]
pub struct Status {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    code: Code,
    message: Cow<'static, str>,
    details: Details,
    /// Allocated on demand (D1); kept as given, even if empty (D2).
    metadata: Option<Box<MetadataMap>>,
    /// What came before the failure, shared with the calls that received the same.
    initial_metadata: MetadataMap,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Status {
    /// A status of any code.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let inner = Inner {
            code,
            message: message.into(),
            details: Details::NONE,
            metadata: None,
            initial_metadata: MetadataMap::new(),
            source: None,
        };
        Self { inner: Box::new(inner) }
    }

    /// A status that carries `metadata` as its trailers; the map is kept as it is, reserved capacity included.
    // wire-rules D2
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

    /// An encoded `google.rpc.Status`, or empty. [`Self::detail`] and [`Self::error_details`] read what is in it.
    // wire-rules 61
    pub fn details(&self) -> Cow<'_, [u8]> {
        match &self.inner.details {
            Details::Whole(bytes) => Cow::Borrowed(bytes),
            Details::Listed(fields) => Cow::Owned(details::with_details(self.code(), self.message(), fields)),
        }
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

    /// Replaces the metadata; the map is kept as it is.
    // wire-rules D2
    #[must_use]
    pub fn with_metadata(mut self, metadata: MetadataMap) -> Self {
        self.inner.metadata = Some(Box::new(metadata));
        self
    }

    /// On a client, of a call with one response: the initial metadata that the peer had sent before the call failed;
    /// empty if it sent none, or only trailers. A stream of responses has its own, in
    /// [`Streaming::headers`](crate::Streaming::headers). On a server it is not sent.
    // wire-rules 62, 97
    pub fn initial_metadata(&self) -> &MetadataMap {
        &self.inner.initial_metadata
    }

    /// Sets the initial metadata; done by the client.
    #[must_use]
    pub fn with_initial_metadata(mut self, metadata: MetadataMap) -> Self {
        self.inner.initial_metadata = metadata;
        self
    }

    /// Replaces the details with an encoded `google.rpc.Status`, sent as it is: its code should be that of this
    /// status.
    // wire-rules 61
    #[must_use]
    pub fn with_details_bytes(mut self, details: impl Into<Bytes>) -> Self {
        self.inner.details = Details::Whole(details.into());
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

    /// Puts what is known of the call above the cause: `call` becomes the source of this status, and what was its
    /// source the source of `call`. Done by the client.
    #[must_use]
    pub fn in_call(mut self, call: crate::Error) -> Self {
        let cause = self.inner.source.take();
        self.inner.source = Some(Arc::new(call.with_shared_source(cause)));
        self
    }

    /// The status a handler's error stands for: itself, but INTERNAL if it says OK, which no error can.
    // wire-rules E1
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
        let headline = self.to_string();
        f.write_str(&headline)?;
        if !self.inner.details.is_empty() {
            self.write_details(f)?;
        }
        if !self.metadata().is_empty() {
            write!(f, "\n  metadata: {:?}", self.metadata())?;
        }
        if !self.initial_metadata().is_empty() {
            write!(f, "\n  initial metadata: {:?}", self.initial_metadata())?;
        }
        report::Report { headline: &headline, hint: None }.write_causes(f, self.source())
    }
}

impl Status {
    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = self.error_details();
        if details.is_empty() {
            return write!(f, "\n  details: {} bytes", self.details().len());
        }
        details.iter().try_for_each(|detail| write!(f, "\n  detail: {detail:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, EncodeError};

    // wire-rules D1
    #[test]
    fn a_status_is_one_word_and_metadata_comes_on_demand() {
        assert_eq!(size_of::<Status>(), size_of::<usize>());
        assert_eq!(size_of::<Result<(), Status>>(), size_of::<usize>());
        let mut status = Status::internal("x");
        assert!(status.inner.metadata.is_none());
        assert!(status.metadata().is_empty());
        assert!(status.inner.metadata.is_none(), "reading allocates nothing");
        status.metadata_mut().append("a", "1").unwrap();
        let mut copy = status.clone();
        copy.metadata_mut().append("a", "2").unwrap();
        assert_eq!(status.metadata().len(), 1, "clones are independent");
    }

    // wire-rules D2
    #[test]
    fn a_given_map_is_kept_with_its_capacity() {
        let map = MetadataMap::with_capacity(7, 900);
        let status = Status::with_code_and_metadata(Code::Aborted, "", map);
        assert!(status.inner.metadata.is_some(), "even if it is empty");
        assert!(status.inner.metadata.as_ref().unwrap().capacity() >= (7, 900));
        // Also in place of one that is there, and through everything else that is said of the status.
        let mut status = Status::aborted("");
        status.metadata_mut().append("a", "1").unwrap();
        let status = status
            .with_metadata(MetadataMap::with_capacity(7, 900))
            .with_message("x")
            .with_details_bytes(vec![1])
            .with_source(std::io::Error::other("y"));
        assert!(status.metadata().is_empty() && status.metadata().capacity() >= (7, 900));
    }

    #[test]
    fn a_status_crosses_threads() {
        fn shared<T: Clone + Send + Sync + Error + 'static>() {}
        shared::<Status>();
        shared::<crate::Error>();
    }

    #[test]
    fn every_code_has_its_constructor() {
        let made = [
            Status::ok(),
            Status::cancelled(""),
            Status::unknown(""),
            Status::invalid_argument(""),
            Status::deadline_exceeded(""),
            Status::not_found(""),
            Status::already_exists(""),
            Status::permission_denied(""),
            Status::resource_exhausted(""),
            Status::failed_precondition(""),
            Status::aborted(""),
            Status::out_of_range(""),
            Status::unimplemented(""),
            Status::internal(""),
            Status::unavailable(""),
            Status::data_loss(""),
            Status::unauthenticated(""),
        ];
        assert_eq!(made.map(|status| status.code()), Code::ALL);
    }

    // wire-rules E1
    #[test]
    fn ok_is_refused_as_an_error() {
        assert_eq!(Status::ok().refuse_ok().code(), Code::Internal);
        let status = Status::not_found("x").refuse_ok();
        assert_eq!((status.code(), status.message()), (Code::NotFound, "x"));
    }

    #[test]
    fn display_is_one_line_and_debug_the_full_report() {
        let cause = std::io::Error::other("disk is full");
        let mut status = Status::unavailable("no room").with_details_bytes(vec![0; 12]).with_source(
            crate::Error::new(crate::Phase::Connect, "refused")
                .with_peer("[::1]:9")
                .with_attempt(2)
                .with_hint("start the server")
                .with_source(cause),
        );
        status.metadata_mut().append("retry", "later").unwrap();
        assert_eq!(status.to_string(), "UNAVAILABLE: no room");
        assert_eq!(Status::cancelled("").to_string(), "CANCELLED");
        assert_eq!(
            format!("{status:?}"),
            "UNAVAILABLE: no room\n  details: 12 bytes\n  metadata: {\"retry\": \"later\"}\n  \
             caused by: could not connect to [::1]:9: refused\n  phase: connect\n  attempt: 2\n  \
             caused by: disk is full\n  next step: start the server"
        );
    }

    #[test]
    fn what_is_known_of_a_call_stands_between_its_status_and_the_cause() {
        let call = crate::Error::new(crate::Phase::Call, "")
            .with_shared_peer("[::1]:9".into())
            .with_attempt(2)
            .with_elapsed(std::time::Duration::from_millis(150))
            .with_hint("try again");
        let status = Status::data_loss("no more").with_source(std::io::Error::other("disk is gone"));
        assert_eq!(
            format!("{:?}", status.in_call(call)),
            "DATA_LOSS: no more\n  peer: [::1]:9\n  phase: call\n  attempt: 2\n  after: 150.0ms\n  \
             caused by: disk is gone\n  next step: try again"
        );
    }

    #[test]
    fn the_documented_errors_convert() {
        let cases: [(Status, Code); 8] = [
            (crate::Error::new(crate::Phase::Config, "x").into(), Code::Internal),
            (crate::Error::new(crate::Phase::Tls, "x").into(), Code::Unavailable),
            (DecodeError::new("x").into(), Code::Internal),
            (EncodeError::too_large(5, 4).into(), Code::ResourceExhausted),
            (EncodeError::size_mismatch(5, 4).into(), Code::Internal),
            (EncodeError::codec("x").into(), Code::Internal),
            (EncodeError::closed().into(), Code::Cancelled),
            (MetadataMap::new().insert("", "").unwrap_err().into(), Code::Internal),
        ];
        for (status, code) in cases {
            assert_eq!(status.code(), code);
            assert!(!status.message().is_empty());
            assert!(status.source().is_some(), "the cause is kept");
        }
    }

    // wire-rules 64, E1
    #[test]
    fn an_error_of_any_type_is_unknown_unless_it_is_known() {
        let io = || std::io::Error::other("disk is full");
        let cases: [(Box<dyn Error + Send + Sync>, Code, &str); 6] = [
            (Box::new(Status::not_found("gone")), Code::NotFound, "gone"),
            (Box::new(crate::Error::from(Status::aborted("again"))), Code::Aborted, "again"),
            (Box::new(DecodeError::new("x")), Code::Internal, "message cannot be decoded: x"),
            (Box::new(EncodeError::closed()), Code::Cancelled, "call has ended, nothing more can be sent"),
            (Box::new(io()), Code::Unknown, "disk is full"),
            ("words".into(), Code::Unknown, "words"),
        ];
        for (error, code, message) in cases {
            let status = Status::from_error(error);
            assert_eq!((status.code(), status.message()), (code, message));
        }
        let status = Status::from_error(io());
        assert!(status.source().is_some_and(<dyn Error>::is::<std::io::Error>));
    }

    // wire-rules 64: what somebody else answered is not lost when an error of one's own is put around it.
    #[test]
    fn an_error_around_a_status_has_its_code_and_details() {
        #[derive(Debug)]
        struct Around(Status);
        impl fmt::Display for Around {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("reading the account")
            }
        }
        impl Error for Around {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let inner = Status::not_found("gone").with_details_bytes(&b"abc"[..]);
        let status = Status::from_error(Around(inner));
        assert_eq!((status.code(), status.message()), (Code::NotFound, "reading the account"));
        assert_eq!(&*status.details(), b"abc");
        assert!(status.source().is_some_and(<dyn Error>::is::<Around>));
    }

    // wire-rules 44: both numbers.
    #[test]
    fn a_message_over_the_limit_says_both_numbers() {
        let status = Status::from(EncodeError::too_large(5_000_000, 4_194_304));
        assert!(status.message().contains("5000000") && status.message().contains("4194304"));
    }
}
