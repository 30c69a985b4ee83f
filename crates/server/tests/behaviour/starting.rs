//! Starting a server, and the ways in which that fails.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use peregrine_core::iter;
use peregrine_server::Server;
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Peer, PeerConfig, PipeEnd, TestService, pipe, virtual_time};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::Stage;

fn with_sockets<T>(test: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().expect("sockets can be had").block_on(test)
}

/// What a user reads who prints the error.
async fn report(server: Server, address: &str) -> String {
    format!("{:?}", server.serve(address).await.expect_err("the address cannot be listened on"))
}

#[test]
fn an_address_that_cannot_be_bound_says_which_why_and_what_to_do() {
    with_sockets(async {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let server = || Server::builder().add_service(TestService::new(Arc::default()));
        let text = report(server(), &address).await;
        assert!(text.contains(&address) && text.contains("another process listens there"), "{text}");

        let text = report(server(), "127.0.0.1").await;
        assert!(text.contains("cannot listen on 127.0.0.1") && text.contains("with its port"), "{text}");

        let text = report(server(), "http://127.0.0.1:50051").await;
        assert!(text.contains("has no scheme: write 127.0.0.1:50051"), "{text}");

        let text = report(server(), "unix:/no/such/folder/app.sock").await;
        assert!(text.contains("/no/such/folder/app.sock"), "{text}");
    });
}

#[test]
fn a_server_without_services_is_an_error_at_the_start() {
    with_sockets(async {
        assert_eq!(
            report(Server::builder(), "127.0.0.1:0").await,
            "serving failed: the server has no services, and could only refuse calls\n  phase: serve\n  next step: \
             mount one with add_service(..)"
        );
    });
}

#[test]
fn a_service_that_is_mounted_twice_is_an_error_at_the_start() {
    virtual_time(async {
        let server = Server::builder()
            .add_service(TestService::new(Arc::default()))
            .add_service(TestService::new(Arc::default()));
        let none: [Result<PipeEnd, Infallible>; 0] = [];
        let error = server.serve_incoming(iter(none)).await.unwrap_err();
        assert!(error.to_string().contains("test.Test"), "{error}");
    });
}

#[test]
fn a_connection_that_did_not_come_about_does_not_end_the_server() {
    virtual_time(async {
        let (near, far) = pipe();
        let incoming = iter([Err(io::Error::other("a failed handshake")), Ok(far)]);
        let server = Stage::new(peregrine_server::Execution::Auto).server();
        let serving = tokio::spawn(async move { server.serve_incoming(incoming).await });
        let mut peer = Peer::new(near, PeerConfig::default());
        peer.start().await;
        assert_eq!(peer.call(UNARY, &[], b"hello").await.texts(), ["hello"]);
        drop(peer);
        assert!(serving.await.unwrap().unwrap().is_clean());
    });
}

// wire-rules R3
#[test]
fn a_mount_prefix_that_no_path_can_have_is_an_error_at_the_start() {
    virtual_time(async {
        for prefix in ["api", "/", "/api/", "/a b", "/caf\u{e9}"] {
            let none: [Result<PipeEnd, Infallible>; 0] = [];
            let error = Server::builder().mount_under(prefix).serve_incoming(iter(none)).await.unwrap_err();
            assert!(error.to_string().contains(&format!("{prefix:?}")), "{error}");
        }
        let none: [Result<PipeEnd, Infallible>; 0] = [];
        let service = TestService::new(Arc::default());
        let server = Server::builder().add_service(service).mount_under("/api/").mount_under("");
        assert!(server.serve_incoming(iter(none)).await.is_ok(), "the last one counts");
    });
}
