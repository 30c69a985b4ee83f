//! What interceptors of a server see, change and cause.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use peregrine_core::observe::Side;
use peregrine_core::{Code, InterceptedCall, Interceptor, Response, Status};
use peregrine_http2::ErrorCode;
use peregrine_server::MethodConfig;
use peregrine_testkit::peer::message;
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{serve, settle};

use crate::{Stage, code, in_each_mode};

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn push(&self, line: impl Into<String>) {
        self.0.lock().expect("no test panics while it writes").push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no test panics while it writes"))
    }

    /// An interceptor that writes its name, and how the call ended.
    fn interceptor(&self, name: &'static str) -> impl Interceptor {
        let log = self.clone();
        move |call: &mut InterceptedCall<'_>| {
            log.push(name);
            let log = log.clone();
            call.on_end(move |end| log.push(format!("{name} {:?}", end.code())));
            Ok(())
        }
    }
}

/// Waits, then lets in whoever knows the word, and tells the handler.
struct Door;

impl Interceptor for Door {
    async fn intercept(&self, call: &mut InterceptedCall<'_>) -> Result<(), Status> {
        tokio::task::yield_now().await;
        match call.metadata().get("word") {
            Some("sesame") => {
                call.metadata_mut().insert("seen-by", "door")?;
                call.response_metadata_mut().insert("x-door", "open")?;
                Ok(())
            }
            _ => Err(Status::unauthenticated("say the word")),
        }
    }
}

#[test]
fn an_interceptor_lets_calls_through_or_refuses_them_before_their_message_is_decoded() {
    in_each_mode(async |stage: Stage| {
        let served = serve(stage.server().interceptor(Door));
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let reply = peer.call(path, &[("word", "sesame"), ("script", "tell")], b"hello").await;
            assert_eq!(reply.code(), code::OK, "{path}");
            assert!(reply.texts()[0].contains("seen-by: door"), "the handler sees the change: {reply:?}");
            assert_eq!(reply.head_value("x-door"), Some("open"));
        }
        let before = stage.counts().started;
        for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
            let reply = peer.call(path, &[("word", "please")], b"hello").await;
            assert_eq!(reply.status(), (code::UNAUTHENTICATED, "say the word".to_owned()), "{path}");
            assert!(reply.is_trailers_only());
        }
        assert_eq!(stage.counts().started, before, "no handler has run");
        served.finish([peer]).await;
    });
}

#[test]
fn the_servers_come_first_then_the_services_then_the_methods() {
    in_each_mode(async |stage: Stage| {
        let log = Log::default();
        let of = |name| MethodConfig::new().interceptor(log.interceptor(name));
        let server = stage
            .server()
            .configure("test.Test/Unary", of("method"))
            .configure("test.Test", of("service"))
            .interceptor(log.interceptor("server 1"))
            .interceptor(log.interceptor("server 2"));
        let served = serve(server);
        let mut peer = served.peer().await;
        peer.call(UNARY, &[], b"").await;
        let begun = ["server 1", "server 2", "service", "method"];
        let ended = ["method Ok", "service Ok", "server 2 Ok", "server 1 Ok"];
        assert_eq!(log.take(), [begun, ended].concat());
        peer.call(SERVER_STREAM, &[("script", "fail 5 no")], b"").await;
        let begun = ["server 1", "server 2", "service"];
        let ended = ["service NotFound", "server 2 NotFound", "server 1 NotFound"];
        assert_eq!(log.take(), [begun, ended].concat());
        served.finish([peer]).await;
    });
}

// wire-rules 5: what has no route has no interceptors either.
#[test]
fn paths_that_lead_nowhere_are_refused_before_any_interceptor() {
    in_each_mode(async |stage: Stage| {
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&seen);
        let server = stage.server().interceptor(move |_: &mut InterceptedCall<'_>| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let served = serve(server);
        let mut peer = served.peer().await;
        for path in ["test.Test/Unary", "/test.Test", "//test.Test/Unary", "/test.Test/Nothing"] {
            assert_eq!(peer.call(path, &[], b"").await.code(), code::UNIMPLEMENTED, "{path}");
        }
        assert_eq!(seen.load(Ordering::Relaxed), 0);
        assert_eq!(peer.call(UNARY, &[], b"").await.code(), code::OK);
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        served.finish([peer]).await;
    });
}

#[test]
fn an_interceptor_answers_in_the_handlers_place() {
    in_each_mode(async |stage: Stage| {
        let log = Log::default();
        let server = stage
            .server()
            .interceptor(|call: &mut InterceptedCall<'_>| {
                let mut answer = Response::new(Bytes::from_static(b"from the cache"));
                answer.metadata_mut().insert("x-cache", "hit")?;
                answer.trailers_mut().insert("x-age", "3")?;
                call.answer(answer);
                Ok(())
            })
            .interceptor(log.interceptor("never"));
        let served = serve(server);
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM] {
            let reply = peer.call(path, &[], b"").await;
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec!["from the cache"]));
            let fields = (reply.head_value("x-cache"), reply.trailer_value("x-age"));
            assert_eq!(fields, (Some("hit"), Some("3")));
        }
        assert_eq!((stage.counts().started, log.take()), (0, vec![]));
        served.finish([peer]).await;
    });
}

