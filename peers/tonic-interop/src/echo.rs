//! Sends two metadata keys of the request back, one in the headers and one in the trailers.
//!
//! A tonic handler cannot set the trailers of a call that succeeds, so this wraps the service and its bodies.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tonic::codegen::{BoxFuture, Bytes, Service};
use tonic::server::NamedService;

use crate::{INITIAL_KEY, TRAILING_KEY};

/// A service with the echo around it.
#[derive(Clone, Debug)]
pub struct EchoMetadata<S>(pub S);

impl<S: NamedService> NamedService for EchoMetadata<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for EchoMetadata<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Response<Body>, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let initial = request.headers().get(INITIAL_KEY).cloned();
        let trailing = request.headers().get(TRAILING_KEY).cloned();
        let response = self.0.call(request);
        Box::pin(async move {
            let mut response = response.await?;
            if let Some(value) = initial {
                response.headers_mut().insert(INITIAL_KEY, value);
            }
            Ok(match trailing {
                Some(value) => response.map(|body| Body::new(WithTrailer { body, value })),
                None => response,
            })
        })
    }
}

/// A body whose trailers get one more entry.
struct WithTrailer {
    body: Body,
    value: HeaderValue,
}

impl http_body::Body for WithTrailer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| match frame.into_trailers() {
                Ok(mut trailers) => {
                    trailers.insert(TRAILING_KEY, self.value.clone());
                    http_body::Frame::trailers(trailers)
                }
                Err(data) => data,
            })
        }))
    }
}
