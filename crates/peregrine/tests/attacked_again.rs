//! Both ends together where other stacks got stuck or fell over: everybody sends and nobody reads; reflection that is
//! asked by tools which leave early.

#![cfg(feature = "reflection")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use peregrine::reflection::Reflection;
use peregrine::rt::{bidi, bidi_sender, unary};
use peregrine::{
    BytesCodec, Channel, Code, MethodDescriptor, Request, Server, ServiceDescriptor, Status, Streaming, iter,
};
use peregrine_testkit::service::{BIDI, UNARY};
use peregrine_testkit::{Journal, Served, TestService, serve, settle, virtual_time};

const fn method(path: &str, is_bidi: bool) -> MethodDescriptor<'_> {
    MethodDescriptor {
        path,
        service: "test.Test",
        name: "Method",
        client_streaming: is_bidi,
        server_streaming: is_bidi,
        file_descriptor_set: &[],
    }
}

async fn connected(server: Server) -> (Channel, Arc<Served>) {
    let served = Arc::new(serve(server));
    let reached = Arc::clone(&served);
    let channel = Channel::builder("test:1")
        .connector(move || std::future::ready(Ok(reached.connect())))
        .connect()
        .await
        .expect("the pipe is open");
    (channel, served)
}

async fn echo(channel: &Channel, text: &'static str) -> Bytes {
    let request = Request::new(Bytes::from_static(text.as_bytes()));
    unary::<BytesCodec, Bytes, Bytes>(channel, &method(UNARY, false), request)
        .await
        .expect("an echo")
        .into_inner()
}

async fn end(channel: Channel, served: Arc<Served>) {
    drop(channel);
    settle().await;
    Arc::into_inner(served).expect("the channel is gone").finish([]).await;
}

const LARGE: Bytes = Bytes::from_static(&[7; 65_536]);
const COUNT: usize = 1_000;

// bug-reports 15, wire-rules 83, 84: both sides send 64 KiB times 1,000 without reading. Nobody gets to the end; calls
// beside them do; and a reader frees both.
#[test]
fn bug_15_two_that_send_without_reading_wait_for_each_other_until_one_reads() {
    virtual_time(async {
        let journal = Arc::new(Journal::default());
        let (channel, served) =
            connected(Server::builder().add_service(TestService::new(Arc::clone(&journal)))).await;
        for script in ["many 1000 65536; echo-all", "echo-all"] {
            let (sender, receiver) = peregrine::pipe(4);
            let mut request = Request::new(receiver);
            request.metadata_mut().insert("script", script).unwrap();
            let mut replies =
                bidi::<BytesCodec, Bytes, Bytes, _>(&channel, &method(BIDI, true), request).await.unwrap();
            let sending = tokio::spawn(async move {
                for _ in 0..COUNT {
                    sender.send(LARGE).await.unwrap();
                }
            });
            settle().await;
            assert!(!sending.is_finished(), "64 MiB have gone to somebody who does not read: {script}");
            assert_eq!(echo(&channel, "beside").await, "beside");
            let mut count = 0;
            while let Some(message) = replies.message().await.unwrap() {
                assert_eq!(message.len(), LARGE.len());
                count += 1;
            }
            let expected = if script == "echo-all" { COUNT } else { 2 * COUNT };
            assert_eq!(count, expected, "{script}");
            sending.await.unwrap();
        }
        end(channel, served).await;
    });
}

// bug-reports 15, wire-rules 72, 73: neither reads, so the deadline ends it for all who wait: the sender, who is told
// though nobody polls the call, and the reader. Nothing is left to hold others back.
#[test]
fn bug_15_a_deadline_frees_both_who_send_without_reading() {
    virtual_time(async {
        let journal = Arc::new(Journal::default());
        let (channel, served) =
            connected(Server::builder().add_service(TestService::new(Arc::clone(&journal)))).await;
        for _ in 0..20 {
            let (sender, receiver) = peregrine::pipe(4);
            let mut request = Request::new(receiver).timeout(Duration::from_secs(3));
            request.metadata_mut().insert("script", "many 1000 65536; echo-all").unwrap();
            let mut replies =
                bidi::<BytesCodec, Bytes, Bytes, _>(&channel, &method(BIDI, true), request).await.unwrap();
            let failed = loop {
                if let Err(status) = sender.send(LARGE).await {
                    break status;
                }
            };
            assert_eq!(failed.code(), Code::Cancelled, "{failed}");
            let status = loop {
                match replies.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("a call without end ended"),
                    Err(status) => break status,
                }
            };
            assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
            assert_eq!(echo(&channel, "after").await, "after");
        }
        journal.until(|counts| counts.ended + counts.cancelled >= counts.started).await;
        end(channel, served).await;
    });
}

/// A field of a message on the wire: text or a message.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2, value.len() as u8];
    bytes.extend_from_slice(value);
    assert!(value.len() < 128, "a length of one byte");
    bytes
}

/// A file of a descriptor set with an empty message or, for `rpc`, a service.
fn file(
    name: &str,
    package: &str,
    imports: &[&str],
    message: Option<&str>,
    service: Option<&str>,
) -> Vec<u8> {
    let mut file = [field(1, name.as_bytes()), field(2, package.as_bytes())].concat();
    for import in imports {
        file.extend(field(3, import.as_bytes()));
    }
    for (number, name) in [(4, message), (6, service)] {
        file.extend(name.map(|name| field(number, &field(1, name.as_bytes()))).unwrap_or_default());
    }
    field(1, &file)
}

