//! Metadata that is marked as sensitive stays so through clients, interceptors, servers and the servers behind them,
//! in heads, trailers and failures; that the mark arrives is possible only if the wire says "never indexed".
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic, its helpers too")]

use std::future::ready;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use peregrine::rt::{
    CallSlot, Service, ServiceDescriptor, bidi, client_streaming, server_streaming, unary, unary_slot,
};
use peregrine::{
    BytesCodec, Channel, ChannelBuilder, Code, Compression, Execution, InterceptedCall, MetadataMap,
    MethodDescriptor, Request, Response, Server, Status, iter,
};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Recorder, Served, TestService, serve, virtual_time};

const ASK: MethodDescriptor<'static> = MethodDescriptor {
    path: "/test.Relay/Ask",
    service: "test.Relay",
    name: "Ask",
    client_streaming: false,
    server_streaming: false,
    file_descriptor_set: &[],
};

/// A value whose text, base64 and bytes are looked for wherever something is printed.
const SECRET: &str = "hunter2";

/// Sends calls on to the next one, metadata and all; the last one answers with what it got.
#[derive(Default)]
struct Relay {
    next: Option<Channel>,
    seen: Arc<Mutex<Vec<MetadataMap>>>,
}

impl Relay {
    async fn ask(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Status> {
        self.seen.lock().unwrap().push(request.metadata().clone());
        let metadata = request.metadata().clone();
        if let Some(next) = &self.next {
            let mut onward = Request::new(request.into_inner());
            *onward.metadata_mut() = metadata;
            let mut answer = unary::<BytesCodec, Bytes, Bytes>(next, &ASK, onward).await?;
            let (head, trailers) = answer.take_metadata();
            let mut response = Response::new(answer.into_inner());
            (*response.metadata_mut(), *response.trailers_mut()) = (head, trailers);
            return Ok(response);
        }
        if &request[..] == b"fail" {
            return Err(Status::aborted("no").with_metadata(metadata));
        }
        let mut response = Response::new(Bytes::new());
        (*response.metadata_mut(), *response.trailers_mut()) = (metadata.clone(), metadata);
        Ok(response)
    }
}

struct RelayServer(Arc<Relay>);

static DESCRIPTOR: ServiceDescriptor =
    ServiceDescriptor { name: "test.Relay", methods: &[ASK], file_descriptor_set: &[] };

impl Service for RelayServer {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn slot(&self, _method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        Some(unary_slot::<BytesCodec, Bytes, Bytes, _, _, _>(
            Arc::clone(&self.0),
            |relay: Arc<Relay>, request| async move { relay.ask(request).await },
        ))
    }
}

fn channel_to(served: &Served) -> ChannelBuilder {
    let end = Mutex::new(Some(served.connect()));
    let open = move || ready(end.lock().unwrap().take().ok_or_else(|| std::io::Error::other("used up")));
    Channel::builder("server.test:1").connector(open)
}

/// A text and two binary entries that are marked, in a crowd of others; with one so long that the block needs a
/// CONTINUATION frame, if wanted.
fn secrets(is_long: bool) -> MetadataMap {
    let mut map = MetadataMap::new();
    map.append("x-open", "open").unwrap();
    map.append("x-key", SECRET).unwrap();
    map.append_bin("x-key-bin", SECRET.as_bytes()).unwrap();
    map.append_bin("x-key-bin", b"").unwrap();
    map.append("authorization", SECRET).unwrap();
    if is_long {
        map.append("x-long", &"a".repeat(40_000)).unwrap();
    }
    for name in ["x-key", "x-key-bin", "authorization", "x-long"] {
        map.set_sensitive(name);
    }
    // The same value in the open does not lend its index to the secret.
    map.append("x-also", "open").unwrap();
    map
}

/// The entries of ours, as they were marked: an equal map is marked equally.
fn ours(map: &MetadataMap) -> MetadataMap {
    let mut map = map.clone();
    for name in ["user-agent", "accept-encoding", "grpc-accept-encoding"] {
        map.remove(name);
    }
    map
}

fn assert_tells_nothing(text: &str) {
    for secret in [SECRET, "aHVudGVyMg", "[104, 117, 110", "aaaaaaaaaa"] {
        assert!(!text.contains(secret), "{text}");
    }
}

// wire-rules D3, RFC 7541 7.1.3
#[test]
fn the_mark_goes_there_and_back_through_servers_and_interceptors() {
    virtual_time(async {
        let recorder = Recorder::default();
        let told = Arc::new(Mutex::new(Vec::new()));
        let interceptor = || {
            let told = Arc::clone(&told);
            move |call: &mut InterceptedCall<'_>| {
                call.metadata_mut().insert("x-hop", "1")?;
                let also = Arc::clone(&told);
                call.on_end(move |end| also.lock().unwrap().push(format!("{end:?}")));
                told.lock().unwrap().push(format!("{:?}", call.metadata()));
                Ok(())
            }
        };
        let back = Relay::default();
        let seen_by_back = Arc::clone(&back.seen);
        let server = Server::builder().add_service(RelayServer(Arc::new(back)));
        let back = serve(server.max_header_list_size(200_000).observe(recorder.clone()));
        let next =
            channel_to(&back).max_header_list_size(200_000).interceptor(interceptor()).build().unwrap();
        let front = Relay { next: Some(next), ..Relay::default() };
        let seen_by_front = Arc::clone(&front.seen);
        let server = Server::builder().add_service(RelayServer(Arc::new(front)));
        let front =
            serve(server.max_header_list_size(200_000).observe(recorder.clone()).interceptor(interceptor()));
        let channel =
            channel_to(&front).max_header_list_size(200_000).observe(recorder.clone()).build().unwrap();
        for is_long in [false, true, false] {
            // Repeated, since blocks that come again take another way than new ones.
            for body in ["", "", "fail", "fail", ""] {
                let mut request = Request::new(Bytes::from_static(body.as_bytes()));
                *request.metadata_mut() = secrets(is_long);
                let mut expected = secrets(is_long);
                expected.append("x-hop", "1").unwrap();
                match unary::<BytesCodec, Bytes, Bytes>(&channel, &ASK, request).await {
                    Ok(answer) => {
                        assert_eq!(ours(answer.metadata()), expected);
                        assert_eq!(ours(answer.trailers()), expected);
                        assert_tells_nothing(&format!("{answer:?}"));
                    }
                    Err(status) => {
                        assert_eq!((body, status.code()), ("fail", Code::Aborted), "{status:?}");
                        assert_eq!(ours(status.metadata()), expected);
                        assert_tells_nothing(&format!("{status:?} {status}"));
                    }
                }
                for seen in [&seen_by_front, &seen_by_back] {
                    assert_eq!(ours(&seen.lock().unwrap().pop().unwrap()), expected);
                }
            }
        }
        assert_tells_nothing(&told.lock().unwrap().join("; "));
        assert_tells_nothing(&recorder.take().join("; "));
    });
}

