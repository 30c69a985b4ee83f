//! Calls in a message format that is not the codec's own, here one whose messages are written backwards.

use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::{
    DecodeError, DecodeLimits, EncodeError, Format, InterceptedCall, MessageFormat, MethodDescriptor,
    MethodFormat, Response, Status, Transcode,
};
use peregrine_testkit::peer::{message, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, Reply, serve};

use crate::{Stage, code, in_each_mode};

/// Goes by the name of JSON. Knows all methods but one; cannot read what begins with `!`, nor write what
/// begins with `?`.
#[derive(Debug)]
struct Backwards {
    unknown: &'static str,
}

impl MessageFormat for Backwards {
    fn format(&self) -> Format {
        Format::Json
    }

    fn method(&self, method: &MethodDescriptor<'_>) -> Result<MethodFormat, Status> {
        if method.name == self.unknown {
            return Err(Status::unimplemented("no schema of it"));
        }
        Ok(MethodFormat { format: Format::Json, request: Arc::new(Reverse), response: Arc::new(Reverse) })
    }
}

#[derive(Debug)]
struct Reverse;

impl Transcode for Reverse {
    fn read(&self, body: &[u8], _limits: &DecodeLimits) -> Result<Vec<u8>, DecodeError> {
        if body.starts_with(b"!") {
            return Err(DecodeError::new("begins with !"));
        }
        Ok(body.iter().rev().copied().collect())
    }

    fn write(&self, message: &[u8]) -> Result<Vec<u8>, EncodeError> {
        if message.starts_with(b"?") {
            return Err(EncodeError::codec("begins with ?"));
        }
        Ok(message.iter().rev().copied().collect())
    }
}

async fn call(peer: &mut Peer, path: &str, content_type: &'static str, messages: &[&str]) -> Reply {
    let mut fields = request_head(path);
    fields.retain(|(name, _)| name != "content-type");
    fields.push(("content-type".to_owned(), Bytes::from_static(content_type.as_bytes())));
    let stream = peer.open();
    peer.headers(stream, &fields, false).await;
    let body: Vec<u8> = messages.iter().flat_map(|text| message(text.as_bytes())).collect();
    peer.data(stream, &body, true).await;
    peer.reply(stream).await
}

fn content_type(reply: &Reply) -> &str {
    reply.head_value("content-type").unwrap_or_default()
}

const JSON: &str = "application/grpc+json";

// wire-rules N1, N2: the reply comes in the format of its request, messages and head.
#[test]
fn a_call_is_answered_in_the_format_of_its_request() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().json(Backwards { unknown: "-" }));
        let mut peer = served.peer().await;
        for _ in 0..2 {
            for path in [UNARY, SERVER_STREAM, BIDI] {
                let reply = call(&mut peer, path, JSON, &["abc"]).await;
                assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["abc"]), "{path}");
                assert_eq!(content_type(&reply), JSON, "{path}");
                let reply = call(&mut peer, path, "application/grpc+proto", &["abc"]).await;
                assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["abc"]), "{path}");
                assert_eq!(content_type(&reply), "application/grpc", "{path}");
            }
        }
        // What the handler wrote, `2 messages, 3 bytes`, read from its end.
        let reply = call(&mut peer, CLIENT_STREAM, "Application/gRPC+JSON;charset=utf-8", &["a", "bc"]).await;
        assert_eq!(reply.texts(), ["setyb 3 ,segassem 2"]);
        served.finish([peer]).await;
    });
}

// wire-rules 46, E3
#[test]
fn what_cannot_be_rewritten_is_internal() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().json(Backwards { unknown: "-" }));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let reply = call(&mut peer, path, JSON, &["!abc"]).await;
            assert_eq!((reply.code(), content_type(&reply)), (code::INTERNAL, JSON), "{path}");
        }
        for path in [UNARY, SERVER_STREAM, BIDI] {
            let reply = call(&mut peer, path, JSON, &["abc?"]).await;
            assert_eq!((reply.code(), content_type(&reply)), (code::INTERNAL, JSON), "{path}");
            assert!(!reply.is_trailers_only() && reply.messages.is_empty(), "{path}");
            let reply = call(&mut peer, path, "application/grpc", &["?!"]).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["?!"]), "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules N2, R4: the format is known before the path is looked at, so every refusal names it.
#[test]
fn a_method_without_a_schema_is_unimplemented_in_that_format_only() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().json(Backwards { unknown: "Unary" }));
        let mut peer = served.peer().await;
        let reply = call(&mut peer, UNARY, JSON, &["abc"]).await;
        let (status, text) = reply.status();
        assert_eq!(
            (reply.http_status(), status, text.as_str()),
            (200, code::UNIMPLEMENTED, "no schema of it")
        );
        assert_eq!((content_type(&reply), reply.is_trailers_only()), (JSON, true));
        let reply = call(&mut peer, UNARY, "application/grpc", &["abc"]).await;
        assert_eq!(reply.texts(), ["abc"]);
        let reply = call(&mut peer, "/test.Test/Nothing", JSON, &["abc"]).await;
        assert_eq!((reply.code(), content_type(&reply)), (code::UNIMPLEMENTED, JSON));
        let reply = call(&mut peer, UNARY, "application/grpc+cbor", &["abc"]).await;
        assert_eq!((reply.code(), content_type(&reply)), (code::UNIMPLEMENTED, "application/grpc"));
        assert!(reply.status().1.contains("application/grpc+proto and application/grpc+json"));
        served.finish([peer]).await;
    });
}

// wire-rules N1: what an interceptor answers is rewritten like a handler's reply, and what it lets through is read.
#[test]
fn interceptors_leave_the_format_as_it_is() {
    in_each_mode(async |stage: Stage| {
        let server =
            stage.server().json(Backwards { unknown: "-" }).interceptor(|call: &mut InterceptedCall<'_>| {
                call.on_request_message(|message| {
                    assert_eq!(message.downcast_ref::<Bytes>().map(|bytes| &bytes[..]), Some(&b"cba"[..]));
                    Ok(())
                });
                if call.method().name == "ServerStream" {
                    call.answer(Response::new(Bytes::from_static(b"fed")));
                }
                Ok(())
            });
        let served = serve(server);
        let mut peer = served.peer().await;
        for (path, answer) in [(UNARY, "abc"), (BIDI, "abc"), (SERVER_STREAM, "def")] {
            let reply = call(&mut peer, path, JSON, &["abc"]).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec![answer]), "{path}");
            assert_eq!(content_type(&reply), JSON, "{path}");
        }
        served.finish([peer]).await;
    });
}
