//! Metadata costs no allocation by the entry: what a call allocates, on both ends together, is counted with 0, 4, 12
//! and 48 entries in its request, its response head and its trailers (wire-rules H1, H2).
//!
//! Both ends run on one thread, and the metadata that they send is made before the count begins.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which the lint takes for code")]

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use peregrine::rt::{self, CallSlot, Service};
use peregrine::{
    BytesCodec, Channel, Code, MetadataMap, MethodDescriptor, Request, Response, Server, ServiceDescriptor,
    Status, unfold,
};
use peregrine_testkit::CountingAllocator;
use tokio::net::UnixStream;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

const METHOD: MethodDescriptor<'static> = MethodDescriptor {
    path: "/test.Cost/Call",
    service: "test.Cost",
    name: "Call",
    client_streaming: false,
    server_streaming: false,
    file_descriptor_set: &[],
};

static SERVICE: ServiceDescriptor =
    ServiceDescriptor { name: "test.Cost", methods: &[METHOD], file_descriptor_set: &[] };

/// Initial and trailing metadata of the replies to come, and whether each is an error.
type Replies = Arc<Mutex<Vec<(MetadataMap, MetadataMap, bool)>>>;

struct Cost(Replies);

impl Service for Cost {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &SERVICE
    }

    fn slot(&self, _method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        Some(rt::unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
            Arc::clone(&self.0),
            |replies: Arc<Mutex<Vec<_>>>, request: Request<Bytes>| async move {
                let mut response = Response::new(Bytes::new());
                let (head, trailers, fails): (_, _, bool) = replies.lock().unwrap().pop().unwrap();
                // A reply to metadata that did not arrive would be cheap.
                let keys = |map: &MetadataMap| map.iter().filter(|(name, _)| name.starts_with("key")).count();
                assert_eq!(keys(request.metadata()), keys(&head));
                if fails {
                    return Err(Status::with_code_and_metadata(Code::Aborted, "", trailers));
                }
                *response.metadata_mut() = head;
                *response.trailers_mut() = trailers;
                Ok::<_, Status>(response)
            },
        ))
    }
}

/// What the entries of a test look like.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an axis of its own")]
struct Kind {
    binary: bool,
    /// Each call has other values, so that nothing can be remembered from the one before.
    varied: bool,
    /// All entries have one name.
    repeated: bool,
    /// Beside each entry stands one with a reserved name, which is not sent (wire-rules H2).
    reserved: bool,
    /// The call ends with an error, which carries the trailers.
    fails: bool,
}

const PLAIN: Kind = Kind { binary: false, varied: false, repeated: false, reserved: false, fails: false };

fn metadata(entries: usize, kind: Kind, call: usize) -> MetadataMap {
    let mut map = MetadataMap::new();
    for entry in 0..entries {
        let value = if kind.varied { format!("{call:08}-{entry:04}") } else { format!("value-{entry:07}") };
        let number = if kind.repeated { 0 } else { entry };
        if kind.binary {
            map.append_bin(&format!("key-{number}-bin"), value.as_bytes()).expect("a legal name");
        } else {
            map.append(&format!("key-{number}"), &value).expect("a legal entry");
        }
        if kind.reserved {
            map.append(["te", "grpc-status", "content-type"][entry % 3], &value).expect("a legal entry");
        }
    }
    map
}

/// Calls before the count begins: tables and buffers have their size by then.
const WARM: usize = 200;
/// Calls that are counted together, and how often. Which blocks the tables of compression and of memory take up first
/// is a matter of chance, and so is when the last one is in; the best window is what a call costs from then on. It is
/// short, so that what comes by the clock (a PING that measures the path) is not in every one of them on a slow machine.
const WINDOW: usize = 16;
const WINDOWS: usize = 40;

/// Allocations of `WINDOW` calls.
fn count(entries: usize, kind: Kind) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        let made = |call| metadata(entries, kind, call);
        let total = WARM + WINDOWS * WINDOW;
        let replies: Replies = Arc::new(Mutex::new(
            (0..total).map(|call| (made(call), made(total + call), kind.fails)).collect(),
        ));
        let incoming = unfold(Some(far), |socket| async {
            match socket {
                Some(socket) => Some((Ok::<_, io::Error>(socket), None)),
                None => std::future::pending().await,
            }
        });
        let server = Server::builder().max_header_list_size(1 << 20).add_service(Cost(replies));
        let serving = tokio::spawn(server.serve_incoming(incoming));
        let near = Mutex::new(Some(near));
        let channel = Channel::builder("cost.test:1")
            .connector(move || {
                std::future::ready(
                    near.lock().unwrap().take().ok_or_else(|| io::ErrorKind::NotConnected.into()),
                )
            })
            .connect()
            .await
            .unwrap();
        let mut requests: Vec<Request<Bytes>> = (0..total)
            .map(|call| {
                let mut request = Request::new(Bytes::new());
                *request.metadata_mut() = made(2 * total + call);
                request
            })
            .collect();
        let (mut before, mut best) = (0, usize::MAX);
        for call in 0..total {
            if call >= WARM && call.is_multiple_of(WINDOW) {
                let now = HEAP.allocations();
                if call > WARM {
                    best = best.min(now - before);
                }
                before = now;
            }
            let request = requests.pop().unwrap();
            match rt::unary::<BytesCodec, Bytes, Bytes>(&channel, &METHOD, request).await {
                Ok(reply) => {
                    assert_eq!((reply.metadata().len(), reply.trailers().len()), (entries, entries));
                }
                Err(status) => {
                    assert_eq!((status.code(), status.metadata().len()), (Code::Aborted, entries));
                    assert!(kind.fails);
                }
            }
        }
        serving.abort();
        best
    })
}

/// One test, since the counter is the process's: tests beside it would count too.
#[test]
fn allocations_do_not_grow_with_the_number_of_entries() {
    for binary in [false, true] {
        let kind = Kind { binary, ..PLAIN };
        let none = count(0, kind);
        for entries in [4, 12, 48] {
            assert_eq!(count(entries, kind), none, "{kind:?}, {entries} entries");
        }
        // Where nothing can be remembered, metadata is decoded into storage of its own: once for all entries.
        let kind = Kind { binary, varied: true, ..PLAIN };
        let few = count(4, kind);
        for entries in [12, 48] {
            assert_eq!(count(entries, kind), few, "{kind:?}, {entries} entries");
        }
    }
    // One name for all, reserved names among them, and as the trailers of an error.
    for kind in [
        Kind { varied: true, repeated: true, ..PLAIN },
        Kind { binary: true, varied: true, repeated: true, ..PLAIN },
        Kind { varied: true, reserved: true, ..PLAIN },
        Kind { fails: true, ..PLAIN },
        Kind { binary: true, varied: true, fails: true, ..PLAIN },
    ] {
        assert_eq!(count(48, kind), count(4, kind), "{kind:?}");
    }
}
