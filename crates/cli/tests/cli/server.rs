//! A server of `test.v1.Everything` in the test's own process, without generated code: handlers work on message
//! bytes, and the name in a request chooses what goes wrong.

use std::{
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    thread,
    time::Duration,
};

use bytes::Bytes;
use peregrine::{
    health::{Health, ServingStatus},
    reflection::Reflection,
};
use peregrine_core::{
    BytesCodec, MetadataMap, MetadataValue, MethodDescriptor, Request, Response, ServiceDescriptor, Status,
    Streaming, channel,
};
use peregrine_server::{
    IntoListener, Server, ServerTls,
    service::{CallSlot, Service, bidi_slot, client_streaming_slot, server_streaming_slot, unary_slot},
};
use prost::Message;
use tokio::{
    net::{TcpListener, UnixListener},
    sync::oneshot,
};

use crate::process::file;

/// The first field of `test.v1.Scalars`.
#[derive(Clone, PartialEq, Message)]
struct Scalars {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "9")]
    blob: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(int32, tag = "1")]
    value: i32,
}

/// A server that ends when this is dropped.
pub(crate) struct TestServer {
    pub(crate) address: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl TestServer {
    /// With health and reflection.
    pub(crate) fn start() -> Self {
        let mount = |server: Server, everything| {
            let health = Health::new();
            health.set("test.v1.Down", ServingStatus::NotServing);
            let server = server.add_service(everything).add_service(health.service());
            Reflection::of(&server).unwrap().mount(server)
        };
        Self::start_with(mount, None, None)
    }

    /// With TLS, and the service alone.
    pub(crate) fn over_tls(tls: ServerTls) -> Self {
        Self::start_with(Server::add_service, None, Some(tls))
    }

    /// On a Unix socket in this folder.
    pub(crate) fn on_unix(folder: &Path) -> Self {
        Self::start_with(Server::add_service, Some(folder.join("test.sock")), None)
    }

    /// With the service alone.
    pub(crate) fn bare() -> Self {
        Self::start_with(Server::add_service, None, None)
    }

    fn start_with(
        mount: fn(Server, Everything) -> Server,
        socket: Option<PathBuf>,
        tls: Option<ServerTls>,
    ) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, address) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut server = mount(Server::builder(), Everything::new()).shutdown_grace(Duration::ZERO);
                if let Some(tls) = tls {
                    server = server.tls(tls);
                }
                if let Some(path) = socket {
                    let listener = UnixListener::bind(&path).unwrap();
                    sender.send(format!("unix:{}", path.display())).unwrap();
                    serve(server, listener, stopped).await;
                } else {
                    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                    sender.send(listener.local_addr().unwrap().to_string()).unwrap();
                    serve(server, listener, stopped).await;
                }
            });
        });
        Self { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }
}

async fn serve(server: Server, listener: impl IntoListener, stopped: oneshot::Receiver<()>) {
    let stopped = async {
        let _ = stopped.await;
    };
    server.serve_with_shutdown(listener, stopped).await.unwrap();
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Everything {
    descriptor: &'static ServiceDescriptor,
    handlers: Arc<()>,
}

const NAME: &str = "test.v1.Everything";

const METHODS: &[MethodDescriptor<'static>] = &[
    method("/test.v1.Everything/Echo", "Echo", false, false),
    method("/test.v1.Everything/Count", "Count", false, true),
    method("/test.v1.Everything/Sum", "Sum", true, false),
    method("/test.v1.Everything/Chat", "Chat", true, true),
];

const fn method(
    path: &'static str,
    name: &'static str,
    client_streaming: bool,
    server_streaming: bool,
) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service: NAME,
        name,
        client_streaming,
        server_streaming,
        file_descriptor_set: &[],
    }
}

impl Everything {
    fn new() -> Self {
        let proto = file("proto/everything.proto");
        let mut compiler = protox::Compiler::new([file("proto")]).unwrap();
        compiler.include_imports(true).open_file(proto).unwrap();
        // Leaked, once a server: the descriptors of generated code are constants.
        let file_descriptor_set: &'static [u8] = compiler.encode_file_descriptor_set().leak();
        let descriptor =
            Box::leak(Box::new(ServiceDescriptor { name: NAME, methods: METHODS, file_descriptor_set }));
        Self { descriptor, handlers: Arc::new(()) }
    }
}

