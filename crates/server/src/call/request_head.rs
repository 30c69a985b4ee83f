//! What a request's header block says to a gRPC server, worked out once per distinct block.
//!
//! Peers repeat the same block call after call; the engine's memo hands out the same [`Head`], and with it the
//! same [`RequestHead`]. Order of checks: HTTP method, content type, authority, path, encoding, timeout
//! (wire-rules R4);
//! one pass over the fields collects everything (wire-rules N3).

use std::sync::Arc;
use std::time::Duration;

use peregrine_core::compression::EncodingSet;
use peregrine_core::content_type::{self, ContentType};
use peregrine_core::deadline::parse_timeout;
use peregrine_core::message::Encoding;
use peregrine_core::{Format, InvalidMetadata, MetadataMap, Status};
use peregrine_http2::{Field, Head};

use super::excerpt::shortened;
use super::reply_head::ReplyPlan;
use crate::router::{MethodIndex, Router};
use crate::secure::Secure;

/// A request head that makes a call: where it goes, what it carries, how its messages come, and how those of the reply
/// go. Shared by the calls that came with it.
#[derive(Debug)]
pub(crate) struct RequestHead {
    pub(crate) method: MethodIndex,
    /// The handler starts before the first message.
    pub(crate) client_streaming: bool,
    pub(crate) encoding: Encoding,
    /// Largest request message, in bytes.
    pub(crate) max_receive: usize,
    /// Largest reply message, in bytes (wire-rules 44).
    pub(crate) max_send: usize,
    pub(crate) reply: ReplyPlan,
    /// The client's, or the method's if that is shorter.
    pub(crate) timeout: Option<Duration>,
    pub(crate) metadata: MetadataMap,
}

/// Why a request does not become a call.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// What the request came in; the answer names the same.
    pub(crate) format: Format,
    pub(crate) http_status: u16,
    pub(crate) status: Status,
    /// Sent along as `grpc-accept-encoding` (wire-rules 34).
    pub(crate) accepted_encodings: Option<&'static str>,
}

impl Refusal {
    fn new(http_status: u16, status: Status) -> Self {
        Self { format: Format::Proto, http_status, status, accepted_encodings: None }
    }

    /// The request does not even claim to be gRPC.
    pub(crate) fn is_plain_http(&self) -> bool {
        matches!(self.http_status, 405 | 415)
    }
}

impl RequestHead {
    /// What `head` says, read once however often it comes.
    ///
    /// # Errors
    /// The request makes no call.
    #[inline]
    pub(crate) fn of<'h>(
        head: &'h Head,
        router: &Router,
        secure: &Secure,
    ) -> Result<&'h Arc<Self>, &'h Refusal> {
        head.attachment(|head| Self::parse(head, router, secure).map(Arc::new)).as_ref()
    }

    fn parse(head: &Head, router: &Router, secure: &Secure) -> Result<Self, Refusal> {
        let mut metadata = MetadataMap::with_capacity(head.field_count(), head.list_size());
        let (collected, bad_metadata) = Collected::read(head.fields(), &mut metadata);
        let Route { method, encoding, reply } =
            check(head, router, secure, &collected, bad_metadata.map(Status::from))?;
        let settings = router.settings(method);
        let asked = match collected.timeout {
            Some(Ok(timeout)) => Some(timeout),
            _ => None,
        };
        let timeout = match (asked, settings.timeout) {
            (Some(asked), Some(allowed)) => Some(asked.min(allowed)),
            (asked, allowed) => asked.or(allowed),
        };
        Ok(Self {
            method,
            client_streaming: router.descriptor(method).client_streaming,
            encoding,
            max_receive: settings.max_receive,
            max_send: settings.max_send,
            reply,
            timeout,
            metadata,
        })
    }
}

/// What the checks come to.
struct Route {
    method: MethodIndex,
    encoding: Encoding,
    reply: ReplyPlan,
}

/// The reserved fields of a request.
#[derive(Debug, Default)]
struct Collected<'a> {
    content_type: Option<&'a [u8]>,
    repeated_content_type: bool,
    encoding: Option<&'a [u8]>,
    repeated_encoding: bool,
    /// What the client accepts, if it says so.
    accepts: Option<EncodingSet>,
    timeout: Option<Result<Duration, Status>>,
    host: Option<&'a [u8]>,
}