#[test]
fn hooks_see_every_message_with_its_type_and_length_and_may_end_the_call() {
    in_each_mode(async |stage: Stage| {
        let log = Log::default();
        let lines = log.clone();
        let server = stage.server().interceptor(move |call: &mut InterceptedCall<'_>| {
            assert_eq!((call.side(), call.is_secure()), (Side::Server, false));
            let whole = call.request_bytes().map_or("a stream".to_owned(), |bytes| format!("{bytes:?}"));
            lines.push(format!("{} {whole}", call.method().name));
            let log = lines.clone();
            call.on_request_message(move |message| {
                let text = message.downcast_ref::<Bytes>().expect("the service's messages are bytes");
                log.push(format!("asked {text:?} of {}", message.encoded_len()));
                if text == "bad" { Err(Status::invalid_argument("bad word")) } else { Ok(()) }
            });
            let log = lines.clone();
            call.on_response_message(move |message| {
                log.push(format!("answered {}", message.encoded_len()));
                Ok(())
            });
            Ok(())
        });
        let served = serve(server);
        let mut peer = served.peer().await;
        peer.call(UNARY, &[], b"good").await;
        assert_eq!(log.take(), ["Unary b\"good\"", "asked b\"good\" of 4", "answered 4"]);
        peer.call(BIDI, &[("script", "echo-all; send tail")], b"one").await;
        assert_eq!(log.take(), ["Bidi a stream", "asked b\"one\" of 3", "answered 3", "answered 4"]);
        for path in [UNARY, BIDI] {
            let before = stage.counts().made;
            let reply = peer.call(path, &[], b"bad").await;
            assert_eq!(reply.status(), (code::INVALID_ARGUMENT, "bad word".to_owned()), "{path}");
            assert_eq!(stage.counts().made, before);
        }
        served.finish([peer]).await;
    });
}

#[test]
fn an_end_hook_changes_what_the_client_gets() {
    in_each_mode(async |stage: Stage| {
        let server = stage.server().interceptor(|call: &mut InterceptedCall<'_>| {
            call.on_end(|end| match end.code() {
                Code::NotFound => end.fail(Status::permission_denied("you may not know")),
                _ => drop(end.trailers_mut().insert("x-cost", "7")),
            });
            Ok(())
        });
        let served = serve(server);
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM] {
            assert_eq!(peer.call(path, &[], b"x").await.trailer_value("x-cost"), Some("7"), "{path}");
            let reply = peer.call(path, &[("script", "fail 5 gone")], b"").await;
            assert_eq!(reply.status(), (code::PERMISSION_DENIED, "you may not know".to_owned()), "{path}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 64, 74: however a call ends, its end is told, once.
#[test]
fn the_end_is_told_of_calls_that_panic_or_are_given_up_or_run_out_of_time() {
    in_each_mode(async |stage: Stage| {
        let log = Log::default();
        let served = serve(stage.server().interceptor(log.interceptor("i")));
        let mut peer = served.peer().await;
        peer.call(UNARY, &[("script", "panic secret")], b"").await;
        assert_eq!(log.take(), ["i", "i Unknown"]);
        peer.call(UNARY, &[("script", "never"), ("grpc-timeout", "10m")], b"").await;
        settle().await;
        assert_eq!(log.take(), ["i", "i DeadlineExceeded"]);
        let stream = peer.request(SERVER_STREAM, &[("script", "never")], &message(b""), true).await;
        stage.journal.until(|counts| counts.started == 3).await;
        peer.reset(stream, ErrorCode::CANCEL).await;
        settle().await;
        assert_eq!(log.take(), ["i", "i Cancelled"]);
        served.finish([peer]).await;
    });
}

#[test]
fn a_call_that_is_given_up_while_an_interceptor_waits_runs_no_handler() {
    struct Forever;
    impl Interceptor for Forever {
        async fn intercept(&self, _call: &mut InterceptedCall<'_>) -> Result<(), Status> {
            std::future::pending().await
        }
    }
    in_each_mode(async |stage: Stage| {
        let log = Log::default();
        let served = serve(stage.server().interceptor(log.interceptor("i")).interceptor(Forever));
        let mut peer = served.peer().await;
        let stream = peer.request(UNARY, &[], &message(b""), true).await;
        settle().await;
        peer.reset(stream, ErrorCode::CANCEL).await;
        let reply = peer.call(UNARY, &[("grpc-timeout", "10m")], b"").await;
        assert_eq!(reply.code(), code::DEADLINE_EXCEEDED);
        settle().await;
        assert_eq!(log.take(), ["i", "i Cancelled", "i", "i Cancelled"]);
        assert_eq!(stage.counts().started, 0);
        served.finish([peer]).await;
    });
}

// wire-rules E2: the mapper has its say about handlers' errors before the hooks, and none about interceptors' refusals.
#[test]
fn end_hooks_see_what_the_error_mapper_made_of_a_handlers_error() {
    in_each_mode(async |stage: Stage| {
        let log = Log::default();
        let server = stage
            .server()
            .map_errors(|status| Some(Status::unknown(format!("mapped {:?}", status.code()))))
            .interceptor(log.interceptor("i"))
            .configure("test.Test/ServerStream", MethodConfig::new().interceptor(Door));
        let served = serve(server);
        let mut peer = served.peer().await;
        let reply = peer.call(UNARY, &[("script", "fail 5 gone")], b"").await;
        assert_eq!(reply.status(), (code::UNKNOWN, "mapped NotFound".to_owned()));
        assert_eq!(log.take(), ["i", "i Unknown"]);
        assert_eq!(peer.call(SERVER_STREAM, &[], b"").await.code(), code::UNAUTHENTICATED);
        assert_eq!(log.take(), ["i", "i Unauthenticated"]);
        served.finish([peer]).await;
    });
}