impl Service for Everything {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.descriptor
    }

    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        let service = Arc::clone(&self.handlers);
        match method {
            0 => Some(unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(service, |_, request| echo(request))),
            1 => Some(server_streaming_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                service,
                |_, request, out| async move { out.stream(count(&request)?).await },
            )),
            2 => Some(client_streaming_slot::<BytesCodec, Bytes, Bytes, _, _, _>(service, |_, request| {
                sum(request)
            })),
            3 => Some(bidi_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                service,
                |_, request: Request<Streaming<Bytes>>, out| async {
                    out.stream(Response::new(request.into_inner())).await
                },
            )),
            _ => None,
        }
    }
}

/// Sends the request back, with its `x-` headers as headers, unless its name asks for something else.
async fn echo(request: Request<Bytes>) -> Result<Response<Bytes>, Status> {
    let scalars =
        Scalars::decode(request.get_ref().as_ref()).map_err(|error| Status::internal(error.to_string()))?;
    let mut reply = request.get_ref().clone();
    match scalars.name.as_str() {
        "fail" => return Err(failure()),
        "never" => std::future::pending::<()>().await,
        "big" => reply = Bytes::from(Scalars { name: String::new(), blob: vec![0; 5 << 20] }.encode_to_vec()),
        // Field 99, which no schema knows, with one byte.
        "extra" => reply = Bytes::from([reply.as_ref(), &[0x9a, 0x06, 0x01, 0x00]].concat()),
        "garbage" => reply = Bytes::from_static(&[0x0a, 0x7f]),
        _ => {}
    }
    let mut response = Response::new(reply);
    for (name, value) in request.metadata().iter().filter(|(name, _)| name.starts_with("x-")) {
        add(response.metadata_mut(), name, value);
    }
    response.trailers_mut().insert("x-trailer", "the end").unwrap();
    Ok(response)
}

fn add(map: &mut MetadataMap, name: &str, value: MetadataValue<'_>) {
    match value {
        MetadataValue::Ascii(text) => map.append(name, text).unwrap(),
        MetadataValue::Binary(bytes) => map.append_bin(name, bytes).unwrap(),
    }
}

/// NOT_FOUND with a detail that the command knows and a trailer.
fn failure() -> Status {
    // ErrorInfo { reason: "GONE" } in an Any in a google.rpc.Status.
    let any = prost_types::Any {
        type_url: "type.googleapis.com/google.rpc.ErrorInfo".into(),
        value: b"\x0a\x04GONE".to_vec(),
    };
    let mut details = Vec::new();
    prost::encoding::message::encode(3, &any, &mut details);
    let mut status = Status::not_found("no such thing").with_details_bytes(details);
    status.metadata_mut().insert("x-why", "it has left").unwrap();
    status
}

fn count(
    request: &Request<Bytes>,
) -> Result<Response<impl peregrine_core::Stream<Item = Result<Bytes, Status>> + Send>, Status> {
    let last = Number::decode(request.get_ref().as_ref())
        .map_err(|error| Status::internal(error.to_string()))?
        .value;
    Ok(Response::new(channel(move |replies| async move {
        for value in 1..=last.abs() {
            replies.send(Bytes::from(Number { value }.encode_to_vec())).await?;
        }
        // A negative number ends badly, after its messages.
        if last < 0 { Err(Status::aborted("counted enough")) } else { Ok(()) }
    })))
}

async fn sum(mut request: Request<Streaming<Bytes>>) -> Result<Response<Bytes>, Status> {
    let mut value = 0;
    while let Some(message) = request.message().await? {
        value += Number::decode(message).map_err(|error| Status::internal(error.to_string()))?.value;
    }
    Ok(Response::new(Bytes::from(Number { value }.encode_to_vec())))
}
