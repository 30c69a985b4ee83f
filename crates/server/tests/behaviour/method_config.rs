//! Settings of single services and methods.

use std::convert::Infallible;
use std::time::Duration;

use peregrine_core::iter;
use peregrine_server::MethodConfig;
use peregrine_testkit::peer::message;
use peregrine_testkit::service::{CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{PipeEnd, serve, virtual_time};
use tokio::time::Instant;

use crate::{Stage, code, in_each_mode};

// wire-rules 42: the method's limit counts before its service's, that before the server's, wherever the message is
// read: whole, in pieces, in a stream.
#[test]
fn a_methods_receive_limit_counts_before_its_services_and_that_before_the_servers() {
    in_each_mode(async |stage: Stage| {
        let server = stage
            .server()
            .max_receive_message_size(10)
            .configure("test.Test/Unary", MethodConfig::new().max_receive_message_size(30))
            .configure("test.Test", MethodConfig::new().max_receive_message_size(20));
        let served = serve(server);
        let mut peer = served.peer().await;
        for (path, limit) in [(UNARY, 30), (SERVER_STREAM, 20), (CLIENT_STREAM, 20)] {
            for (size, expected) in [(limit, code::OK), (limit + 1, code::RESOURCE_EXHAUSTED)] {
                let body = message(&vec![b'x'; size]);
                let stream = peer.request(path, &[], &body, true).await;
                assert_eq!(peer.reply(stream).await.code(), expected, "{path} {size}");
                let stream = peer.request(path, &[], &body[..3], false).await;
                peer.data(stream, &body[3..], true).await;
                assert_eq!(peer.reply(stream).await.code(), expected, "{path} {size}, in pieces");
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 44
#[test]
fn a_methods_send_limit_holds_for_that_method_alone() {
    in_each_mode(async |stage: Stage| {
        let server =
            stage.server().configure("/test.Test/ServerStream", MethodConfig::new().max_send_message_size(5));
        let served = serve(server);
        let mut peer = served.peer().await;
        let script = [("script", "send short; yield; send longer")];
        let reply = peer.call(SERVER_STREAM, &script, b"").await;
        assert_eq!((reply.code(), reply.texts()), (code::RESOURCE_EXHAUSTED, vec!["short"]));
        assert_eq!(peer.call(UNARY, &script, b"").await.texts(), ["longer"]);
        served.finish([peer]).await;
    });
}

// wire-rules 73: the earlier of the client's deadline and the method's timeout ends the call, and the handler sees it.
#[test]
fn a_methods_timeout_ends_calls_that_their_clients_would_wait_for() {
    in_each_mode(async |stage: Stage| {
        let timeout = |ms| MethodConfig::new().timeout(Duration::from_millis(ms));
        let served = serve(stage.server().configure("test.Test/Unary", timeout(100)));
        let mut peer = served.peer().await;
        let never = ("script", "never");
        for (fields, expected) in [
            (vec![never], 100),
            (vec![never, ("grpc-timeout", "5S")], 100),
            (vec![never, ("grpc-timeout", "20m")], 20),
        ] {
            let begun = Instant::now();
            let reply = peer.call(UNARY, &fields, b"").await;
            assert_eq!(reply.code(), code::DEADLINE_EXCEEDED);
            // The runtime's clock counts in milliseconds.
            let elapsed = begun.elapsed().as_millis();
            assert!((expected..=expected + 2).contains(&elapsed), "{elapsed} instead of {expected}");
        }
        let script = [("script", "time-left"), ("grpc-timeout", "5S")];
        let left: u64 = peer.call(UNARY, &script, b"").await.texts()[0].parse().expect("milliseconds");
        assert!(left <= 100, "{left}");
        let left: u64 =
            peer.call(SERVER_STREAM, &script, b"").await.texts()[0].parse().expect("milliseconds");
        assert!(left > 100, "{left}");
        served.finish([peer]).await;
    });
}

#[test]
fn settings_for_what_is_not_mounted_are_an_error_at_the_start() {
    virtual_time(async {
        for name in ["test.Tset", "test.Test/Nuary", "Unary", ""] {
            let server = Stage::new(peregrine_server::Execution::Auto).server();
            let server = server.configure(name, MethodConfig::new());
            let none: [Result<PipeEnd, Infallible>; 0] = [];
            let error = server.serve_incoming(iter(none)).await.expect_err("the name is wrong");
            assert!(error.to_string().contains(&format!("for {name},")), "{error}");
        }
    });
}