/// Head, trailers and failure of a call of the test service.
struct Ended {
    head: MetadataMap,
    trailers: MetadataMap,
    code: Code,
    text: String,
}

impl Ended {
    fn of_response(result: Result<Response<Bytes>, Status>) -> Self {
        let text = format!("{result:?}");
        match result {
            Ok(mut response) => {
                let (head, trailers) = response.take_metadata();
                Self { head, trailers, code: Code::Ok, text }
            }
            Err(status) => Self {
                head: status.initial_metadata().clone(),
                trailers: status.metadata().clone(),
                code: status.code(),
                text,
            },
        }
    }

    async fn of_stream(mut replies: peregrine::Streaming<Bytes>) -> Self {
        let head = replies.headers().await.cloned().unwrap_or_default();
        let failure = loop {
            match replies.message().await {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(status) => break Some(status),
            }
        };
        let text = format!("{failure:?} {replies:?}");
        let trailers = match &failure {
            Some(status) => status.metadata().clone(),
            None => replies.trailers().cloned().unwrap_or_default(),
        };
        Self { head, trailers, code: failure.map_or(Code::Ok, |status| status.code()), text }
    }
}

/// A call of this shape with a script.
async fn call(channel: &Channel, path: &'static str, script: &str) -> Ended {
    let streams = (path == CLIENT_STREAM || path == BIDI, path == SERVER_STREAM || path == BIDI);
    let descriptor = MethodDescriptor {
        path,
        service: "test.Test",
        name: "Method",
        client_streaming: streams.0,
        server_streaming: streams.1,
        file_descriptor_set: &[],
    };
    let body = Bytes::from(vec![b'x'; 5_000]);
    let mut request = Request::new(body.clone());
    request.metadata_mut().insert("script", script).unwrap();
    let mut requests = Request::new(iter([body.clone(), body]));
    requests.metadata_mut().insert("script", script).unwrap();
    match streams {
        (false, false) => {
            let result = unary::<BytesCodec, Bytes, Bytes>(channel, &descriptor, request).await;
            Ended::of_response(result)
        }
        (true, false) => {
            let result =
                client_streaming::<BytesCodec, Bytes, Bytes, _>(channel, &descriptor, requests).await;
            Ended::of_response(result)
        }
        (false, true) => {
            let replies = server_streaming::<BytesCodec, Bytes, Bytes>(channel, &descriptor, request).await;
            Ended::of_stream(replies.unwrap()).await
        }
        (true, true) => {
            let replies = bidi::<BytesCodec, Bytes, Bytes, _>(channel, &descriptor, requests).await;
            Ended::of_stream(replies.unwrap()).await
        }
    }
}