impl<'a> Collected<'a> {
    /// One pass: what is the protocol's comes back, what is the user's goes into `metadata`, with the last error
    /// that it made (wire-rules N3).
    fn read(
        fields: impl Iterator<Item = Field<'a>>,
        metadata: &mut MetadataMap,
    ) -> (Self, Option<InvalidMetadata>) {
        let (mut collected, mut bad_metadata) = (Self::default(), None);
        for field in fields {
            if !collected.take(field.name, field.value)
                && let Err(error) = metadata.push_wire(field.name, field.value, field.sensitive)
            {
                bad_metadata = Some(error);
            }
        }
        (collected, bad_metadata)
    }

    /// True when the field is the protocol's own and not the user's.
    fn take(&mut self, name: &'a [u8], value: &'a [u8]) -> bool {
        match name {
            b"content-type" => self.repeated_content_type |= self.content_type.replace(value).is_some(),
            b"grpc-encoding" => self.repeated_encoding |= self.encoding.replace(value).is_some(),
            // wire-rules 18, N4: repeated fields are one list.
            b"grpc-accept-encoding" => {
                self.accepts = Some(self.accepts.unwrap_or_default().union(EncodingSet::from_wire(value)));
            }
            b"grpc-timeout" => {
                let read = parse_timeout(value).map_err(|error| Status::internal(error.to_string()));
                // Which of two counts must not depend on their order (wire-rules N3).
                let repeated = || Err(Status::internal("malformed grpc-timeout: there is more than one"));
                self.timeout = Some(if self.timeout.is_some() { repeated() } else { read });
            }
            // The engine lets one `host` through, which `:authority` outranks (wire-rules 11).
            // [9113-8.3.1-1]
            b"host" => self.host = Some(value),
            // Neither has a say in what becomes of the call (wire-rules 8, 19).
            b"te" | b"grpc-message-type" => {}
            _ => return false,
        }
        true
    }
}

fn check(
    head: &Head,
    router: &Router,
    secure: &Secure,
    collected: &Collected<'_>,
    bad_metadata: Option<Status>,
) -> Result<Route, Refusal> {
    // wire-rules 2
    if head.method() != Some(b"POST") {
        return Err(Refusal::new(
            405,
            Status::internal(format!("gRPC calls are POST requests, not {}", lossy(head.method()))),
        ));
    }
    if collected.repeated_content_type {
        // As one list they are no type (wire-rules N2, N3).
        return Err(Refusal::new(
            415,
            Status::invalid_argument("the request has more than one content type"),
        ));
    }
    let format = check_content_type(collected.content_type, router)?;
    check_call(head, router, secure, collected, bad_metadata, format)
        .map_err(|refusal| Refusal { format, ..refusal })
}

/// What follows once the format is known, which a refusal then names too. The same for every shape of call (wire-rules
/// N7).
fn check_call(
    head: &Head,
    router: &Router,
    secure: &Secure,
    collected: &Collected<'_>,
    bad_metadata: Option<Status>,
    format: Format,
) -> Result<Route, Refusal> {
    check_authority(head.authority().or(collected.host), secure)?;
    let path = head.path().unwrap_or_default();
    let Some(method) = router.find(path) else { return Err(Refusal::new(200, Router::unimplemented(path))) };
    if let Err(reason) = router.check_format(method, format) {
        return Err(Refusal::new(200, reason.clone()));
    }
    let encoding = check_encoding(collected)?;
    // wire-rules 14
    if let Some(Err(status)) = &collected.timeout {
        return Err(Refusal::new(400, status.clone()));
    }
    // wire-rules 25
    if let Some(status) = bad_metadata {
        return Err(Refusal::new(400, status));
    }
    let reply = ReplyPlan::new(format, collected.accepts, &router.settings(method).packers);
    Ok(Route { method, encoding, reply })
}

