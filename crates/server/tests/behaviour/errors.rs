//! What the errors of handlers become: types of the user's own, details, a mapper, messages that do not encode
//! (wire-rules E1 to E3).

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::status::details::{ErrorInfo, RpcStatus};
use peregrine_core::{
    BytesCodec, Code, Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, MethodDescriptor, Payload,
    Request, Response, ServiceDescriptor, Status, iter,
};
use peregrine_server::Server;
use peregrine_server::service::{CallSlot, ResponseSink, Service, server_streaming_slot, unary_slot};
use peregrine_testkit::{Peer, Reply, serve};

use crate::{Stage, code, in_each_mode};

const GET: &str = "/test.Library/Get";
const LIST: &str = "/test.Library/List";

/// Every handler fails with an error of the user's own, named by the request.
struct Library;

static LIBRARY: ServiceDescriptor = ServiceDescriptor {
    name: "test.Library",
    methods: &[method(GET, "Get", false), method(LIST, "List", true)],
    file_descriptor_set: &[],
};

const fn method(path: &'static str, name: &'static str, server_streaming: bool) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service: "test.Library",
        name,
        client_streaming: false,
        server_streaming,
        file_descriptor_set: &[],
    }
}

/// The user's own error, which turns into a status by itself where `?` asks for one.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Shelf,
    Book,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret: {self:?}")
    }
}

impl Error for Lost {}

impl From<Lost> for Status {
    fn from(error: Lost) -> Self {
        let mut status = Self::not_found("it is lost")
            .with_detail(ErrorInfo::new(format!("{error:?}").to_uppercase(), "library.example"))
            .with_source(error);
        status.metadata_mut().insert("x-lost", "yes").expect("a legal entry");
        status
    }
}

fn find(what: &[u8]) -> Result<Bytes, Lost> {
    match what {
        b"shelf" => Err(Lost::Shelf),
        b"book" => Err(Lost::Book),
        other => Ok(Bytes::copy_from_slice(other)),
    }
}

/// Messages as they are, but for some that it cannot encode.
struct Fussy;

impl Codec<Bytes> for Fussy {
    fn encode<E: EncodeTarget>(value: &Bytes, target: &mut E) -> Result<(), EncodeError> {
        match &value[..] {
            b"cannot" => return Err(EncodeError::codec("not this one")),
            b"short" => {
                target.begin(value.len() + 1)?.put_slice(value);
                return Ok(());
            }
            b"half" => {
                target.begin(value.len())?.put_slice(&value[..2]);
                return Err(EncodeError::codec("no further"));
            }
            b"vast" => target.begin(1 << 33)?.put_slice(value),
            b"panic" => panic!("secret"),
            _ => {}
        }
        BytesCodec::encode(value, target)
    }

    fn decode(body: Payload<'_>, limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
        match body.as_slice() {
            b"garbled" => Err(DecodeError::new("wire type 7")),
            b"explosive" => panic!("secret"),
            _ => BytesCodec::decode(body, limits),
        }
    }
}

impl Service for Library {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &LIBRARY
    }

    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        let service = Arc::new(());
        Some(if method == 0 {
            unary_slot::<Fussy, Bytes, Bytes, _, _, _>(
                service,
                |_: Arc<()>, request: Request<Bytes>| async move {
                    Ok::<_, Status>(Response::new(find(&request)?))
                },
            )
        } else {
            server_streaming_slot::<Fussy, Bytes, Bytes, _, _, _>(
                service,
                |_: Arc<()>, request: Request<Bytes>, sink: ResponseSink<Fussy, Bytes>| async move {
                    let first = [Ok(Bytes::from_static(b"one")), Ok(Bytes::from_static(b"two"))];
                    let last = find(&request).map_err(Status::from);
                    sink.stream(Response::new(iter(first.into_iter().chain([last])))).await
                },
            )
        })
    }
}

/// Runs `test` against the library in every mode, with what `set_up` makes of the server.
#[expect(clippy::needless_pass_by_value, reason = "called with closures made on the spot")]
fn in_library(set_up: impl Fn(Server) -> Server, test: impl AsyncFn(&mut Peer)) {
    in_each_mode(async |stage: Stage| {
        let served = serve(set_up(stage.server().add_service(Library)));
        let mut peer = served.peer().await;
        test(&mut peer).await;
        served.finish([peer]).await;
    });
}

fn details(reply: &Reply) -> RpcStatus {
    let mut fields = peregrine_core::status::StatusFields::default();
    for name in ["grpc-status", "grpc-message", "grpc-status-details-bin"] {
        if let Some(value) = reply.trailer_value(name) {
            fields.observe(name.as_bytes(), value.as_bytes());
        }
    }
    RpcStatus::from(&fields.to_status(peregrine_core::MetadataMap::new()))
}

// wire-rules E1, E3, 61, bug-reports 28, 70: before there is a head, everything stands in one block; after, it stands
// in trailers. Details leave without padding, and code and message inside of them are those of the status.
#[test]
fn an_error_of_the_users_own_type_is_its_status_with_details_and_trailers() {
    in_library(
        |server| server,
        async |peer| {
            for (path, is_alone, messages) in [(GET, true, vec![]), (LIST, false, vec!["one", "two"])] {
                let reply = peer.call(path, &[], b"book").await;
                assert_eq!(reply.status(), (code::NOT_FOUND, "it is lost".to_owned()), "{path}");
                assert_eq!((reply.is_trailers_only(), reply.texts()), (is_alone, messages), "{path}");
                assert_eq!(reply.trailer_value("x-lost"), Some("yes"), "{path}");
                let bytes = reply.trailer_value("grpc-status-details-bin").unwrap();
                assert!(!bytes.contains('='), "{bytes}");
                let inside = details(&reply);
                assert_eq!((inside.code, inside.message.as_str()), (5, "it is lost"), "{path}");
                let info = inside.details[0].read::<ErrorInfo>().unwrap().unwrap();
                assert_eq!(info.reason, "BOOK", "{path}");
            }
        },
    );
}

