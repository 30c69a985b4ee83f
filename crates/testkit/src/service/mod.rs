//! A gRPC service without generated code: `test.Test`, with a method of each shape, over raw messages.
//!
//! What a call does is written in its request, in the metadata entry `script` ([`script`] has the words).
//! Without one:
//!
//! | method | does |
//! |---|---|
//! | [`UNARY`] | answers with the request message |
//! | [`SERVER_STREAM`] | answers with the request message |
//! | [`CLIENT_STREAM`] | reads all messages, answers `<count> messages, <total> bytes` |
//! | [`BIDI`] | answers each message with itself |
//!
//! A [`Journal`] shared with the test counts what handlers do, and opens the gates at which they wait.

mod journal;
pub mod script;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::{
    BytesCodec, MethodDescriptor, Request, Response, ServiceDescriptor, Status, Stream, Streaming,
};
use peregrine_server::service::{
    CallSlot, Service, bidi_slot, client_streaming_slot, server_streaming_slot, unary_slot,
};

pub use self::journal::{Counts, Journal};
use self::script::{Call, Requests};

/// Path of the unary method.
pub const UNARY: &str = "/test.Test/Unary";
/// Path of the method that answers with a stream.
pub const SERVER_STREAM: &str = "/test.Test/ServerStream";
/// Path of the method that takes a stream.
pub const CLIENT_STREAM: &str = "/test.Test/ClientStream";
/// Path of the method that does both.
pub const BIDI: &str = "/test.Test/Bidi";

static DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    name: "test.Test",
    methods: &[
        method(UNARY, "Unary", false, false),
        method(SERVER_STREAM, "ServerStream", false, true),
        method(CLIENT_STREAM, "ClientStream", true, false),
        method(BIDI, "Bidi", true, true),
    ],
    file_descriptor_set: &[],
};

const fn method(
    path: &'static str,
    name: &'static str,
    client_streaming: bool,
    server_streaming: bool,
) -> MethodDescriptor<'static> {
    MethodDescriptor {
        path,
        service: "test.Test",
        name,
        client_streaming,
        server_streaming,
        file_descriptor_set: &[],
    }
}

/// The service. Mount it on a server; keep a share of its [`Journal`].
#[derive(Clone, Debug, Default)]
pub struct TestService {
    inner: Arc<Inner>,
}

/// What calls own a share of, as they do of a user's service.
#[derive(Debug, Default)]
struct Inner {
    journal: Arc<Journal>,
}

impl TestService {
    /// A service whose calls `journal` counts.
    pub fn new(journal: Arc<Journal>) -> Self {
        Self { inner: Arc::new(Inner { journal }) }
    }
}

impl Service for TestService {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        let inner = Arc::clone(&self.inner);
        Some(match method {
            0 => unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                inner,
                |service: Arc<Inner>, request| async move { service.unary(request).await },
            ),
            1 => server_streaming_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                inner,
                |service: Arc<Inner>, request, sink| async move {
                    let response = service.server_stream(request)?;
                    sink.stream(response).await
                },
            ),
            2 => client_streaming_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                inner,
                |service: Arc<Inner>, request| async move { service.client_stream(request).await },
            ),
            3 => bidi_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                inner,
                |service: Arc<Inner>, request, sink| async move {
                    let response = service.bidi(request)?;
                    sink.stream(response).await
                },
            ),
            _ => return None,
        })
    }
}

impl Inner {
    async fn unary(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Status> {
        Call::begin(&self.journal, request, Requests::One, "echo")?.one_reply().await
    }

    // The streams borrow the service, as a user's may.
    fn server_stream(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<impl Stream<Item = Result<Bytes, Status>> + Send>, Status> {
        Ok(Call::begin(&self.journal, request, Requests::One, "echo")?.stream_reply())
    }

    async fn client_stream(&self, request: Request<Streaming<Bytes>>) -> Result<Response<Bytes>, Status> {
        Call::begin(&self.journal, request, Requests::many, "count")?.one_reply().await
    }

    fn bidi(
        &self,
        request: Request<Streaming<Bytes>>,
    ) -> Result<Response<impl Stream<Item = Result<Bytes, Status>> + Send>, Status> {
        Ok(Call::begin(&self.journal, request, Requests::many, "echo-all")?.stream_reply())
    }
}
