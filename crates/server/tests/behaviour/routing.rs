//! From `:method` and `:path` to a handler, or to the status that says why not.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::{BytesCodec, MethodDescriptor, Request, Response, ServiceDescriptor, Status};
use peregrine_http2::ErrorCode;
use peregrine_server::service::{CallSlot, Service, unary_slot};
use peregrine_testkit::Reply;
use peregrine_testkit::peer::{Ending, Fields, message, prefixed, request_head};
use peregrine_testkit::service::UNARY;

use crate::{Stage, code, in_each_mode};

/// A complete request with these header fields and one message, and its reply.
async fn exchange(peer: &mut peregrine_testkit::Peer, fields: &Fields) -> Reply {
    let stream = peer.open();
    peer.headers(stream, fields, false).await;
    peer.data(stream, &message(b"hello"), true).await;
    peer.reply(stream).await
}

/// The usual header fields, some of them replaced.
fn head_with(changes: &[(&str, &[u8])]) -> Fields {
    let mut fields = request_head(UNARY);
    for &(name, value) in changes {
        match fields.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = Bytes::copy_from_slice(value),
            None => fields.push((name.to_owned(), Bytes::copy_from_slice(value))),
        }
    }
    fields
}

// wire-rules 4, 5, 6, R1
#[test]
fn a_path_that_is_not_exactly_a_methods_is_unimplemented() {
    let long = format!("/test.Test/{}", "x".repeat(64 * 1024));
    let paths: &[&[u8]] = &[
        b"test.Test/Unary",
        b"//test.Test/Unary",
        b"/test.Test//Unary",
        b"/test.Test/Unary/",
        b"/test.Test/Unary/x",
        b"/x/test.Test/Unary",
        b"/test.Test",
        b"/",
        b"//",
        b"*",
        b"/test.Test/unary",
        b"/Test.Test/Unary",
        b"/test.Test/%55nary",
        b"/test.Test/Unary?x=1",
        b"/test.Test/Unary#x",
        b"/test.Test/Unar\xff",
        b"/test.Test/\xc3\xbcnary",
        long.as_bytes(),
    ];
    in_each_mode(async |stage: Stage| {
        let served = peregrine_testkit::serve(stage.server().max_header_list_size(128 * 1024));
        let mut peer = served.peer().await;
        for path in paths {
            let shown = String::from_utf8_lossy(&path[..path.len().min(40)]).into_owned();
            let reply = exchange(&mut peer, &head_with(&[(":path", path)])).await;
            let (status, text) = reply.status();
            assert_eq!((reply.http_status(), status), (200, code::UNIMPLEMENTED), "{shown}: {text}");
            assert!(reply.is_trailers_only(), "{shown}");
            assert_eq!(reply.head_value("content-type"), Some("application/grpc"), "{shown}");
            assert!(text.contains(&*shown), "{shown} is not named: {text}");
            assert!(text.len() < 1_000, "{shown}: a text of {} bytes", text.len());
        }
        assert_eq!(stage.counts().started, 0);
        let reply = exchange(&mut peer, &head_with(&[])).await;
        assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]));
        served.finish([peer]).await;
    });
}

// wire-rules R2
#[test]
fn an_unknown_service_and_an_unknown_method_give_the_same_status() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let service = exchange(&mut peer, &head_with(&[(":path", b"/no.Such/Unary")])).await;
        let method = exchange(&mut peer, &head_with(&[(":path", b"/test.Test/NoSuch")])).await;
        assert_eq!(service.status().0, code::UNIMPLEMENTED);
        let generic =
            |reply: &Reply| reply.status().1.replace("/no.Such/Unary", "P").replace("/test.Test/NoSuch", "P");
        assert_eq!(generic(&service), generic(&method));
        served.finish([peer]).await;
    });
}

// wire-rules 2, N2
#[test]
fn a_method_other_than_post_is_answered_405() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for method in ["GET", "PUT", "OPTIONS", "DELETE", "post"] {
            let reply = exchange(&mut peer, &head_with(&[(":method", method.as_bytes())])).await;
            assert_eq!((reply.http_status(), reply.code()), (405, code::INTERNAL), "{method}");
            assert!(reply.is_trailers_only());
        }
        let reply = exchange(&mut peer, &head_with(&[(":method", &[b'X'; 14_000])])).await;
        let (status, text) = reply.status();
        assert_eq!((reply.http_status(), status), (405, code::INTERNAL));
        assert!(text.len() < 1_000, "a text of {} bytes", text.len());
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// RFC 9113 8.1.1: had the refusal come at once, nothing wrong with the rest of the request could be told any more.
#[test]
fn a_request_that_is_no_grpc_is_read_to_its_end_before_it_is_refused() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let no_grpc = head_with(&[("content-type", b"text/plain")]);
        let early = peer.open();
        peer.headers(early, &no_grpc, false).await;
        peer.data(early, b"some", false).await;
        // Another call is answered meanwhile, the one that waits is not.
        assert_eq!(peer.call(UNARY, &[], b"").await.code(), code::OK);
        peer.data(early, b"more", true).await;
        let reply = peer.reply(early).await;
        assert_eq!((reply.http_status(), reply.code()), (415, code::INVALID_ARGUMENT));
        assert!(reply.is_trailers_only());

        let malformed = peer.open();
        peer.headers(malformed, &no_grpc, false).await;
        peer.headers(malformed, &[(":path", "/")], true).await;
        assert_eq!(peer.expect_reset(malformed).await, ErrorCode::PROTOCOL_ERROR);
        let given_up = peer.open();
        peer.headers(given_up, &head_with(&[(":method", b"PUT")]), false).await;
        peer.reset(given_up, ErrorCode::CANCEL).await;
        assert_eq!(peer.call(UNARY, &[], b"").await.code(), code::OK);
        served.finish([peer]).await;
    });
}