/// A service of two files which import each other's imports, a well-known type, and one that nobody has.
fn described() -> &'static ServiceDescriptor {
    let timestamp = "google/protobuf/timestamp.proto";
    let set = [
        file(timestamp, "google.protobuf", &[], Some("Timestamp"), None),
        file("b.proto", "b", &[timestamp], Some("Used"), None),
        file("a.proto", "a", &["b.proto", timestamp, "lost.proto"], None, Some("Told")),
    ];
    let file_descriptor_set = Vec::leak(set.concat());
    Box::leak(Box::new(ServiceDescriptor { name: "a.Told", methods: &[], file_descriptor_set }))
}

fn reflecting() -> Server {
    let server = Server::builder().add_service(TestService::default());
    Reflection::new([described()]).expect("a sound set").mount(server)
}

const VERSIONS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

async fn ask(channel: &Channel, path: &str, questions: Vec<Vec<u8>>) -> Streaming<Bytes> {
    let request = Request::new(iter(questions.into_iter().map(Bytes::from).collect::<Vec<_>>()));
    bidi::<BytesCodec, Bytes, Bytes, _>(channel, &method(path, true), request).await.expect("it starts")
}

async fn answers(channel: &Channel, path: &str, questions: Vec<Vec<u8>>) -> Result<Vec<Bytes>, Status> {
    let mut replies = ask(channel, path, questions).await;
    let mut answers = Vec::new();
    while let Some(answer) = replies.message().await? {
        answers.push(answer);
    }
    Ok(answers)
}

fn holds(answer: &Bytes, text: &str) -> bool {
    answer.windows(text.len()).any(|window| window == text.as_bytes())
}

/// What `file_containing_symbol` and `file_by_filename` are in a request.
fn symbol(name: &str) -> Vec<u8> {
    field(4, name.as_bytes())
}

fn by_name(name: &str) -> Vec<u8> {
    field(3, name.as_bytes())
}

// bug-reports 93: all dependencies come with a file, well-known types among them and those of imports; one that is not
// there is no reason to fail. Asked twice, the file itself comes again.
#[test]
fn bug_93_reflection_tells_a_file_with_all_that_it_imports() {
    virtual_time(async {
        let (channel, served) = connected(reflecting()).await;
        for path in VERSIONS {
            let asked = vec![symbol("a.Told"), symbol("a.Told"), symbol("google.protobuf.Timestamp")];
            let told = answers(&channel, path, asked).await.unwrap();
            assert_eq!(told.len(), 3, "{path}");
            for text in ["a.proto", "\x07b.proto", "\x04Used", "\x09Timestamp"] {
                assert!(holds(&told[0], text), "{path} {text:?}");
            }
            assert!(holds(&told[1], "a.proto") && holds(&told[2], "\x09Timestamp"), "{path}");
            // In a stream of its own: each by name, with its own imports and no others.
            let told = answers(&channel, path, vec![by_name("b.proto")]).await.unwrap();
            assert!(holds(&told[0], "\x09Timestamp") && !holds(&told[0], "a.proto"), "{path}");
            // Answered in order, errors in between, and the stream goes on after each.
            let asked =
                vec![by_name("lost.proto"), vec![], symbol(""), symbol("a.Told.None"), symbol("b.Used")];
            let told = answers(&channel, path, asked).await.unwrap();
            assert_eq!(told.len(), 5, "{path}");
            assert!(holds(&told[0], "lost.proto is not known") && holds(&told[4], "\x04Used"), "{path}");
        }
        end(channel, served).await;
    });
}

// bug-reports 93: a tool that leaves early, in whatever way, makes nothing panic and nobody wait.
#[test]
fn bug_93_reflection_ends_cleanly_however_its_client_leaves() {
    virtual_time(async {
        let (channel, served) = connected(reflecting()).await;
        for path in VERSIONS {
            // Half-closed at once.
            assert_eq!(answers(&channel, path, vec![]).await.unwrap(), Vec::<Bytes>::new(), "{path}");
            for count in [1, 200] {
                // Half-closed behind the questions, all of which are answered.
                let asked = vec![symbol("a.Told"); count];
                assert_eq!(answers(&channel, path, asked.clone()).await.unwrap().len(), count, "{path}");
                // Gone before the answer, and behind the first.
                drop(ask(&channel, path, asked.clone()).await);
                let mut replies = ask(&channel, path, asked).await;
                assert!(replies.message().await.unwrap().is_some(), "{path}");
                drop(replies);
            }
            // Gone while it is the server that waits.
            let (sender, call) = bidi_sender::<BytesCodec, Bytes, Bytes>(&channel, &method(path, true));
            let mut replies = call.await.unwrap();
            sender.send(symbol("a.Told").into()).await.unwrap();
            assert!(replies.message().await.unwrap().is_some(), "{path}");
            drop(replies);
            settle().await;
            assert!(sender.send(symbol("a.Told").into()).await.is_err(), "{path}");
            // What is no question at all is the call's own end.
            for garbage in [vec![0xff], field(4, &[0xff, 0xfe]), vec![4 << 3 | 2, 100, b'x']] {
                let status = answers(&channel, path, vec![symbol("a.Told"), garbage]).await.unwrap_err();
                assert_eq!(status.code(), Code::Internal, "{path} {status}");
            }
            assert_eq!(echo(&channel, "alive").await, "alive");
        }
        end(channel, served).await;
    });
}
