//! A service with one server-streaming method, fed by a function of the test's, with any codec.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::{
    BytesCodec, Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, MethodDescriptor, Payload,
    Response, Sender, ServiceDescriptor, Status, channel,
};
use peregrine_server::service::{CallSlot, Service, server_streaming_slot};

type Producer =
    dyn Fn(Sender<Bytes>) -> Pin<Box<dyn Future<Output = Result<(), Status>> + Send>> + Send + Sync;

pub(crate) struct Feed<C = BytesCodec> {
    producer: Arc<Source>,
    codec: PhantomData<fn() -> C>,
}

struct Source(Box<Producer>);

const PATH: &str = "/test.Feed/Feed";

static DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    name: "test.Feed",
    methods: &[MethodDescriptor {
        path: PATH,
        service: "test.Feed",
        name: "Feed",
        client_streaming: false,
        server_streaming: true,
        file_descriptor_set: &[],
    }],
    file_descriptor_set: &[],
};

impl<C> Feed<C> {
    pub(crate) const PATH: &str = PATH;

    pub(crate) fn new<F, Fut>(producer: F) -> Self
    where
        F: Fn(Sender<Bytes>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), Status>> + Send + 'static,
    {
        let producer = Arc::new(Source(Box::new(move |sender| Box::pin(producer(sender)))));
        Self { producer, codec: PhantomData }
    }
}

impl<C: Codec<Bytes>> Service for Feed<C> {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn slot(&self, _method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        Some(server_streaming_slot::<C, Bytes, Bytes, _, _, _>(
            Arc::clone(&self.producer),
            |source: Arc<Source>, _request, sink| async move {
                sink.stream(Response::new(channel(|sender| (source.0)(sender)))).await
            },
        ))
    }
}

/// Writes half of the message `broken` and gives up; every other one as it is.
pub(crate) struct Brittle;

impl Codec<Bytes> for Brittle {
    fn encode<E: EncodeTarget>(value: &Bytes, target: &mut E) -> Result<(), EncodeError> {
        let mut room = target.begin(value.len())?;
        if value == "broken" {
            room.put_slice(&value[..3]);
            return Err(EncodeError::codec("it broke"));
        }
        room.put_slice(value);
        Ok(())
    }

    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<Bytes, DecodeError> {
        Ok(body.into_bytes())
    }
}
