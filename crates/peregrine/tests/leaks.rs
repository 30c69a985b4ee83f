//! What calls and connections leave behind, in bytes of the heap. Alone in its program, since the allocator is the
//! program's.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use peregrine::rt::server_streaming;
use peregrine::{BytesCodec, Channel, MethodDescriptor, Request, Server};
use peregrine_testkit::service::SERVER_STREAM;
use peregrine_testkit::{CountingAllocator, TestService, serve, virtual_time};

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

// bug-reports 43, 57: neither calls that are given up nor connections that are over keep anything.
#[test]
fn bug_43_57_calls_given_up_and_connections_gone_leave_no_memory_behind() {
    const LIST: MethodDescriptor<'static> = MethodDescriptor {
        path: SERVER_STREAM,
        server_streaming: true,
        service: "test.Test",
        name: "ServerStream",
        client_streaming: false,
        file_descriptor_set: &[],
    };
    virtual_time(async {
        let age = Duration::from_secs(1);
        let service = TestService::default();
        let served = Arc::new(serve(Server::builder().add_service(service).max_connection_age(age)));
        let connect = {
            let served = Arc::clone(&served);
            move || std::future::ready(io::Result::Ok(served.connect()))
        };
        let channel = Channel::builder("server.test:1").connector(connect).build().unwrap();
        let mut live = Vec::new();
        for _ in 0..4 {
            for round in 0..2_000_u32 {
                let mut request = Request::new(Bytes::new());
                let script = "head k v; send one; many 3 20000; never";
                request.metadata_mut().insert("script", script).unwrap();
                let mut replies =
                    server_streaming::<BytesCodec, Bytes, Bytes>(&channel, &LIST, request).await.unwrap();
                if round % 2 == 0 {
                    replies.message().await.unwrap();
                }
                drop(replies);
                if round % 20 == 0 {
                    tokio::time::sleep(age / 4).await;
                }
            }
            tokio::time::sleep(age * 10).await;
            live.push(CountingAllocator::thread_live_bytes());
        }
        let grown = live[3] - live[1];
        assert!(grown < 64 * 1024, "4,000 calls left {grown} bytes behind: {live:?}");
    });
}
