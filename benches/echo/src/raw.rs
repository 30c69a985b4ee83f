//! The bench service without a message codec, where it can do without: what comes in goes out as it is.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine::rt::{CallSlot, ResponseSink, Service, bidi_slot, unary_slot};
use peregrine::{BytesCodec, Request, Response, ServiceDescriptor, Streaming};

/// Echo and Bidi on raw bytes; Stream and Collect, which have to look into their messages, as `S` does them.
pub(crate) struct Raw<S> {
    pub(crate) others: S,
    /// The reply's metadata is the request's.
    pub(crate) echo_metadata: bool,
}

impl<S: Service> Service for Raw<S> {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.others.descriptor()
    }

    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        let service = Arc::new(());
        match self.descriptor().methods.get(method)?.name {
            "Echo" if self.echo_metadata => Some(unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                service,
                |_, request: Request<Bytes>| async move {
                    let metadata = request.metadata().clone();
                    let mut response = Response::new(request.into_inner());
                    *response.metadata_mut() = metadata;
                    Ok(response)
                },
            )),
            "Echo" => Some(unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                service,
                |_, request: Request<Bytes>| async move { Ok(request.into_inner().into()) },
            )),
            "Bidi" => Some(bidi_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
                service,
                |_, request: Request<Streaming<Bytes>>, out: ResponseSink<BytesCodec, Bytes>| {
                    out.stream(request.into_inner().into())
                },
            )),
            _ => self.others.slot(method),
        }
    }
}
