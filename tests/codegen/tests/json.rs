//! Calls in JSON over generated code that knows nothing of JSON, in all four shapes and with both codecs.

#![allow(clippy::unwrap_used, reason = "functions that the tests share are tests as well")]

use std::net::SocketAddr;

use bytes::Bytes;
use peregrine::{
    BytesCodec, Channel, Code, Format, Json, MethodDescriptor, Request, Response, Server, Status, Stream,
    Streaming, iter,
};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

async fn serve(server: Server) -> (SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let signal = async move { drop(stopped.await) };
        server.serve_with_shutdown(listener, signal).await.unwrap();
    });
    (address, stop)
}

/// One service and its tests per codec: the traits and messages are different types with the same names.
macro_rules! calls_with {
    ($codec:ident, $empty:ty, $string:ty, $touched:expr) => {
        #[allow(clippy::needless_update, reason = "with prost some messages have no further fields")]
        mod $codec {
            use peregrine_tests_codegen::$codec::greeter::v1::hello_request::Options;
            use peregrine_tests_codegen::$codec::greeter::v1::hello_request::options::Tone;
            use peregrine_tests_codegen::$codec::greeter::v1::{
                Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest,
            };

            use super::*;

            struct Polite;

            fn reply(message: String) -> HelloReply {
                HelloReply { message, ..Default::default() }
            }

            fn request(name: &str) -> HelloRequest {
                HelloRequest { name: name.into(), ..Default::default() }
            }

            impl Greeter for Polite {
                async fn say_hello(
                    &self,
                    request: Request<HelloRequest>,
                ) -> Result<Response<HelloReply>, Status> {
                    Ok(reply(format!("Hello, {}!", request.name)).into())
                }

                async fn list(
                    &self,
                    request: Request<HelloRequest>,
                ) -> Result<Response<impl Stream<Item = Result<HelloReply, Status>> + Send>, Status> {
                    let name = request.into_inner().name;
                    let words = ["Hello", "Welcome"].map(|word| Ok(reply(format!("{word}, {name}!"))));
                    Ok(Response::new(iter(words)))
                }

                async fn collect(
                    &self,
                    request: Request<Streaming<HelloRequest>>,
                ) -> Result<Response<HelloReply>, Status> {
                    let mut names = Vec::new();
                    let mut requests = request.into_inner();
                    while let Some(request) = requests.message().await? {
                        names.push(request.name);
                    }
                    Ok(reply(names.join(" and ")).into())
                }

                async fn chat(
                    &self,
                    request: Request<Streaming<HelloRequest>>,
                ) -> Result<Response<impl Stream<Item = Result<HelloReply, Status>> + Send>, Status> {
                    let requests = request.into_inner();
                    Ok(Response::new(peregrine::unfold(requests, |mut requests| async move {
                        let request = requests.message().await.transpose()?;
                        Some((request.map(|request| reply(request.name)), requests))
                    })))
                }

                async fn touch(&self, _: Request<$empty>) -> Result<Response<$string>, Status> {
                    Ok($touched.into())
                }

                async fn nested(&self, _: Request<Options>) -> Result<Response<Tone>, Status> {
                    Err(Status::unimplemented("not here"))
                }

                async fn old(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
                    self.say_hello(request).await
                }
            }

            fn server() -> Server {
                Server::builder().add_service(GreeterServer::new(Polite))
            }

            #[tokio::test]
            async fn every_shape_of_call_speaks_json() {
                let (address, _stop) = serve(server().json(Json::new())).await;
                let channel =
                    Channel::builder(format!("http://{address}")).json(Json::new()).build().unwrap();
                let client = GreeterClient::new(channel);
                for _ in 0..2 {
                    assert_eq!(client.say_hello(request("Äda")).await.unwrap().message, "Hello, Äda!");
                }
                let mut replies = client.list(request("Bob")).await.unwrap();
                assert_eq!(replies.message().await.unwrap().unwrap().message, "Hello, Bob!");
                assert_eq!(replies.message().await.unwrap().unwrap().message, "Welcome, Bob!");
                assert!(replies.message().await.unwrap().is_none());
                let names = iter([request("Ada"), request("Bob")]);
                assert_eq!(client.collect(names).await.unwrap().message, "Ada and Bob");
                let mut replies = client.chat(iter([request("Ada"), request("Bob")])).await.unwrap();
                assert_eq!(replies.message().await.unwrap().unwrap().message, "Ada");
                assert_eq!(replies.message().await.unwrap().unwrap().message, "Bob");
                assert!(replies.message().await.unwrap().is_none());
                // A message whose JSON is no object, and an error.
                client.touch(<$empty>::default()).await.unwrap();
                let refused = client.nested(Options::default()).await.unwrap_err();
                assert_eq!((refused.code(), refused.message()), (Code::Unimplemented, "not here"));
            }

            #[tokio::test]
            async fn calls_choose_their_format_one_by_one() {
                let (address, _stop) = serve(server().json(Json::new())).await;
                let builder = Channel::builder(format!("http://{address}"));
                let channel = builder.json(Json::new()).format(Format::Proto).build().unwrap();
                let client = GreeterClient::new(channel);
                for format in [Format::Json, Format::Proto, Format::Json] {
                    let call = Request::new(request("Ada")).format(format);
                    assert_eq!(client.say_hello(call).await.unwrap().message, "Hello, Ada!");
                }
            }

            // wire-rules N2
            #[tokio::test]
            async fn a_server_that_was_not_told_speaks_no_json() {
                let (address, _stop) = serve(server()).await;
                let channel =
                    Channel::builder(format!("http://{address}")).json(Json::new()).build().unwrap();
                let refused = GreeterClient::new(channel).say_hello(request("Ada")).await.unwrap_err();
                assert_eq!(refused.code(), Code::Unimplemented);
                assert!(refused.message().contains("application/grpc+json is not supported"), "{refused}");
                // Nor does a channel.
                let client = GreeterClient::connect(format!("http://{address}")).await.unwrap();
                let call = Request::new(request("Ada")).format(Format::Json);
                let refused = client.say_hello(call).await.unwrap_err();
                assert!(
                    format!("{refused:?}")
                        .contains("next step: give its builder one, as in .json(Json::new())")
                );
            }

            /// The client sends raw messages and has no schema, as one in another language; `text` is its JSON.
            async fn raw(address: SocketAddr, text: &'static str) -> Result<Bytes, Status> {
                let channel = Channel::builder(format!("http://{address}")).json(Plain).build().unwrap();
                let method = MethodDescriptor {
                    path: "/greeter.v1.Greeter/SayHello",
                    service: "greeter.v1.Greeter",
                    name: "SayHello",
                    client_streaming: false,
                    server_streaming: false,
                    file_descriptor_set: &[],
                };
                let call = Request::new(Bytes::from_static(text.as_bytes()));
                let reply = peregrine::rt::unary::<BytesCodec, Bytes, Bytes>(&channel, &method, call).await?;
                Ok(reply.into_inner())
            }

            // wire-rules 46, N1
            #[tokio::test]
            async fn the_text_on_the_wire_is_canonical_json() {
                let (address, _stop) = serve(server().json(Json::new())).await;
                assert_eq!(
                    raw(address, r#"{"name":"A\u0064a"}"#).await.unwrap(),
                    r#"{"message":"Hello, Ada!"}"#
                );
                for text in ["", "{", r#"{"name":1}"#, r#"{"surname":"x"}"#, "\u{1}"] {
                    let refused = raw(address, text).await.unwrap_err();
                    assert_eq!(refused.code(), Code::Internal, "{text}: {refused}");
                }
                let refused = raw(address, r#"{"name":1}"#).await.unwrap_err();
                assert!(refused.message().contains("name: expected a string, found a number"), "{refused}");
            }
        }
    };
}

/// JSON that nobody looks at: what the caller writes is what is sent.
#[derive(Debug)]
struct Plain;

impl peregrine::MessageFormat for Plain {
    fn format(&self) -> Format {
        Format::Json
    }

    fn method(&self, _: &MethodDescriptor<'_>) -> Result<peregrine::MethodFormat, Status> {
        let plain = std::sync::Arc::new(Plain);
        Ok(peregrine::MethodFormat { format: Format::Json, request: plain.clone(), response: plain })
    }
}

impl peregrine::Transcode for Plain {
    fn read(
        &self,
        body: &[u8],
        _: &peregrine::DecodeLimits,
    ) -> Result<Vec<u8>, peregrine::codec::DecodeError> {
        Ok(body.to_vec())
    }

    fn write(&self, message: &[u8]) -> Result<Vec<u8>, peregrine::codec::EncodeError> {
        Ok(message.to_vec())
    }
}

calls_with!(
    owned,
    peregrine_tests_codegen::owned::google::protobuf::Empty,
    peregrine_tests_codegen::owned::google::protobuf::StringValue,
    peregrine_tests_codegen::owned::google::protobuf::StringValue {
        value: "touched".into(),
        ..Default::default()
    }
);
calls_with!(prost, (), String, "touched".to_owned());
