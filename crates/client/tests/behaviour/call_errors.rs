//! What a failed call tells beside its status: phase, peer, attempt, time, cause and a next step, for each way to fail.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use peregrine_core::status::details::{ErrorInfo, RetryInfo};
use peregrine_core::{Code, Error, Phase, Request, Status, iter};
use peregrine_http2::{ErrorCode, StreamId};
use peregrine_testkit::peer::{ServerPeer, message as framed};
use peregrine_testkit::virtual_time;

use crate::{chat, collect, connected, list, message, pair, unary};

/// What is told of the call: the source of its status.
fn told(status: &Status) -> &Error {
    let error: &Error =
        status.source().and_then(|source| source.downcast_ref()).expect("the call is told of");
    assert_eq!(error.phase(), Phase::Call);
    assert!(error.peer().is_some_and(|peer| peer.contains("server.test:50051")), "{error:?}");
    error
}

fn hint(status: &Status) -> &str {
    told(status).hint().unwrap_or_else(|| panic!("no next step: {status:?}"))
}

/// The status of a unary call that `script` answers.
fn failed(request: Request<Bytes>, script: impl AsyncFnOnce(&mut ServerPeer, StreamId)) -> Status {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, request), async {
            let stream = server.request().await.stream;
            script(&mut server, stream).await;
        });
        result.expect_err("the script fails the call")
    })
}

fn plain() -> Request<Bytes> {
    Request::new(message(""))
}

#[test]
fn a_deadline_says_how_long_it_was_and_what_was_waited_for() {
    let status = failed(plain().timeout(Duration::from_millis(80)), async |server, stream| {
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("80ms ran out while waiting for the response"), "{status}");
    assert_eq!((told(&status).attempt(), told(&status).elapsed()), (1, Some(Duration::from_millis(80))));
    assert!(hint(&status).contains("more time"));
}

#[test]
fn a_deadline_that_went_by_connecting_says_so() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let request = plain().timeout(Duration::from_millis(100));
        // Never gets as far as a connection.
        let (result, _silent) = tokio::join!(unary(&channel, request), acceptor.accept_raw());
        let status = result.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert!(status.message().contains("while connecting to"), "{status}");
        assert_eq!(told(&status).elapsed(), Some(Duration::from_millis(100)));
    });
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.build().unwrap();
        let request = plain().timeout(Duration::from_millis(100));
        let (result, _server) = tokio::join!(unary(&channel, request), async {
            let raw = acceptor.accept_raw().await;
            tokio::time::sleep(Duration::from_millis(70)).await;
            let mut server = ServerPeer::server(raw, peregrine_testkit::PeerConfig::server());
            server.start().await;
            let stream = server.request().await.stream;
            server.reset_of(stream).await;
            server
        });
        let status = result.unwrap_err();
        assert!(status.message().contains("70ms of it went by before there was a connection"), "{status}");
        assert!(hint(&status).contains("is the server up"), "{}", hint(&status));
    });
}

#[test]
fn a_method_that_is_not_there_has_a_next_step() {
    let status = failed(plain(), async |server, stream| {
        let words = [("grpc-status", "12"), ("grpc-message", "no method Unary")];
        server.trailers_only(stream, &words).await;
    });
    assert_eq!((status.code(), status.message()), (Code::Unimplemented, "no method Unary"));
    assert!(hint(&status).contains("same proto"));
    assert_eq!(told(&status).attempt(), 1);
}

// wire-rules 42, 44
#[test]
fn a_message_over_a_limit_says_both_numbers_and_whose_limit_it_is() {
    let status = failed(plain().max_response_size(10), async |server, stream| {
        server.head(stream, &[]).await;
        server.message(stream, &[0; 11]).await;
    });
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("11") && status.message().contains("10"), "{status}");
    assert!(hint(&status).contains("max_response_size"));

    virtual_time(async {
        let (channel, mut server) = connected().await;
        let mut replies = list(&channel, plain().max_response_size(10)).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.data(stream, &framed(&[0; 11]), false).await;
        let status = replies.message().await.unwrap_err();
        assert!(status.message().contains("11") && status.message().contains("10"), "{status}");
        assert!(hint(&status).contains("max_response_size"));
        assert_eq!(told(&status).attempt(), 1);

        let request = Request::new(Bytes::from(vec![0; 11])).max_request_size(10);
        let status = unary(&channel, request).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(status.message().contains("11") && status.message().contains("10"), "{status}");
        assert!(hint(&status).contains("max_request_size"));
        assert!(told(&status).source().is_some(), "the codec's error stays");

        let large = Request::new(iter([Bytes::from(vec![0; 11])])).max_request_size(10);
        let status = collect(&channel, large).await.unwrap_err();
        assert!(hint(&status).contains("max_request_size"));
        let large = Request::new(iter([Bytes::from(vec![0; 11])])).max_request_size(10);
        let status = chat(&channel, large).await.unwrap().message().await.unwrap_err();
        assert!(hint(&status).contains("max_request_size"));
    });
}