// wire-rules R4: each request has everything wrong that is checked after what is expected to be said.
#[test]
fn checks_come_in_the_order_method_content_type_path_encoding_timeout_body() {
    let wrong: &[(&str, &[u8])] = &[
        (":method", b"GET"),
        ("content-type", b"text/plain"),
        (":path", b"/no.Such/Method"),
        ("grpc-encoding", b"lzw"),
        ("grpc-timeout", b"soon"),
    ];
    let expected = [
        (405, code::INTERNAL, "POST"),
        (415, code::INVALID_ARGUMENT, "text/plain"),
        (200, code::UNIMPLEMENTED, "/no.Such/Method"),
        (200, code::UNIMPLEMENTED, "lzw"),
        (400, code::INTERNAL, "grpc-timeout"),
        (200, code::INTERNAL, ""),
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (right, (http, status, said)) in expected.into_iter().enumerate() {
            let stream = peer.open();
            peer.headers(stream, &head_with(&wrong[right..]), false).await;
            peer.data(stream, b"\0\0", true).await;
            let reply = peer.reply(stream).await;
            assert_eq!((reply.http_status(), reply.code()), (http, status), "{reply:?}");
            assert!(reply.status().1.contains(said), "{said}: {reply:?}");
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules R4: any two faults at once, and nothing else wrong, are answered by the earlier check.
#[test]
fn of_two_faults_the_one_that_is_checked_first_is_told() {
    type Told = (u16, u32, &'static str);
    let faults: [(&str, &[u8], Told); 8] = [
        (":method", b"PUT", (405, code::INTERNAL, "POST")),
        ("content-type", b"application/json", (415, code::INVALID_ARGUMENT, "application/json")),
        ("content-type", b"application/grpc+odd", (200, code::UNIMPLEMENTED, "odd")),
        (":path", b"/test.Test/Nothing", (200, code::UNIMPLEMENTED, "/test.Test/Nothing")),
        (":path", b"/test.Test", (200, code::UNIMPLEMENTED, "/test.Test")),
        ("grpc-encoding", b"lzma", (200, code::UNIMPLEMENTED, "lzma")),
        ("grpc-timeout", b"123456789S", (400, code::INTERNAL, "grpc-timeout")),
        // Not a field: the body's prefix has a reserved bit.
        ("body", b"", (200, code::INTERNAL, "")),
    ];
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (index, (name, value, told)) in faults.into_iter().enumerate() {
            for (other, other_value, _) in &faults[index + 1..] {
                let fields: Vec<_> = [(name, value), (*other, *other_value)]
                    .into_iter()
                    .filter(|(n, _)| *n != "body")
                    .collect();
                if name == *other {
                    continue;
                }
                let stream = peer.open();
                peer.headers(stream, &head_with(&fields), false).await;
                let flag = if *other == "body" { 2 } else { 0 };
                peer.data(stream, &prefixed(flag, 1, b"x"), true).await;
                let reply = peer.reply(stream).await;
                let (http, status, said) = told;
                assert_eq!((reply.http_status(), reply.code()), (http, status), "{name} {other}: {reply:?}");
                assert!(reply.status().1.contains(said), "{name} {other}: {reply:?}");
            }
        }
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules N3
#[test]
fn the_order_of_header_fields_does_not_matter() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let head = head_with(&[("grpc-timeout", b"5S"), ("script", b"time-left"), ("x", b"y")]);
        let (pseudo, regular) = head.split_at(4);
        for turn in 0..regular.len() {
            let mut fields = pseudo.to_vec();
            fields.rotate_left(turn % pseudo.len());
            fields.extend_from_slice(&regular[turn..]);
            fields.extend_from_slice(&regular[..turn]);
            let reply = exchange(&mut peer, &fields).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["5000"]), "{fields:?}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 11
#[test]
fn one_host_is_dropped_and_more_are_malformed() {
    // [9113-8.3.1-1]
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let mut fields = head_with(&[("host", b"a.example"), ("script", b"tell")]);
        let reply = exchange(&mut peer, &fields).await;
        assert_eq!((reply.code(), reply.texts()), (code::OK, vec![""]));
        fields.push(("host".to_owned(), Bytes::from_static(b"b.example")));
        let reply = exchange(&mut peer, &fields).await;
        assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)));
        served.finish([peer]).await;
    });
}

