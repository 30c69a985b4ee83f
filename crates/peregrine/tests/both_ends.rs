//! Our client and our server together: over sockets of each kind, on both runtimes, and through a change of servers.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use peregrine::rt::{bidi, client_streaming, server_streaming, unary};
use peregrine::{BytesCodec, Channel, Code, MethodDescriptor, Request, Server, Status, iter};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Journal, Served, TestService, serve, virtual_time};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Builder;

fn method(path: &str, client_streaming: bool, server_streaming: bool) -> MethodDescriptor<'_> {
    MethodDescriptor {
        path,
        service: "test.Test",
        name: "Method",
        client_streaming,
        server_streaming,
        file_descriptor_set: &[],
    }
}

async fn echo(channel: &Channel, message: Bytes) -> Result<Bytes, Status> {
    let descriptor = method(UNARY, false, false);
    let reply = unary::<BytesCodec, Bytes, Bytes>(channel, &descriptor, Request::new(message)).await?;
    Ok(reply.into_inner())
}

/// One call of each shape, with messages of `size` bytes.
async fn all_shapes(channel: &Channel, size: usize) -> Result<(), Status> {
    let message = Bytes::from(vec![b'x'; size]);
    assert_eq!(echo(channel, message.clone()).await?, message);

    let descriptor = method(SERVER_STREAM, false, true);
    let request = Request::new(message.clone());
    let mut replies = server_streaming::<BytesCodec, Bytes, Bytes>(channel, &descriptor, request).await?;
    assert_eq!(replies.message().await?, Some(message.clone()));
    assert_eq!(replies.message().await?, None);

    let descriptor = method(CLIENT_STREAM, true, false);
    let requests = Request::new(iter(vec![message.clone(); 10]));
    let reply = client_streaming::<BytesCodec, Bytes, Bytes, _>(channel, &descriptor, requests).await?;
    assert_eq!(reply.get_ref(), &Bytes::from(format!("10 messages, {} bytes", 10 * size)));

    let descriptor = method(BIDI, true, true);
    let requests = Request::new(iter(vec![message.clone(); 10]));
    let mut replies = bidi::<BytesCodec, Bytes, Bytes, _>(channel, &descriptor, requests).await?;
    for _ in 0..10 {
        assert_eq!(replies.message().await?, Some(message.clone()));
    }
    assert_eq!(replies.message().await?, None);

    let unknown = method("/test.Test/Unknown", false, false);
    let status = unary::<BytesCodec, Bytes, Bytes>(channel, &unknown, Request::new(message)).await;
    assert_eq!(status.map_err(|status| status.code()).err(), Some(Code::Unimplemented));
    Ok(())
}

/// Runs `test` on a current-thread and on a multi-thread runtime.
fn on_both_runtimes<Fut: Future<Output = ()>>(test: impl Fn() -> Fut) {
    for builder in [&mut Builder::new_current_thread(), Builder::new_multi_thread().worker_threads(2)] {
        builder.enable_all().build().expect("a runtime can be made").block_on(test());
    }
}

#[test]
fn all_shapes_work_over_tcp() {
    on_both_runtimes(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(Server::builder().add_service(TestService::default()).serve(listener));
        let channel = Channel::connect(address).await.unwrap();
        for size in [0, 1, 1_000, 70_000, 1_000_000] {
            all_shapes(&channel, size).await.unwrap();
        }
        // The listener has no IPv6 address, which the name may have as well.
        let by_name = Channel::connect(format!("http://localhost:{}", address.port())).await.unwrap();
        all_shapes(&by_name, 10).await.unwrap();
        server.abort();
    });
}