// wire-rules 69, 75, 79
#[test]
fn a_goaway_says_what_the_server_has_had_enough_of() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, plain()), async {
            let stream = server.request().await.stream;
            server.go_away_after(stream, ErrorCode::ENHANCE_YOUR_CALM, b"too_many_pings").await;
            drop(server);
        });
        let status = result.unwrap_err();
        assert!(status.message().contains("too_many_pings"), "{status}");
        assert!(hint(&status).contains("too much of this client"), "{}", hint(&status));
        assert_eq!(told(&status).attempt(), 1);
    });
}

// wire-rules 67
#[test]
fn a_call_that_was_made_twice_says_so() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, plain()), async {
            for _ in 0..2 {
                let stream = server.request().await.stream;
                server.reset(stream, ErrorCode::REFUSED_STREAM).await;
            }
        });
        let status = result.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(told(&status).attempt(), 2);
    });
}

// wire-rules 81
#[test]
fn a_connection_that_breaks_is_the_cause() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let (result, ()) = tokio::join!(unary(&channel, plain().timeout(Duration::from_secs(9))), async {
            server.request().await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            server.io().cut();
        });
        let status = result.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        let error = told(&status);
        assert!(!error.message().is_empty() && error.hint().is_some(), "{error:?}");
        assert_eq!((error.attempt(), error.elapsed()), (1, Some(Duration::from_secs(2))));
    });
}

// wire-rules 57
#[test]
fn what_is_no_grpc_server_is_told_apart() {
    let status = failed(plain(), async |server, stream| {
        server.headers(stream, &[(":status", "404"), ("content-type", "text/html")], true).await;
    });
    assert!(hint(&status).contains("proxy"), "{}", hint(&status));
}

// wire-rules 77, 81: as a server does whose grace for running calls is over.
#[test]
fn the_report_of_a_call_that_a_shutdown_cut_says_each_thing_once() {
    let request = plain().timeout(Duration::from_secs(3));
    let status = failed(request, async |server, stream| {
        tokio::time::sleep(Duration::from_millis(250)).await;
        server.go_away_after(stream, ErrorCode::NO_ERROR, b"").await;
        server.half_close().await;
    });
    assert_eq!(
        format!("{status:?}"),
        "UNAVAILABLE: call failed on the connection to server.test:50051: the peer closed the connection; it sent \
         GOAWAY with NO_ERROR\n  phase: call\n  attempt: 1\n  after: 250.0ms\n  next step: the server is ending or \
         restarting: make the call again"
    );
    assert_eq!(told(&status).peer(), Some("server.test:50051"));
}

// wire-rules 61
#[test]
fn the_report_of_a_call_has_it_all() {
    let server_side = Status::resource_exhausted("no more today")
        .with_detail(ErrorInfo::new("QUOTA", "test.example"))
        .with_detail(RetryInfo::after(Duration::from_mins(1)));
    let mut scratch = Vec::new();
    let fields: Vec<(String, Vec<u8>)> = server_side
        .wire_fields(&mut scratch)
        .map(|field| (String::from_utf8_lossy(field.name).into_owned(), field.value.to_vec()))
        .collect();
    let status = failed(plain().timeout(Duration::from_secs(3)), async |server, stream| {
        let mut head = vec![(":status".to_owned(), b"200".to_vec())];
        head.push(("content-type".to_owned(), b"application/grpc".to_vec()));
        head.extend(fields);
        tokio::time::sleep(Duration::from_millis(250)).await;
        server.headers(stream, &head, true).await;
    });
    assert_eq!(status.detail::<RetryInfo>().unwrap().retry_delay, Some(Duration::from_mins(1)));
    let peer = told(&status).peer().unwrap();
    assert_eq!(
        format!("{status:?}"),
        format!(
            "RESOURCE_EXHAUSTED: no more today\n  \
             detail: ErrorInfo {{ reason: \"QUOTA\", domain: \"test.example\", metadata: {{}} }}\n  \
             detail: RetryInfo {{ retry_delay: Some(60s) }}\n  \
             peer: {peer}\n  phase: call\n  attempt: 1\n  after: 250.0ms"
        )
    );
}
