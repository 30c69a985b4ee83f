//! The interop cases on tonic, with the official flags. Exits with 0 only if the case's own assertions hold.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_interop::pb::test_service_client::TestServiceClient;
use tonic_interop::pb::unimplemented_service_client::UnimplementedServiceClient;
use tonic_interop::pb::{
    EchoStatus, Empty, Payload, ResponseParameters, SimpleRequest, StreamingInputCallRequest,
    StreamingOutputCallRequest,
};
use tonic_interop::{Flags, INITIAL_KEY, TRAILING_KEY, zeros};

type Failure = Box<dyn std::error::Error>;
type Outcome = Result<(), Failure>;

const LARGE_REQUEST: i32 = 271_828;
const LARGE_RESPONSE: i32 = 314_159;
const REQUEST_SIZES: [i32; 4] = [27_182, 8, 1_828, 45_904];
const RESPONSE_SIZES: [i32; 4] = [31_415, 9, 2_653, 58_979];

#[tokio::main]
async fn main() -> Outcome {
    let flags = Flags::from_args()?;
    let host = flags.get("server_host", "127.0.0.1".to_owned())?;
    let target = format!("http://{host}:{}", flags.get("server_port", 10_000)?);
    let case = flags.get("test_case", "large_unary".to_owned())?;
    let channel = Channel::from_shared(target.clone())?.connect().await?;
    let mut client = TestServiceClient::new(channel.clone());
    match case.as_str() {
        "empty_unary" => equal(&client.empty_call(Empty {}).await?.into_inner(), &Empty {}),
        "large_unary" => large_unary(&mut client).await,
        "client_streaming" => client_streaming(client).await,
        "server_streaming" => server_streaming(client).await,
        "ping_pong" => ping_pong(client).await,
        "empty_stream" => empty_stream(client).await,
        "timeout_on_sleeping_server" => timeout_on_sleeping_server(client).await,
        "cancel_after_begin" => cancel_after_begin(client).await,
        "cancel_after_first_response" => cancel_after_first_response(client).await,
        "status_code_and_message" => status_code_and_message(client).await,
        "special_status_message" => special_status_message(client).await,
        "custom_metadata" => custom_metadata(client).await,
        "unimplemented_method" => unimplemented(client.unimplemented_call(Empty {}).await),
        "unimplemented_service" => {
            unimplemented(UnimplementedServiceClient::new(channel).unimplemented_call(Empty {}).await)
        }
        "rpc_soak" => soak(&flags, async || large_unary(&mut client.clone()).await).await,
        "channel_soak" => {
            let once = async || large_unary(&mut TestServiceClient::connect(target.clone()).await?).await;
            soak(&flags, once).await
        }
        _ => Err(format!("unsupported test case: {case}").into()),
    }
}

type Client = TestServiceClient<Channel>;

async fn large_unary(client: &mut Client) -> Outcome {
    let reply = client.unary_call(large_request()).await?.into_inner();
    holds(reply.payload, LARGE_RESPONSE)
}

async fn client_streaming(mut client: Client) -> Outcome {
    let requests =
        REQUEST_SIZES.map(|size| StreamingInputCallRequest { payload: zeros(size), ..Default::default() });
    let reply = client.streaming_input_call(tokio_stream::iter(requests)).await?.into_inner();
    equal(&reply.aggregated_payload_size, &REQUEST_SIZES.iter().sum())
}

async fn server_streaming(mut client: Client) -> Outcome {
    let response_parameters =
        RESPONSE_SIZES.map(|size| ResponseParameters { size, ..Default::default() }).to_vec();
    let request = StreamingOutputCallRequest { response_parameters, ..Default::default() };
    let mut replies = client.streaming_output_call(request).await?.into_inner();
    for size in RESPONSE_SIZES {
        holds(replies.message().await?.ok_or("a reply is missing")?.payload, size)?;
    }
    equal(&replies.message().await?, &None)
}

