//! The user's code going wrong wherever it is called: codecs, handlers, streams, hooks, destructors, and the values that
//! panics are made of. Each costs its own call and no other (wire-rules E1, E3, B3, Z3).

use std::fmt;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::{
    Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, InterceptedCall, MethodDescriptor, Payload,
    Request, Response, ServiceDescriptor, Status, Streaming, iter,
};
use peregrine_http2::ErrorCode;
use peregrine_server::Server;
use peregrine_server::service::{
    CallSlot, ResponseSink, Service, bidi_slot, client_streaming_slot, server_streaming_slot, unary_slot,
};
use peregrine_testkit::peer::message;
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Reply, Served, serve, settle};

use crate::{Stage, code, in_each_mode};

/// What goes wrong is named by the request message; with a `!` behind it, a panic's value panics when it is dropped.
struct Hostile;

/// A message, and what its destructor does.
struct Text(String, #[expect(dead_code, reason = "kept for its destructor")] Option<Bomb>);

/// Panics when dropped, unless that happens in a panic.
#[derive(Debug)]
struct Bomb(String);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            go_wrong(&self.0);
        }
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bomb")
    }
}

impl std::error::Error for Bomb {}

fn go_wrong(text: &str) -> ! {
    match text.strip_suffix('!') {
        Some(rest) => panic_any(Bomb(rest.to_owned())),
        None => panic!("secret: {text}"),
    }
}

impl Codec<Text> for Hostile {
    fn encode<E: EncodeTarget>(value: &Text, target: &mut E) -> Result<(), EncodeError> {
        let text = value.0.as_str();
        match text.trim_end_matches('!') {
            "encode" => go_wrong(text),
            "encode-begun" => {
                target.begin(10)?;
                go_wrong(text)
            }
            "encode-half" => {
                target.begin(10)?.put_slice(b"12345");
                go_wrong(text)
            }
            "encode-linked" => {
                target.begin(20_000)?.put_shared(Bytes::from(vec![7; 10_000]));
                go_wrong(text)
            }
            "encode-whole" => {
                target.begin(10)?.put_slice(b"1234567890");
                go_wrong(text)
            }
            "no-room" => {}
            "no-room-got" => drop(target.begin(usize::MAX)),
            "twice" => {
                target.begin(3)?.put_slice(b"one");
                target.begin(3)?.put_slice(b"two");
            }
            "over" => target.begin(3)?.put_slice(b"four"),
            "under" => target.begin(5)?.put_slice(b"four"),
            _ => target.begin(text.len())?.put_slice(text.as_bytes()),
        }
        Ok(())
    }

    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<Text, DecodeError> {
        let text = String::from_utf8_lossy(body.as_slice()).into_owned();
        if text.starts_with("decode") {
            go_wrong(&text);
        }
        let bomb = text.starts_with("request-drop").then(|| Bomb(text.clone()));
        Ok(Text(text, bomb))
    }
}

/// The handler of all methods.
async fn act(text: &str) -> Result<Text, Status> {
    match text.trim_end_matches('!') {
        "poll" => go_wrong(text),
        "parked" => {
            tokio::task::yield_now().await;
            go_wrong(text)
        }
        "future-drop" => {
            let _bomb = Bomb(text.to_owned());
            tokio::task::yield_now().await;
        }
        "error-drop" => return Err(Status::not_found("gone").with_source(Bomb(text.to_owned()))),
        _ => {}
    }
    let bomb = text.starts_with("reply-drop").then(|| Bomb(text.to_owned()));
    Ok(Text(text.to_owned(), bomb))
}

/// One good message, then what the text asks for.
fn replies(last: Text) -> Response<impl peregrine_core::Stream<Item = Result<Text, Status>> + Send> {
    let first = Text("one".to_owned(), None);
    let bomb = last.0.starts_with("stream-drop").then(|| Bomb(last.0.clone()));
    let last = std::iter::once_with(move || {
        if last.0.starts_with("stream-panic") {
            go_wrong(&last.0);
        }
        Ok(last)
    });
    let kept = std::iter::from_fn(move || {
        let _kept = &bomb;
        None
    });
    Response::new(iter([Ok(first)].into_iter().chain(last).chain(kept)))
}

const PATHS: [&str; 4] =
    ["/test.Hostile/Unary", "/test.Hostile/List", "/test.Hostile/Collect", "/test.Hostile/Chat"];

static DESCRIPTOR: ServiceDescriptor = ServiceDescriptor {
    name: "test.Hostile",
    methods: &[
        method(0, false, false),
        method(1, false, true),
        method(2, true, false),
        method(3, true, true),
    ],
    file_descriptor_set: &[],
};

const fn method(index: usize, client_streaming: bool, server_streaming: bool) -> MethodDescriptor<'static> {
    let path = PATHS[index];
    MethodDescriptor {
        path,
        service: "test.Hostile",
        name: path.split_at("/test.Hostile/".len()).1,
        client_streaming,
        server_streaming,
        file_descriptor_set: &[],
    }
}