/// Knows one of the two errors.
fn partial(status: &Status) -> Option<Status> {
    match status.source()?.downcast_ref()? {
        Lost::Shelf => Some(Status::data_loss("the shelf burnt down")),
        Lost::Book => None,
    }
}

// wire-rules E2
#[test]
fn a_mapper_may_know_some_errors_and_leaves_the_others_as_they_are() {
    in_library(
        |server| server.map_errors(partial),
        async |peer| {
            for path in [GET, LIST] {
                let reply = peer.call(path, &[], b"shelf").await;
                assert_eq!(
                    reply.status(),
                    (Code::DataLoss as u32, "the shelf burnt down".to_owned()),
                    "{path}"
                );
                assert_eq!(reply.trailer_value("x-lost"), None, "{path}");
                let reply = peer.call(path, &[], b"book").await;
                assert_eq!(reply.status(), (code::NOT_FOUND, "it is lost".to_owned()), "{path}");
                assert_eq!(peer.call(path, &[], b"fine").await.code(), code::OK, "{path}");
                // It is asked about errors of handlers, and this is none.
                assert_eq!(peer.call("/test.Library/None", &[], b"").await.code(), code::UNIMPLEMENTED);
            }
        },
    );
}

// wire-rules E1, E2: a failing mapper still ends the call, and what it said stays here.
#[test]
fn a_mapper_that_panics_or_says_ok_ends_the_call_with_internal() {
    in_library(
        |server| {
            server.map_errors(|status| match status.source()?.downcast_ref()? {
                Lost::Shelf => panic!("secret"),
                Lost::Book => Some(Status::ok()),
            })
        },
        async |peer| {
            for path in [GET, LIST] {
                for what in ["shelf", "book", "shelf"] {
                    let (status, text) = peer.call(path, &[], what.as_bytes()).await.status();
                    assert_eq!(status, code::INTERNAL, "{path} {what}");
                    assert!(!text.contains("secret"), "{text}");
                }
                assert_eq!(peer.call(path, &[], b"fine").await.code(), code::OK, "{path}");
            }
        },
    );
}

// wire-rules E3, B3, Z3: a message that does not encode ends its call with INTERNAL, in trailers, since the head is out;
// nothing of it is seen, and every message before it is.
#[test]
fn a_message_that_cannot_be_encoded_ends_the_call_after_those_before_it() {
    in_library(
        |server| server,
        async |peer| {
            for (path, messages) in [(GET, vec![]), (LIST, vec!["one", "two"])] {
                for what in ["cannot", "short", "half"] {
                    let reply = peer.call(path, &[], what.as_bytes()).await;
                    assert_eq!(reply.code(), code::INTERNAL, "{path} {what}");
                    assert_eq!(
                        (reply.is_trailers_only(), reply.texts()),
                        (false, messages.clone()),
                        "{path} {what}"
                    );
                }
                let reply = peer.call(path, &[], b"panic").await;
                assert_eq!((reply.code(), reply.texts()), (code::UNKNOWN, messages), "{path}");
                assert!(!reply.status().1.contains("secret"));
                assert_eq!(peer.call(path, &[], b"fine").await.code(), code::OK, "the connection lives on");
            }
        },
    );
}

// wire-rules 46: what does not parse ends its call before any handler sees it, in the same way at both shapes.
#[test]
fn a_request_that_does_not_parse_is_internal_and_costs_its_call_only() {
    in_library(
        |server| server.map_errors(|_| Some(Status::data_loss("no handler's error"))),
        async |peer| {
            for path in [GET, LIST] {
                for fields in [&[][..], &[("grpc-timeout", "1S")]] {
                    let reply = peer.call(path, fields, b"garbled").await;
                    let (status, text) = reply.status();
                    assert_eq!((status, reply.is_trailers_only()), (code::INTERNAL, true), "{path}: {text}");
                    let reply = peer.call(path, fields, b"explosive").await;
                    assert!([code::INTERNAL, code::UNKNOWN].contains(&reply.code()), "{reply:?}");
                    assert!(!reply.status().1.contains("secret"), "{reply:?}");
                }
                assert_eq!(peer.call(path, &[], b"fine").await.code(), code::OK, "{path}");
            }
        },
    );
}

// bug-reports 83: more than a length prefix can say, with no limit set that would forbid it.
#[test]
fn bug_83_a_reply_of_eight_gibibytes_is_refused_before_it_is_made() {
    in_library(
        |server| server.max_send_message_size(usize::MAX),
        async |peer| {
            for (path, messages) in [(GET, vec![]), (LIST, vec!["one", "two"])] {
                let reply = peer.call(path, &[], b"vast").await;
                assert_eq!((reply.code(), reply.texts()), (code::RESOURCE_EXHAUSTED, messages), "{reply:?}");
                assert_eq!(peer.call(path, &[], b"fine").await.code(), code::OK, "{path}");
            }
        },
    );
}