// wire-rules R3
#[test]
fn a_mount_prefix_is_taken_off_before_paths_are_compared() {
    in_each_mode(async |stage: Stage| {
        let served = peregrine_testkit::serve(stage.server().mount_under("/api/v1"));
        let mut peer = served.peer().await;
        let reply = exchange(&mut peer, &head_with(&[(":path", b"/api/v1/test.Test/Unary")])).await;
        assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]));
        for path in [
            &b"/test.Test/Unary"[..],
            b"/api/v1",
            b"/api/v1test.Test/Unary",
            b"/api/v1//test.Test/Unary",
            b"/API/v1/test.Test/Unary",
            b"/api/v1/api/v1/test.Test/Unary",
        ] {
            let reply = exchange(&mut peer, &head_with(&[(":path", path)])).await;
            assert_eq!(reply.code(), code::UNIMPLEMENTED, "{}", path.escape_ascii());
        }
        served.finish([peer]).await;
    });
}

// wire-rules R3, 5: the prefix comes off once, whatever it looks like, and what is left must be a whole path.
#[test]
fn a_mount_prefix_comes_off_once_and_leaves_a_whole_path() {
    in_each_mode(async |stage: Stage| {
        for prefix in ["/test.Test", "/a", "/a/b/c", "/%61", "/test.Test/Unary"] {
            let served = peregrine_testkit::serve(stage.server().mount_under(prefix));
            let mut peer = served.peer().await;
            // Heads that come again are remembered: the answer stays.
            for _ in 0..3 {
                let right = format!("{prefix}/test.Test/Unary");
                let reply = exchange(&mut peer, &head_with(&[(":path", right.as_bytes())])).await;
                assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{right}");
                for wrong in [
                    "/test.Test/Unary".to_owned(),
                    format!("{prefix}/"),
                    format!("{prefix}/Unary"),
                    format!("{prefix}/test.Test"),
                    format!("{prefix}x/test.Test/Unary"),
                    format!("{prefix}{prefix}/test.Test/Unary"),
                    format!("x{prefix}/test.Test/Unary"),
                    format!("/a/%62{prefix}/test.Test/Unary"),
                ] {
                    let reply = exchange(&mut peer, &head_with(&[(":path", wrong.as_bytes())])).await;
                    let (status, text) = reply.status();
                    assert_eq!(status, code::UNIMPLEMENTED, "{prefix}: {wrong}");
                    assert!(text.contains(&wrong), "{prefix}: {wrong} is not named: {text}");
                }
            }
            served.finish([peer]).await;
        }
    });
}

/// A service whose name has slashes of its own.
struct Slashed;

static SLASHED: ServiceDescriptor = ServiceDescriptor {
    name: "a/b.C",
    methods: &[MethodDescriptor {
        path: "/a/b.C/Get",
        service: "a/b.C",
        name: "Get",
        client_streaming: false,
        server_streaming: false,
        file_descriptor_set: &[],
    }],
    file_descriptor_set: &[],
};

impl Service for Slashed {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SLASHED
    }

    fn slot(&self, _method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        Some(unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
            Arc::new(()),
            |_: Arc<()>, request: Request<Bytes>| async move {
                Ok::<_, Status>(Response::new(request.into_inner()))
            },
        ))
    }
}

// wire-rules 4: the method stands behind the last slash, whatever the service is called.
#[test]
fn a_service_may_have_slashes_in_its_name() {
    in_each_mode(async |stage: Stage| {
        for prefix in ["", "/a"] {
            let served = peregrine_testkit::serve(stage.server().add_service(Slashed).mount_under(prefix));
            let mut peer = served.peer().await;
            let found = format!("{prefix}/a/b.C/Get");
            let reply = exchange(&mut peer, &head_with(&[(":path", found.as_bytes())])).await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["hello"]), "{found}");
            for path in [
                "/b.C/Get",
                "/a/b.C",
                "/a//b.C/Get",
                "/a/b.C/Get/",
                "a/b.C/Get",
                "/a/b.C/get",
                "/a%2Fb.C/Get",
            ] {
                let path = format!("{prefix}{path}");
                let reply = exchange(&mut peer, &head_with(&[(":path", path.as_bytes())])).await;
                assert_eq!(reply.code(), code::UNIMPLEMENTED, "{path}");
            }
            served.finish([peer]).await;
        }
    });
}