impl Service for Hostile {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &DESCRIPTOR
    }

    fn slot(&self, method: usize) -> Option<Pin<Box<dyn CallSlot>>> {
        type Sink = ResponseSink<Hostile, Text>;
        async fn first(mut request: Request<Streaming<Text>>) -> Result<Text, Status> {
            request.message().await?.ok_or_else(|| Status::aborted("no message"))
        }
        let service = Arc::new(());
        Some(match method {
            0 => unary_slot::<Self, Text, Text, _, _, _>(service, |_: Arc<()>, request: Request<Text>| {
                if request.0.starts_with("start") {
                    go_wrong(&request.0);
                }
                async move { act(&request.0).await.map(Response::new) }
            }),
            1 => server_streaming_slot::<Self, Text, Text, _, _, _>(
                service,
                |_: Arc<()>, request: Request<Text>, sink: Sink| async move {
                    sink.stream(replies(act(&request.0).await?)).await
                },
            ),
            2 => client_streaming_slot::<Self, Text, Text, _, _, _>(
                service,
                |_: Arc<()>, request: Request<Streaming<Text>>| async move {
                    act(&first(request).await?.0).await.map(Response::new)
                },
            ),
            _ => bidi_slot::<Self, Text, Text, _, _, _>(
                service,
                |_: Arc<()>, request: Request<Streaming<Text>>, sink: Sink| async move {
                    sink.stream(replies(act(&first(request).await?.0).await?)).await
                },
            ),
        })
    }
}

/// Makes a call beside another one, which has to get its answer whatever becomes of the first.
async fn beside_another(
    stage: &Stage,
    served: &Served,
    path: &str,
    fields: &[(&str, &str)],
    text: &str,
) -> Reply {
    let row = format!("{path} {text} {fields:?}");
    let mut peer = served.peer().await;
    let other = peer.request(UNARY, &[("script", "gate; echo")], &message(b"alive"), true).await;
    let reply = peer.call(path, fields, text.as_bytes()).await;
    assert!(!reply.status().1.contains("secret"), "{row}: {reply:?}");
    assert!(reply.rest.is_empty(), "a part of a message is left over, {row}");
    stage.journal.open_gate(1);
    assert_eq!(peer.reply(other).await.texts(), ["alive"], "{row}");
    reply
}

/// Runs `test` with the service plain, compressing, and intercepted, in every mode.
#[expect(clippy::needless_pass_by_value, reason = "called with closures made on the spot")]
fn in_each_setting(test: impl AsyncFn(&Stage, &Served)) {
    let always = Compression::only(Encoding::Gzip).always();
    let settings: [fn(Server, Compression) -> Server; 3] = [
        |server, _| server,
        |server, always| server.compression(always),
        |server, _| {
            server.map_errors(|_| None).interceptor(|call: &mut InterceptedCall<'_>| {
                call.on_end(|_| ());
                call.on_response_message(|_| Ok(()));
                Ok(())
            })
        },
    ];
    for set in settings {
        in_each_mode(async |stage: Stage| {
            let served = serve(set(stage.server().add_service(Hostile), always));
            test(&stage, &served).await;
            served.finish([]).await;
        });
    }
}

const GZIP: (&str, &str) = ("grpc-accept-encoding", "gzip");

// wire-rules E1, B3: in every phase, and with values that panic when they are dropped.
#[test]
fn a_panic_anywhere_costs_its_own_call_and_no_other() {
    in_each_setting(async |stage, served| {
        for what in ["decode", "poll", "parked", "future-drop", "encode", "encode-begun", "encode-half"] {
            for text in [what.to_owned(), format!("{what}!")] {
                for path in PATHS {
                    let reply = beside_another(stage, served, path, &[GZIP], &text).await;
                    assert_eq!(reply.code(), code::UNKNOWN, "{path} {text}");
                    let streams = path.ends_with("List") || path.ends_with("Chat");
                    let expected: &[&str] =
                        if streams && what.starts_with("encode") { &["one"] } else { &[] };
                    assert_eq!(reply.texts(), expected, "{path} {text}");
                }
            }
        }
        for what in
            ["encode-linked", "encode-whole", "stream-panic", "stream-drop", "reply-drop", "request-drop"]
        {
            for text in [what.to_owned(), format!("{what}!")] {
                let reply = beside_another(stage, served, PATHS[1], &[GZIP], &text).await;
                assert_eq!(
                    (reply.code(), reply.messages.first()),
                    (code::UNKNOWN, Some(&"one".into())),
                    "{text}"
                );
            }
        }
        for text in ["start", "start!"] {
            assert_eq!(beside_another(stage, served, PATHS[0], &[GZIP], text).await.code(), code::UNKNOWN);
        }
    });
}

