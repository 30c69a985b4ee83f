//! Calls over generated code, in all four shapes and with both codecs: a server and a client on a socket.

#![allow(clippy::unwrap_used, reason = "functions that the tests share are tests as well")]

use std::net::SocketAddr;

use peregrine::{Code, Request, Response, Server, Status, Stream, Streaming, iter};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves until the sender is dropped or used.
async fn serve(service: impl peregrine::rt::Service) -> (SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let signal = async move { drop(stopped.await) };
        Server::builder().add_service(service).serve_with_shutdown(listener, signal).await.unwrap();
    });
    (address, stop)
}

/// One service and its tests per codec: the traits and messages are different types with the same names.
macro_rules! calls_with {
    ($codec:ident, $empty:ty, $string:ty, $touched:expr) => {
        #[allow(clippy::needless_update, reason = "with prost some messages have no further fields")]
        mod $codec {
            use peregrine_tests_codegen::$codec::FILE_DESCRIPTOR_SET;
            use peregrine_tests_codegen::$codec::greeter::v1::hello_request::Options;
            use peregrine_tests_codegen::$codec::greeter::v1::hello_request::options::Tone;
            use peregrine_tests_codegen::$codec::greeter::v1::{
                Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest,
            };

            use super::*;

            /// Greets in the words that it is made with.
            struct Polite {
                words: Vec<String>,
            }

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
                    if request.name.is_empty() {
                        return Err(Status::invalid_argument("no name"));
                    }
                    Ok(reply(format!("{}, {}!", self.words[0], request.name)).into())
                }

                // The stream borrows the service.
                async fn list(
                    &self,
                    request: Request<HelloRequest>,
                ) -> Result<Response<impl Stream<Item = Result<HelloReply, Status>> + Send>, Status> {
                    let name = request.into_inner().name;
                    let greetings = self.words.iter().map(move |word| Ok(reply(format!("{word}, {name}!"))));
                    Ok(Response::new(iter(greetings)))
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
                    Ok(reply(format!("{}, {}!", self.words[0], names.join(" and "))).into())
                }

                async fn chat(
                    &self,
                    request: Request<Streaming<HelloRequest>>,
                ) -> Result<Response<impl Stream<Item = Result<HelloReply, Status>> + Send>, Status> {
                    let word = &self.words[0];
                    Ok(Response::new(peregrine::unfold(
                        request.into_inner(),
                        move |mut requests| async move {
                            let request = requests.message().await.transpose()?;
                            Some((
                                request.map(|request| reply(format!("{word}, {}!", request.name))),
                                requests,
                            ))
                        },
                    )))
                }

                async fn touch(&self, _: Request<$empty>) -> Result<Response<$string>, Status> {
                    Ok($touched.into())
                }

                async fn nested(&self, request: Request<Options>) -> Result<Response<Tone>, Status> {
                    Ok(Option::<Tone>::from(request.into_inner().tone).unwrap_or_default().into())
                }

                async fn old(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
                    self.say_hello(request).await
                }
            }

            async fn connected() -> (GreeterClient, oneshot::Sender<()>) {
                let words = ["Hello", "Good day", "Welcome"].map(str::to_owned).to_vec();
                let (address, stop) = serve(GreeterServer::new(Polite { words })).await;
                (GreeterClient::connect(format!("http://{address}")).await.unwrap(), stop)
            }

            #[tokio::test]
            async fn unary() {
                let (client, _stop) = connected().await;
                assert_eq!(client.say_hello(request("Ada")).await.unwrap().message, "Hello, Ada!");
                let status = client.say_hello(HelloRequest::default()).await.unwrap_err();
                assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "no name"));
            }

            #[tokio::test]
            async fn server_streaming() {
                let (client, _stop) = connected().await;
                let mut replies = client.list(request("Ada")).await.unwrap();
                let mut messages = Vec::new();
                while let Some(reply) = replies.message().await.unwrap() {
                    messages.push(reply.message);
                }
                assert_eq!(messages, ["Hello, Ada!", "Good day, Ada!", "Welcome, Ada!"]);
            }

            #[tokio::test]
            async fn client_streaming() {
                let (client, _stop) = connected().await;
                let reply = client.collect(iter([request("Ada"), request("Grace")])).await.unwrap();
                assert_eq!(reply.message, "Hello, Ada and Grace!");

                let (sender, call) = client.collect_sender();
                let feed = async move {
                    for name in ["Ada", "Grace"] {
                        sender.send(request(name)).await.unwrap();
                    }
                };
                let ((), reply) = tokio::join!(feed, call);
                assert_eq!(reply.unwrap().message, "Hello, Ada and Grace!");
            }

            #[tokio::test]
            async fn bidirectional() {
                let (client, _stop) = connected().await;
                let (sender, call) = client.chat_sender();
                let mut replies = call.await.unwrap();
                for name in ["Ada", "Grace"] {
                    sender.send(request(name)).await.unwrap();
                    let reply = replies.message().await.unwrap().unwrap();
                    assert_eq!(reply.message, format!("Hello, {name}!"));
                }
                drop(sender);
                assert!(replies.message().await.unwrap().is_none());
            }

            #[tokio::test]
            async fn well_known_and_nested_types() {
                let (client, _stop) = connected().await;
                let value = client.touch(<$empty>::default()).await.unwrap().into_inner();
                assert_eq!(value, $touched);
                let options = Options {
                    tone: Some(Tone { polite: true, ..Default::default() }).into(),
                    ..Default::default()
                };
                assert!(client.nested(options).await.unwrap().polite);
            }

            // bug-reports 93
            #[test]
            fn the_descriptor_set_has_the_service_and_its_imports() {
                let holds = |text: &str| {
                    FILE_DESCRIPTOR_SET.windows(text.len()).any(|window| window == text.as_bytes())
                };
                for text in
                    ["greeter.proto", "SayHello", "google/protobuf/timestamp.proto", "layout/item.proto"]
                {
                    assert!(holds(text), "{text}");
                }
                assert!(!holds("Says hello"), "comments are left out");
            }
        }
    };
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
