//! A server that makes calls of its own while it answers one: deadline and cancellation go along, tasks that a handler
//! spawned hear that its call is over, credentials prove who calls.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic, its helpers too")]

use std::future::ready;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use peregrine::rt::{CallSlot, Service, ServiceDescriptor, server_streaming, unary, unary_slot};
use peregrine::{BytesCodec, Channel, Code, MethodDescriptor, Request, Response, Server, Status};
use peregrine_testkit::service::{SERVER_STREAM, UNARY};
use peregrine_testkit::{Journal, Served, TestService, serve, settle, virtual_time};
use tokio::sync::oneshot;

const FRONT: MethodDescriptor<'static> = method("/test.Front/Ask", "test.Front", false);
const BACK: MethodDescriptor<'static> = method(UNARY, "test.Test", false);
const BACK_STREAM: MethodDescriptor<'static> = method(SERVER_STREAM, "test.Test", true);

const fn method(
    path: &'static str,
    service: &'static str,
    server_streaming: bool,
) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service,
        name: "Method",
        client_streaming: false,
        server_streaming,
        file_descriptor_set: &[],
    }
}

/// Answers by asking the back.
struct Front {
    back: Channel,
    /// How the calls of spawned tasks ended.
    ended: Mutex<Option<oneshot::Sender<Code>>>,
}

impl Front {
    async fn ask(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Status> {
        let mut onward = Request::new(Bytes::new()).within(&request);
        let script = match &request[..] {
            b"time-left" => "time-left",
            _ => "never",
        };
        onward.metadata_mut().insert("script", script)?;
        match &request[..] {
            b"spawn unary" => self.spawn(async move |back| ask_back(&back, onward).await.map(drop)),
            b"spawn stream" => self.spawn(async move |back| {
                let onward = server_streaming::<BytesCodec, Bytes, Bytes>(&back, &BACK_STREAM, onward);
                onward.await?.message().await.map(drop)
            }),
            b"spawn wait" => {
                let context = request.context().clone();
                self.spawn(async move |_back| {
                    context.cancelled().await;
                    Err(Status::aborted("heard of it"))
                });
            }
            b"spawn and answer" => {
                self.spawn(async move |back| ask_back(&back, onward).await.map(drop));
                return Ok(Bytes::new().into());
            }
            _ => return ask_back(&self.back, onward).await,
        }
        std::future::pending().await
    }

    fn spawn<F>(&self, work: impl FnOnce(Channel) -> F)
    where
        F: Future<Output = Result<(), Status>> + Send + 'static,
    {
        let (work, ended) = (work(self.back.clone()), self.ended.lock().unwrap().take());
        tokio::spawn(async move {
            let code = work.await.map_or_else(|status| status.code(), |()| Code::Ok);
            ended.unwrap().send(code).unwrap();
        });
    }
}

async fn ask_back(back: &Channel, request: Request<Bytes>) -> Result<Response<Bytes>, Status> {
    unary::<BytesCodec, Bytes, Bytes>(back, &BACK, request).await
}

/// Mounts a [`Front`].
struct FrontServer(Arc<Front>);

static DESCRIPTOR: ServiceDescriptor =
    ServiceDescriptor { name: "test.Front", methods: &[FRONT], file_descriptor_set: &[] };

impl Service for FrontServer {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn slot(&self, _method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        Some(unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
            Arc::clone(&self.0),
            |front: Arc<Front>, request| async move { front.ask(request).await },
        ))
    }
}

fn channel_to(served: &Served) -> Channel {
    let end = Mutex::new(Some(served.connect()));
    let open = move || ready(end.lock().unwrap().take().ok_or_else(|| std::io::Error::other("used up")));
    Channel::builder("server.test:1").connector(open).build().unwrap()
}

/// A back, a front before it, and who calls the front.
struct Stage {
    front: Channel,
    journal: Arc<Journal>,
    ended: oneshot::Receiver<Code>,
    _servers: [Served; 2],
}

impl Stage {
    fn new() -> Self {
        let journal = Arc::<Journal>::default();
        let back = serve(Server::builder().add_service(TestService::new(Arc::clone(&journal))));
        let (told, ended) = oneshot::channel();
        let front = Front { back: channel_to(&back), ended: Mutex::new(Some(told)) };
        let front = serve(Server::builder().add_service(FrontServer(Arc::new(front))));
        Self { front: channel_to(&front), journal, ended, _servers: [back, front] }
    }

    async fn ask(&self, what: &'static str, timeout: Option<Duration>) -> Result<Bytes, Status> {
        let mut request = Request::new(Bytes::from_static(what.as_bytes()));
        request.options_mut().timeout = timeout;
        let reply = unary::<BytesCodec, Bytes, Bytes>(&self.front, &FRONT, request).await?;
        Ok(reply.into_inner())
    }
}

// wire-rules 13
#[test]
fn the_deadline_goes_along() {
    virtual_time(async {
        let stage = Stage::new();
        let left = stage.ask("time-left", Some(Duration::from_secs(5))).await.unwrap();
        let left: u64 = std::str::from_utf8(&left).unwrap().parse().expect("milliseconds");
        assert!((4_000..=5_001).contains(&left), "{left}");
        assert_eq!(stage.ask("time-left", None).await.unwrap(), "none");
    });
}

// wire-rules 72, 74: whoever gives the first call up gives up those behind it, made in place or by spawned tasks.
#[test]
fn cancellation_goes_along() {
    for (what, expected) in [
        ("in place", None),
        ("spawn unary", Some(Code::Cancelled)),
        ("spawn stream", Some(Code::Cancelled)),
        ("spawn wait", Some(Code::Aborted)),
    ] {
        virtual_time(async {
            let stage = Stage::new();
            let asked = tokio::time::timeout(Duration::from_millis(50), stage.ask(what, None));
            assert!(asked.await.is_err(), "{what}: nobody answers");
            if let Some(code) = expected {
                assert_eq!(stage.ended.await.unwrap(), code, "{what}");
            }
            settle().await;
            let counts = stage.journal.counts();
            assert_eq!(counts.started, counts.cancelled, "{what}: the back has heard of it: {counts:?}");
        });
    }
}

// wire-rules 73
#[test]
fn a_deadline_that_passes_is_a_cancellation_too() {
    virtual_time(async {
        let stage = Stage::new();
        let status = stage.ask("spawn wait", Some(Duration::from_millis(50))).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(stage.ended.await.unwrap(), Code::Aborted);
    });
}

#[test]
fn what_a_handler_left_behind_ends_with_its_answer() {
    virtual_time(async {
        let stage = Stage::new();
        stage.ask("spawn and answer", None).await.unwrap();
        assert_eq!(stage.ended.await.unwrap(), Code::Cancelled);
    });
}
