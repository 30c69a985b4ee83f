//! From a case to the call that it asks for: method, messages, options.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use buffa::{Message, MessageName};
use peregrine::{Compression, Encoding, Format, Request};
use peregrine_conformance::pb::client_compat_request::cancel::CancelTiming;
use peregrine_conformance::pb::{
    BidiStreamResponse, ClientCompatRequest, ClientResponseResult, ClientStreamResponse, Codec,
    ConformancePayload, ConformanceServiceClient, IdempotentUnaryResponse, Protocol, ServerStreamResponse,
    StreamType, UnaryResponse, UnimplementedResponse,
};
use peregrine_conformance::{headers, pb};

use crate::channels::Channels;
use crate::{conversation, single};

/// The service that all cases call.
const SERVICE: &str = "connectrpc.conformance.v1.ConformanceService";

/// Makes the call that `case` describes.
///
/// # Errors
/// The case cannot be made a call of. How a call fails is its outcome and no error here.
pub(crate) async fn make(case: &ClientCompatRequest, channels: &Channels) -> Result<ClientResponseResult> {
    ensure!(case.protocol == Protocol::PROTOCOL_GRPC, "{:?} is not spoken here", case.protocol);
    ensure!(case.raw_request.is_unset(), "raw requests are for the suite's own client");
    ensure!(case.service.as_deref().is_none_or(|service| service == SERVICE), "no such service");
    let client = ConformanceServiceClient::new(channels.channel(case)?);
    let method = case.method.as_deref().context("the case names no method")?;
    let outcome = match method {
        "Unary" => {
            let call = client.unary(with_options(case, only_message(case)?)?);
            single::unary(case, call).await
        }
        "IdempotentUnary" => {
            let call = client.idempotent_unary(with_options(case, only_message(case)?)?);
            single::unary(case, call).await
        }
        "Unimplemented" => {
            let call = client.unimplemented(with_options(case, only_message(case)?)?);
            single::unary(case, call).await
        }
        "ClientStream" => {
            let (feed, receiver) = single::feed(case)?;
            let call = client.client_stream(with_options(case, receiver)?);
            single::client_stream(call, feed).await
        }
        "ServerStream" => {
            let call = client.server_stream(with_options(case, only_message(case)?)?);
            conversation::server_stream(case, call).await
        }
        "BidiStream" => {
            let (sender, receiver) = peregrine::pipe(1);
            let call = client.bidi_stream(with_options(case, receiver)?);
            let full_duplex = case.stream_type == StreamType::STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM;
            conversation::bidi_stream(case, full_duplex, messages(case)?, sender, call).await
        }
        other => bail!("no method is called {other}"),
    };
    Ok(outcome)
}

/// What a response message brings back.
pub(crate) trait Answer {
    fn into_payload(self) -> ConformancePayload;
}

macro_rules! answers {
    ($($name:ident),*) => {
        $(impl Answer for $name {
            fn into_payload(self) -> ConformancePayload {
                self.payload.into_option().unwrap_or_default()
            }
        })*
    };
}
answers!(
    UnaryResponse,
    IdempotentUnaryResponse,
    ClientStreamResponse,
    ServerStreamResponse,
    BidiStreamResponse
);

impl Answer for UnimplementedResponse {
    fn into_payload(self) -> ConformancePayload {
        ConformancePayload::default()
    }
}

/// When the caller gives up, if it does.
pub(crate) fn cancel_timing(case: &ClientCompatRequest) -> Option<CancelTiming> {
    let cancel = case.cancel.as_option()?;
    Some(cancel.cancel_timing.clone().unwrap_or(CancelTiming::AfterCloseSendMs(0)))
}

pub(crate) fn request_delay(case: &ClientCompatRequest) -> Duration {
    Duration::from_millis(case.request_delay_ms.into())
}

/// The request messages, which must be what the method takes.
pub(crate) fn messages<M: Message + MessageName>(case: &ClientCompatRequest) -> Result<Vec<M>> {
    case.request_messages
        .iter()
        .map(|any| {
            let name = any.type_url.rsplit('/').next();
            ensure!(name == Some(M::FULL_NAME), "{} takes no {}", case.test_name, any.type_url);
            any.unpack_unchecked().with_context(|| format!("a {} that cannot be decoded", M::FULL_NAME))
        })
        .collect()
}

fn only_message<M: Message + MessageName>(case: &ClientCompatRequest) -> Result<M> {
    let mut messages = messages(case)?;
    match (messages.pop(), messages.is_empty()) {
        (Some(message), true) => Ok(message),
        _ => bail!("a case of this method has one request message"),
    }
}

/// How the case wants its requests: all of them compressed, however small, or none.
fn compression(case: &ClientCompatRequest) -> Result<Compression> {
    let encoding = match case.compression.as_known() {
        Some(pb::Compression::COMPRESSION_IDENTITY) => return Ok(Compression::off()),
        Some(pb::Compression::COMPRESSION_GZIP) => Encoding::Gzip,
        Some(pb::Compression::COMPRESSION_DEFLATE) => Encoding::Deflate,
        Some(pb::Compression::COMPRESSION_SNAPPY) => Encoding::Snappy,
        Some(pb::Compression::COMPRESSION_ZSTD) => Encoding::Zstd,
        _ => bail!("nothing is compressed by {:?}", case.compression),
    };
    Ok(Compression::only(encoding).always())
}

fn with_options<T>(case: &ClientCompatRequest, message: T) -> Result<Request<T>> {
    let mut request = Request::new(message);
    headers::add(&case.request_headers, request.metadata_mut())?;
    if let Some(milliseconds) = case.timeout_ms {
        request = request.timeout(Duration::from_millis(milliseconds.into()));
    }
    if case.message_receive_limit > 0 {
        request = request.max_response_size(case.message_receive_limit as usize);
    }
    request = request.compress(compression(case)?);
    match case.codec.as_known() {
        Some(Codec::CODEC_PROTO) => {}
        Some(Codec::CODEC_JSON) => request = request.format(Format::Json),
        _ => bail!("{:?} is not spoken here", case.codec),
    }
    Ok(request)
}