/// wire-rules 9, 10, N1, N2
fn check_content_type(value: Option<&[u8]>, router: &Router) -> Result<Format, Refusal> {
    match content_type::classify(value.unwrap_or_default()) {
        ContentType::Grpc(format) if router.speaks(format) => Ok(format),
        ContentType::Grpc(_) | ContentType::OtherFormat(_) => Err(Refusal::new(
            200,
            Status::unimplemented(format!(
                "message format {} is not supported; this server speaks {}",
                lossy(value),
                if router.speaks(Format::Json) {
                    "application/grpc+proto and application/grpc+json"
                } else {
                    "application/grpc+proto"
                }
            )),
        )),
        ContentType::NotGrpc => Err(Refusal::new(
            415,
            Status::invalid_argument(match value {
                Some(_) => format!("content type {} is not gRPC", lossy(value)),
                None => "the request has no content type; gRPC requests say application/grpc".to_owned(),
            }),
        )),
    }
}

/// A server with a certificate may be told to serve what that names, and nothing else (http2-abuse 46).
fn check_authority(authority: Option<&[u8]>, secure: &Secure) -> Result<(), Refusal> {
    if secure.serves(authority) {
        return Ok(());
    }
    Err(Refusal::new(
        421,
        Status::failed_precondition(format!(
            "this server's certificate does not cover {}; connect to that host itself",
            lossy(authority)
        )),
    ))
}

/// wire-rules 18, 34, N5
fn check_encoding(collected: &Collected<'_>) -> Result<Encoding, Refusal> {
    if collected.repeated_encoding {
        return Err(Refusal::new(200, Status::internal("more than one grpc-encoding field")));
    }
    match collected.encoding.map_or(Ok(Encoding::Identity), Encoding::from_wire) {
        Ok(encoding) => Ok(encoding),
        Err(_unsupported) => Err(Refusal {
            accepted_encodings: Some(Encoding::SUPPORTED),
            ..Refusal::new(
                200,
                Status::unimplemented(format!(
                    "messages compressed with {} are not supported; accepted: {}",
                    lossy(collected.encoding),
                    Encoding::SUPPORTED
                )),
            )
        }),
    }
}

fn lossy(value: Option<&[u8]>) -> String {
    shortened(value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order of so many fields.
    fn permutations(count: usize) -> Vec<Vec<usize>> {
        if count == 0 {
            return vec![Vec::new()];
        }
        let shorter = permutations(count - 1);
        let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
            let with_last = |at: usize| {
                let mut order = order.clone();
                order.insert(at, count - 1);
                order
            };
            (0..count).map(with_last).collect()
        };
        shorter.iter().flat_map(longer).collect()
    }

    // wire-rules N3
    #[test]
    fn each_field_is_looked_at_once_and_their_order_changes_nothing() {
        let fields: [(&str, &str); 7] = [
            ("content-type", "application/grpc"),
            ("grpc-encoding", "identity"),
            ("grpc-accept-encoding", "gzip"),
            ("grpc-timeout", "7S"),
            ("te", "trailers"),
            ("host", "h"),
            ("k-bin", "AQ"),
        ];
        let orders = permutations(fields.len());
        assert_eq!(orders.len(), 5040);
        for order in orders {
            let mut looks = [0; 7];
            let mut metadata = MetadataMap::new();
            let counting = order.iter().inspect(|&&index| looks[index] += 1).map(|&index| {
                let (name, value) = fields[index];
                Field::new(name.as_bytes(), value.as_bytes())
            });
            let (collected, bad) = Collected::read(counting, &mut metadata);
            assert_eq!(looks, [1; 7], "{order:?}");
            assert!(bad.is_none() && !collected.repeated_encoding, "{order:?}");
            assert_eq!(collected.content_type, Some(&b"application/grpc"[..]), "{order:?}");
            assert_eq!(collected.encoding, Some(&b"identity"[..]), "{order:?}");
            assert!(
                matches!(collected.timeout, Some(Ok(time)) if time == Duration::from_secs(7)),
                "{order:?}"
            );
            assert_eq!(collected.host, Some(&b"h"[..]), "{order:?}");
            assert_eq!(metadata.get_bin("k-bin"), Some(&[1][..]), "{order:?}");
            assert_eq!(metadata.len(), 1, "{order:?}");
        }
    }
}
