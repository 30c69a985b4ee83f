//! Our client on a server that keeps closing its connections: no call notices.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use peregrine::observe::{ConnectionEvent, ConnectionInfo};
use peregrine::rt::{bidi, unary};
use peregrine::{BytesCodec, Channel, MethodDescriptor, Observe, Request, Server, Status, iter};
use peregrine_testkit::service::{BIDI, UNARY};
use peregrine_testkit::{Served, TestService, serve, virtual_time};

const METHOD: MethodDescriptor<'static> = MethodDescriptor {
    path: UNARY,
    service: "test.Test",
    name: "Unary",
    client_streaming: false,
    server_streaming: false,
    file_descriptor_set: &[],
};

/// Counts connections that were opened, and those that are still open.
#[derive(Debug, Default)]
struct Connections {
    opened: AtomicUsize,
    open: AtomicUsize,
}

impl Observe for Connections {
    fn connection(&self, _connection: &ConnectionInfo, event: &ConnectionEvent<'_>) {
        match event {
            ConnectionEvent::Opened => {
                self.opened.fetch_add(1, Ordering::Relaxed);
                self.open.fetch_add(1, Ordering::Relaxed);
            }
            ConnectionEvent::Closed { .. } => {
                self.open.fetch_sub(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

fn channel_to(served: &Arc<Served>, observer: Arc<Connections>) -> Channel {
    let served = Arc::clone(served);
    let open = move || std::future::ready(io::Result::Ok(served.connect()));
    Channel::builder("server.test:50051")
        .connector(open)
        .observe(observer)
        .build()
        .expect("the target is one")
}

async fn echo(channel: &Channel, message: Bytes, script: &'static str) -> Result<Bytes, Status> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("script", script).expect("a script is plain text");
    unary::<BytesCodec, Bytes, Bytes>(channel, &METHOD, request).await.map(peregrine::Response::into_inner)
}

/// `callers` tasks that make `calls` calls each, none of which may fail.
async fn load(channel: &Channel, callers: usize, calls: usize) {
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let channel = channel.clone();
            tokio::spawn(async move {
                for call in 0..calls {
                    let message = Bytes::from(format!("{caller} {call}"));
                    let script = if call % 3 == 0 { "echo" } else { "sleep 7; echo" };
                    let reply = echo(&channel, message.clone(), script).await;
                    assert_eq!(reply.expect("no call fails for its connection's age"), message);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no caller panics");
    }
}

// bug-reports 54, 57; wire-rules 75, 77
#[test]
fn bug_54_a_thousand_calls_over_connections_of_a_tenth_of_a_second_all_succeed() {
    virtual_time(async {
        let seen: [Arc<Connections>; 2] = Default::default();
        let server = Server::builder()
            .add_service(TestService::default())
            .max_connection_age(Duration::from_millis(100))
            .observe(Arc::clone(&seen[0]));
        let served = Arc::new(serve(server));
        let channel = channel_to(&served, Arc::clone(&seen[1]));
        load(&channel, 10, 100).await;
        drop(channel);
        // A closing connection takes a second at most.
        tokio::time::sleep(Duration::from_secs(2)).await;
        for side in seen {
            let opened = side.opened.load(Ordering::Relaxed);
            assert!((4..100).contains(&opened), "{opened} connections for some 500 ms");
            assert_eq!(side.open.load(Ordering::Relaxed), 0);
        }
    });
}

// bug-reports 53, 54: the same when nothing but calls decides when a connection has had enough.
#[test]
fn bug_54_idle_connections_that_close_cost_no_call() {
    virtual_time(async {
        let seen = Arc::<Connections>::default();
        let server = Server::builder()
            .add_service(TestService::default())
            .max_connection_idle(Duration::from_millis(20));
        let served = Arc::new(serve(server));
        let channel = channel_to(&served, Arc::clone(&seen));
        for pause in 0..200_u64 {
            assert_eq!(echo(&channel, Bytes::from_static(b"x"), "echo").await.unwrap(), "x");
            tokio::time::sleep(Duration::from_millis(pause % 40)).await;
        }
        drop(channel);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(seen.opened.load(Ordering::Relaxed) > 20);
        assert_eq!(seen.open.load(Ordering::Relaxed), 0);
    });
}

// bug-reports 54, 57: calls that stream both ways and outlive their connection's age.
#[test]
fn bug_54_57_streams_on_connections_of_a_few_milliseconds_all_succeed() {
    let chat = MethodDescriptor { path: BIDI, client_streaming: true, server_streaming: true, ..METHOD };
    virtual_time(async {
        let seen: [Arc<Connections>; 2] = Default::default();
        let server = Server::builder()
            .add_service(TestService::default())
            .max_connection_age(Duration::from_millis(10))
            .observe(Arc::clone(&seen[0]));
        let served = Arc::new(serve(server));
        let channel = channel_to(&served, Arc::clone(&seen[1]));
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let (channel, chat) = (channel.clone(), chat);
                tokio::spawn(async move {
                    for call in 0..50_u8 {
                        let messages = vec![Bytes::from(vec![call; 10_000]); 5];
                        let mut request = Request::new(iter(messages));
                        let script = "echo; sleep 9; echo; sleep 9; echo-all";
                        request.metadata_mut().insert("script", script).expect("plain text");
                        let replies = bidi::<BytesCodec, Bytes, Bytes, _>(&channel, &chat, request).await;
                        let mut replies = replies.expect("no call fails for its connection's age");
                        let mut count = 0;
                        while let Some(reply) = replies.message().await.expect("nor later") {
                            assert_eq!(reply, vec![call; 10_000]);
                            count += 1;
                        }
                        assert_eq!(count, 5);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no caller panics");
        }
        drop(channel);
        tokio::time::sleep(Duration::from_secs(2)).await;
        for side in seen {
            assert!(side.opened.load(Ordering::Relaxed) > 10);
            assert_eq!(side.open.load(Ordering::Relaxed), 0);
        }
    });
}