async fn ping_pong(mut client: Client) -> Outcome {
    let (pings, requests) = mpsc::channel(1);
    let mut sizes = REQUEST_SIZES.into_iter().zip(RESPONSE_SIZES);
    // The server may send its headers only when it has something to say: the first ping goes before the wait.
    let (size, mut expected) = sizes.next().ok_or("there are sizes")?;
    pings.send(duplex_request(expected, size, 0)).await?;
    let mut replies = client.full_duplex_call(ReceiverStream::new(requests)).await?.into_inner();
    loop {
        holds(replies.message().await?.ok_or("a reply is missing")?.payload, expected)?;
        let Some((size, following)) = sizes.next() else { break };
        expected = following;
        pings.send(duplex_request(expected, size, 0)).await?;
    }
    drop(pings);
    equal(&replies.message().await?, &None)
}

async fn empty_stream(mut client: Client) -> Outcome {
    let mut replies = client.full_duplex_call(tokio_stream::empty()).await?.into_inner();
    equal(&replies.message().await?, &None)
}

async fn timeout_on_sleeping_server(mut client: Client) -> Outcome {
    let (pings, requests) = mpsc::channel(1);
    pings.send(duplex_request(RESPONSE_SIZES[0], REQUEST_SIZES[0], 1_000_000)).await?;
    let mut request = Request::new(ReceiverStream::new(requests));
    request.set_timeout(Duration::from_millis(1));
    let status = match client.full_duplex_call(request).await {
        Ok(replies) => replies.into_inner().message().await.err(),
        Err(status) => Some(status),
    };
    // tonic's client calls its own timer's end CANCELLED; whichever side is first, the call must have ended.
    let code = status.ok_or("the call should have run into its deadline")?.code();
    if matches!(code, Code::DeadlineExceeded | Code::Cancelled) {
        Ok(())
    } else {
        Err(format!("{code:?}").into())
    }
}

async fn cancel_after_begin(mut client: Client) -> Outcome {
    let (pings, requests) = mpsc::channel::<StreamingInputCallRequest>(1);
    let call = tokio::spawn(async move { client.streaming_input_call(ReceiverStream::new(requests)).await });
    tokio::task::yield_now().await;
    call.abort();
    equal(&call.await.is_err_and(|error| error.is_cancelled()), &true)?;
    drop(pings);
    Ok(())
}

async fn cancel_after_first_response(mut client: Client) -> Outcome {
    let (pings, requests) = mpsc::channel(1);
    pings.send(duplex_request(RESPONSE_SIZES[0], REQUEST_SIZES[0], 0)).await?;
    let mut replies = client.full_duplex_call(ReceiverStream::new(requests)).await?.into_inner();
    holds(replies.message().await?.ok_or("a reply is missing")?.payload, RESPONSE_SIZES[0])?;
    // Dropping both halves is how a call is cancelled here; there is nothing left to ask for a status.
    drop((replies, pings));
    large_unary(&mut client).await
}

async fn status_code_and_message(mut client: Client) -> Outcome {
    let asked = EchoStatus { code: Code::Unknown.into(), message: "test status message".to_owned() };
    let request = SimpleRequest { response_status: Some(asked.clone()), ..Default::default() };
    ended_as_asked(client.unary_call(request).await.err(), &asked)?;
    let request = StreamingOutputCallRequest { response_status: Some(asked.clone()), ..Default::default() };
    let status = match client.full_duplex_call(tokio_stream::once(request)).await {
        Ok(replies) => replies.into_inner().message().await.err(),
        Err(status) => Some(status),
    };
    ended_as_asked(status, &asked)
}

async fn special_status_message(mut client: Client) -> Outcome {
    let message = "\t\ntest with whitespace\r\nand Unicode BMP \u{263a} and non-BMP \u{1f608}\t\n".to_owned();
    let asked = EchoStatus { code: Code::Unknown.into(), message };
    let request = SimpleRequest { response_status: Some(asked.clone()), ..Default::default() };
    ended_as_asked(client.unary_call(request).await.err(), &asked)
}