// wire-rules E1: what an error holds is dropped here, and is no part of the answer.
#[test]
fn a_cause_whose_destructor_panics_does_not_change_the_status() {
    in_each_setting(async |stage, served| {
        for path in PATHS {
            for text in ["error-drop", "error-drop!"] {
                let reply = beside_another(stage, served, path, &[GZIP], text).await;
                assert_eq!(reply.status(), (code::NOT_FOUND, "gone".to_owned()), "{path} {text}");
            }
        }
    });
}

// wire-rules Z3, E3, B3: a codec that does not keep to announcing once and writing just that.
#[test]
fn a_codec_that_announces_not_at_all_twice_or_wrongly_is_internal() {
    in_each_setting(async |stage, served| {
        for path in PATHS {
            for text in ["no-room", "no-room-got", "twice", "over", "under"] {
                let reply = beside_another(stage, served, path, &[GZIP], text).await;
                let streams = path.ends_with("List") || path.ends_with("Chat");
                let expected: &[&str] = if streams { &["one"] } else { &[] };
                assert_eq!((reply.code(), &reply.texts()[..]), (code::INTERNAL, expected), "{path} {text}");
            }
        }
    });
}

/// Two interceptors, whose hooks do what the call's metadata asks for and otherwise say in trailers that they ran.
fn with_hooks(server: Server) -> Server {
    let interceptor = |name: &'static str| {
        move |call: &mut InterceptedCall<'_>| {
            let what = call.metadata().get("do").unwrap_or_default().to_owned();
            let hook = |part: &str| {
                let (what, asked) = (what.clone(), what.contains(&format!("{part}-{name}")));
                move || if asked { go_wrong(&what) } else { Ok::<_, Status>(()) }
            };
            let (ended, asked, answered) = (hook("end"), hook("request"), hook("response"));
            call.on_end(move |end| {
                if ended().is_ok() {
                    let _legal = end.trailers_mut().insert(&format!("x-{name}"), "ran");
                }
            });
            call.on_request_message(move |_| asked());
            call.on_response_message(move |_| answered());
            hook("itself")()
        }
    };
    server.interceptor(interceptor("outer")).interceptor(interceptor("inner"))
}

// wire-rules E1: hooks are told once each, whatever the ones before them and the interceptors did. Two panics, one in the
// destructors of the other, must not end the process.
#[test]
fn a_hook_that_panics_fails_its_call_and_the_other_hooks_are_told() {
    in_each_mode(async |stage: Stage| {
        let served = serve(with_hooks(stage.server().add_service(Hostile)));
        let rows = [
            // What the inner one had put into trailers is gone when the outer one fails.
            ("end-inner", "fine", Some((None, Some("ran")))),
            ("end-outer", "fine", Some((None, None))),
            ("end-inner end-outer", "fine", Some((None, None))),
            ("end-inner", "parked", None),
            ("request-inner", "fine", None),
            ("response-outer end-inner", "fine", None),
            ("itself-inner", "fine", None),
            ("itself-inner end-inner", "fine", None),
            ("itself-inner end-outer", "fine", None),
        ];
        for (what, text, trailers) in rows {
            for what in [what.to_owned(), format!("{what}!")] {
                for path in PATHS {
                    let reply = beside_another(&stage, &served, path, &[("do", &what)], text).await;
                    assert_eq!(reply.code(), code::UNKNOWN, "{path} {what} {text}");
                    if let Some(trailers) = trailers {
                        let seen = (reply.trailer_value("x-inner"), reply.trailer_value("x-outer"));
                        assert_eq!(seen, trailers, "{path} {what} {text}");
                    }
                }
            }
        }
        served.finish([]).await;
    });
}

// wire-rules E1, 74: the end is told in a destructor then.
#[test]
fn a_hook_that_panics_when_its_call_is_given_up_hurts_no_other() {
    in_each_mode(async |stage: Stage| {
        let served = serve(with_hooks(stage.server()));
        for what in ["end-inner", "end-outer!", "end-inner end-outer"] {
            let fields = [("do", what), ("script", "never")];
            let mut peer = served.peer().await;
            let reset = peer.request(UNARY, &fields, &message(b""), true).await;
            settle().await;
            peer.reset(reset, ErrorCode::CANCEL).await;
            let late = [fields[0], fields[1], ("grpc-timeout", "10m")];
            assert_eq!(peer.call(UNARY, &late, b"").await.code(), code::DEADLINE_EXCEEDED, "{what}");
            for _ in 0..2 {
                peer.request(UNARY, &fields, &message(b""), true).await;
            }
            settle().await;
            let mut other = served.peer().await;
            drop(peer);
            settle().await;
            assert_eq!(other.call(UNARY, &[], b"alive").await.texts(), ["alive"], "{what}");
        }
        served.finish([]).await;
    });
}