#[test]
fn all_shapes_work_over_unix_sockets() {
    let directory = std::env::temp_dir().join(format!("peregrine-both-ends-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("server.sock");
    on_both_runtimes(|| async {
        let _gone = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let server = tokio::spawn(Server::builder().add_service(TestService::default()).serve(listener));
        let channel = Channel::connect(format!("unix:{}", path.display())).await.unwrap();
        assert_eq!(channel.authority(), "localhost");
        for size in [10, 300_000] {
            all_shapes(&channel, size).await.unwrap();
        }
        server.abort();
    });
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn servers_that_come_and_go_cost_no_call() {
    // wire-rules 75 to 77, bug-reports 54, 55
    virtual_time(async {
        let start = || serve(Server::builder().add_service(TestService::default()));
        let current: Arc<Mutex<Option<Served>>> = Arc::new(Mutex::new(Some(start())));
        let reached = Arc::clone(&current);
        let channel = Channel::builder("test:1")
            .connector(move || {
                let server = reached.lock().unwrap();
                std::future::ready(Ok(server.as_ref().expect("there is a server").connect()))
            })
            .build()
            .unwrap();
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..20_u32 {
            let channel = channel.clone();
            callers.spawn(async move {
                for call in 0..200_u32 {
                    let message = Bytes::from(format!("{caller}/{call}"));
                    assert_eq!(echo(&channel, message.clone()).await.unwrap(), message);
                    if call % 7 == 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
            });
        }
        let mut servers = 1;
        let mut stopping = Vec::new();
        while !callers.is_empty() {
            tokio::select! {
                Some(done) = callers.join_next() => done.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(2)) => {
                    let old = current.lock().unwrap().replace(start());
                    stopping.push(old.expect("there is a server").begin_stop());
                    servers += 1;
                }
            }
        }
        assert!(servers > 5, "{servers}");
        drop(channel);
        let last = current.lock().unwrap().take();
        stopping.push(last.expect("there is a server").begin_stop());
        for stopped in stopping {
            let report = stopped.await.unwrap();
            assert_eq!((report.cut_connections, report.cut_calls), (0, 0), "{report}");
        }
    });
}

#[test]
fn three_hundred_calls_in_one_burst_all_succeed_against_a_limit_of_a_hundred() {
    // wire-rules 67, 82: the burst begins before there is a connection, and goes over one.
    virtual_time(async {
        let journal = Arc::new(Journal::default());
        let service = TestService::new(Arc::clone(&journal));
        let served = Arc::new(serve(Server::builder().max_concurrent_streams(100).add_service(service)));
        let reached = Arc::clone(&served);
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let channel = Channel::builder("test:1")
            .connector(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                std::future::ready(Ok(reached.connect()))
            })
            .build()
            .unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for call in 0..300_u32 {
            let channel = channel.clone();
            calls.spawn(async move {
                let message = Bytes::copy_from_slice(&call.to_be_bytes());
                assert_eq!(echo(&channel, message.clone()).await.unwrap(), message);
            });
        }
        calls.join_all().await;
        let counts = journal.counts();
        assert_eq!((counts.started, counts.ended), (300, 300), "each ran once");
        drop(channel);
        peregrine_testkit::settle().await;
        let served = Arc::into_inner(served).expect("the channel has dropped its share");
        served.finish([]).await;
        assert_eq!(connections.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn all_shapes_work_over_ipv6() {
    on_both_runtimes(|| async {
        // Machines without IPv6 have no such address.
        let Ok(listener) = TcpListener::bind("[::1]:0").await else { return };
        let address = listener.local_addr().unwrap();
        let port = address.port();
        let server = tokio::spawn(Server::builder().add_service(TestService::default()).serve(listener));
        for target in
            [address.to_string(), format!("http://[::1]:{port}"), format!("[0:0:0:0:0:0:0:1]:{port}")]
        {
            let channel = Channel::connect(&target).await.expect("the server listens");
            all_shapes(&channel, 1_000).await.expect("the server serves");
            let mut request = Request::new(Bytes::new());
            request.metadata_mut().insert("script", "peer").expect("plain text");
            let descriptor = method(UNARY, false, false);
            let reply = unary::<BytesCodec, Bytes, Bytes>(&channel, &descriptor, request).await;
            assert!(reply.expect("the server serves").starts_with(b"[::1]:"), "{target}");
        }
        server.abort();
    });
}

#[test]
fn an_ipv4_server_is_reached_by_its_mapped_address_and_a_closed_ipv6_port_is_named() {
    on_both_runtimes(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(Server::builder().add_service(TestService::default()).serve(listener));
        if TcpListener::bind("[::1]:0").await.is_ok() {
            let channel = Channel::connect(format!("[::ffff:127.0.0.1]:{port}")).await.unwrap();
            all_shapes(&channel, 10).await.unwrap();
            let error = Channel::connect(format!("[::1]:{port}")).await.unwrap_err();
            assert!(error.to_string().contains(&format!("[::1]:{port}")), "{error}");
        }
        server.abort();
    });
}