async fn custom_metadata(mut client: Client) -> Outcome {
    let (initial, trailing) = ("test_initial_metadata_value", [0xab; 3]);
    let add = |metadata: &mut MetadataMap| {
        metadata.insert(INITIAL_KEY, MetadataValue::from_static(initial));
        metadata.insert_bin(TRAILING_KEY, MetadataValue::from_bytes(&trailing));
    };
    let echoed = |metadata: &MetadataMap| {
        equal(&metadata.get(INITIAL_KEY).map(|value| value.as_bytes()), &Some(initial.as_bytes()))
    };
    let ended = |metadata: &MetadataMap| {
        let value = metadata.get_bin(TRAILING_KEY).and_then(|value| value.to_bytes().ok());
        equal(&value.as_deref(), &Some(&trailing[..]))
    };

    let mut request = Request::new(large_request());
    add(request.metadata_mut());
    let reply = client.unary_call(request).await?;
    // A unary reply's headers and trailers come in one map.
    echoed(reply.metadata())?;
    ended(reply.metadata())?;

    let mut request = Request::new(tokio_stream::once(duplex_request(LARGE_RESPONSE, LARGE_REQUEST, 0)));
    add(request.metadata_mut());
    let replies = client.full_duplex_call(request).await?;
    echoed(replies.metadata())?;
    let mut replies = replies.into_inner();
    holds(replies.message().await?.ok_or("the reply is missing")?.payload, LARGE_RESPONSE)?;
    equal(&replies.message().await?, &None)?;
    ended(&replies.trailers().await?.ok_or("the trailers are missing")?)
}

fn unimplemented<T>(result: Result<T, Status>) -> Outcome {
    equal(&result.err().map(|status| status.code()), &Some(Code::Unimplemented))
}

async fn soak(flags: &Flags, once: impl AsyncFn() -> Outcome) -> Outcome {
    let per_call = Duration::from_millis(flags.get("soak_per_iteration_max_acceptable_latency_ms", 1_000)?);
    let overall = Duration::from_secs(flags.get("soak_overall_timeout_seconds", 10)?);
    let start = Instant::now();
    for iteration in 0..flags.get("soak_iterations", 10)? {
        let begin = Instant::now();
        once().await?;
        if begin.elapsed() > per_call {
            return Err(format!("iteration {iteration} took {:?}", begin.elapsed()).into());
        }
    }
    if start.elapsed() > overall {
        Err(format!("the soak took {:?}", start.elapsed()).into())
    } else {
        Ok(())
    }
}

fn large_request() -> SimpleRequest {
    SimpleRequest { response_size: LARGE_RESPONSE, payload: zeros(LARGE_REQUEST), ..Default::default() }
}

fn duplex_request(response_size: i32, request_size: i32, interval_us: i32) -> StreamingOutputCallRequest {
    StreamingOutputCallRequest {
        response_parameters: vec![ResponseParameters {
            size: response_size,
            interval_us,
            ..Default::default()
        }],
        payload: zeros(request_size),
        ..Default::default()
    }
}

/// The payload is there, of that size, and of zeros.
fn holds(payload: Option<Payload>, size: i32) -> Outcome {
    if payload == zeros(size) { Ok(()) } else { Err(format!("the payload is not {size} zeros").into()) }
}

fn ended_as_asked(status: Option<Status>, asked: &EchoStatus) -> Outcome {
    let status = status.ok_or("the call should have failed")?;
    equal(&(status.code(), status.message()), &(Code::from(asked.code), asked.message.as_str()))
}

fn equal<T: PartialEq + Debug>(got: &T, wanted: &T) -> Outcome {
    if got == wanted { Ok(()) } else { Err(format!("got {got:?}, wanted {wanted:?}").into()) }
}