fn assert_has_secrets(map: &MetadataMap, what: &str) {
    let mut found = map.clone();
    found.remove("x-handlers");
    assert_eq!(found, secrets(false), "{what}");
}

// wire-rules D3, E3: in each shape, wherever calls run, compressed or not, whether a call succeeds, fails before its
// head or behind it, or is answered by an interceptor.
#[test]
fn what_interceptors_mark_arrives_marked_in_heads_and_trailers_of_each_shape() {
    for mode in [Execution::Inline, Execution::Spawn, Execution::Auto] {
        for compression in [Compression::off(), Compression::adaptive()] {
            virtual_time(async {
                let marking = |call: &mut InterceptedCall<'_>| {
                    call.response_metadata_mut().extend_from(&secrets(false))?;
                    call.on_end(|end| end.trailers_mut().extend_from(&secrets(false)).unwrap());
                    if call.metadata().get("script") == Some("answer") {
                        call.answer(Response::new(Bytes::from_static(b"at once")));
                    }
                    Ok(())
                };
                let server = Server::builder().execution(mode).compression(compression);
                let served = serve(server.add_service(TestService::new(Arc::default())).interceptor(marking));
                let channel = channel_to(&served).build().unwrap();
                for path in [UNARY, CLIENT_STREAM, SERVER_STREAM, BIDI] {
                    for (script, code, has_head) in [
                        ("echo", Code::Ok, true),
                        ("head x-handlers 1; yield; trail x-handlers 2; echo", Code::Ok, true),
                        ("fail 10 early", Code::Aborted, false),
                        ("answer", Code::Ok, true),
                    ] {
                        let what = format!("{mode:?} {compression:?} {path} {script}");
                        let ended = call(&channel, path, script).await;
                        assert_eq!(ended.code, code, "{what}: {}", ended.text);
                        if has_head {
                            assert_has_secrets(&ended.head, &what);
                        }
                        assert_has_secrets(&ended.trailers, &what);
                        assert_tells_nothing(&ended.text.replace(&"x".repeat(5_000), ""));
                    }
                }
                drop(channel);
                assert!(served.stop().await.is_clean());
            });
        }
    }
}
