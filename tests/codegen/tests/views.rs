//! Handlers that take views: the request message is read in place.

#![allow(clippy::unwrap_used, reason = "functions that the tests share are tests as well")]

use peregrine::{Channel, Code, Request, Response, Server, Status, Stream, Streaming, View, iter};
use peregrine_tests_codegen::views::greeter::v1::hello_request::Options;
use peregrine_tests_codegen::views::greeter::v1::hello_request::options::Tone;
use peregrine_tests_codegen::views::greeter::v1::{
    Greeter, GreeterClient, GreeterServer, HelloReply, HelloRequest,
};

struct Reader;

fn reply(message: impl Into<String>) -> HelloReply {
    HelloReply { message: message.into(), ..Default::default() }
}

fn request(name: &str) -> HelloRequest {
    HelloRequest { name: name.into(), ..Default::default() }
}

impl Greeter for Reader {
    async fn say_hello(&self, request: Request<View<HelloRequest>>) -> Result<Response<HelloReply>, Status> {
        // Read in place: the name lies inside of the message's bytes.
        let (name, message): (&str, &[u8]) = (request.name(), request.bytes());
        let inside = message.as_ptr_range().contains(&name.as_ptr());
        Ok(reply(format!("{name} {} {inside} {:?}", request.count(), request.to_owned_message().nickname))
            .into())
    }

    async fn list(
        &self,
        request: Request<View<HelloRequest>>,
    ) -> Result<Response<impl Stream<Item = Result<HelloReply, Status>> + Send>, Status> {
        let request = request.into_inner();
        Ok(Response::new(iter(
            (0..request.count()).map(move |at| Ok(reply(format!("{} {at}", request.name())))),
        )))
    }

    async fn collect(
        &self,
        request: Request<Streaming<View<HelloRequest>>>,
    ) -> Result<Response<HelloReply>, Status> {
        let mut requests = request.into_inner();
        let mut views = Vec::new();
        while let Some(view) = requests.message().await? {
            views.push(view);
        }
        // Each keeps its own bytes.
        let names: Vec<&str> = views.iter().map(|view| view.name()).collect();
        Ok(reply(names.join(" ")).into())
    }

    async fn chat(
        &self,
        request: Request<Streaming<View<HelloRequest>>>,
    ) -> Result<Response<impl Stream<Item = Result<HelloReply, Status>> + Send>, Status> {
        let mut requests = request.into_inner();
        Ok(Response::new(peregrine::channel(move |replies| async move {
            while let Some(view) = requests.message().await? {
                replies.send(reply(view.name())).await?;
            }
            Ok(())
        })))
    }

    async fn touch(
        &self,
        request: Request<View<peregrine::rt::buffa_types::google::protobuf::Empty>>,
    ) -> Result<Response<peregrine::rt::buffa_types::google::protobuf::StringValue>, Status> {
        let value = format!("{} bytes", request.bytes().len());
        Ok(peregrine::rt::buffa_types::google::protobuf::StringValue { value, ..Default::default() }.into())
    }

    async fn nested(&self, request: Request<View<Options>>) -> Result<Response<Tone>, Status> {
        let polite = request.tone().is_set() && request.tone().polite;
        Ok(Tone { polite: !polite, ..Default::default() }.into())
    }

    async fn old(&self, request: Request<View<HelloRequest>>) -> Result<Response<HelloReply>, Status> {
        Ok(reply(request.name()).into())
    }
}

async fn connected() -> (GreeterClient, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        Server::builder().add_service(GreeterServer::new(Reader)).serve(listener).await.unwrap();
    });
    (GreeterClient::new(Channel::builder(target).build().unwrap()), server)
}

#[tokio::test]
async fn handlers_read_requests_in_place() {
    let (client, server) = connected().await;
    let asked = HelloRequest { nickname: Some("al".into()), count: 7, ..request("ada") };
    assert_eq!(client.say_hello(asked).await.unwrap().message, "ada 7 true Some(\"al\")");
    assert_eq!(client.say_hello(HelloRequest::default()).await.unwrap().message, " 0 false None");
    let polite = Options { tone: Tone { polite: true, ..Default::default() }.into(), ..Default::default() };
    assert!(!client.nested(polite).await.unwrap().polite);
    assert_eq!(
        client.touch(peregrine::rt::buffa_types::google::protobuf::Empty::default()).await.unwrap().value,
        "0 bytes"
    );
    server.abort();
}

#[tokio::test]
async fn streams_give_a_view_of_each_message() {
    let (client, server) = connected().await;
    let names = ["ada", "bo", "", &"long".repeat(20_000)];
    let collected = client.collect(iter(names.map(request))).await.unwrap();
    assert_eq!(collected.message, names.join(" "));
    let mut chat = client.chat(iter(names.map(request))).await.unwrap();
    for name in names {
        assert_eq!(chat.message().await.unwrap().unwrap().message, name);
    }
    let mut list = client.list(HelloRequest { count: 2, ..request("ada") }).await.unwrap();
    assert_eq!(list.message().await.unwrap().unwrap().message, "ada 0");
    server.abort();
}

// wire-rules 46: as for owned messages.
#[tokio::test]
async fn bytes_that_are_no_message_are_refused_before_the_handler() {
    use peregrine::rt::buffa::bytes::Bytes;

    let mut deep = Vec::new();
    for _ in 0..101 {
        deep = [&[0x0b][..], &deep, &[0x0c]].concat();
    }
    for wrong in [&b"\x0a\x05abc"[..], b"\x0a\x01\xff", &deep] {
        assert!(View::<HelloRequest>::decode(Bytes::copy_from_slice(wrong)).is_err(), "{wrong:?}");
    }
    assert_eq!(View::<HelloRequest>::decode(Bytes::from_static(b"\x0a\x03ada")).unwrap().name(), "ada");
    let _ = Code::Internal;
}
