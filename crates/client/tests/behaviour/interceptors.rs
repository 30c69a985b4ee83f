//! What interceptors and credentials of a channel see, add and prevent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use peregrine_core::observe::Side;
use peregrine_core::{BearerToken, Code, InterceptedCall, Interceptor, Request, Response, Status, iter};
use peregrine_http2::ErrorCode;
use peregrine_testkit::virtual_time;
use tokio::time::Instant;

use crate::{chat, collect, list, message, pair, unary};

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

    /// An interceptor that writes down all that it can see.
    fn interceptor(&self) -> impl Interceptor {
        let log = self.clone();
        move |call: &mut InterceptedCall<'_>| {
            assert_eq!(call.side(), Side::Client);
            log.push(call.method().path);
            let lines = log.clone();
            call.on_request_message(move |message| {
                lines.push(format!("> {:?} {}", message.downcast_ref::<Bytes>(), message.encoded_len()));
                Ok(())
            });
            let lines = log.clone();
            call.on_response_message(move |message| {
                lines.push(format!("< {:?} {}", message.downcast_ref::<Bytes>(), message.encoded_len()));
                Ok(())
            });
            let lines = log.clone();
            call.on_end(move |end| {
                lines.push(format!("{:?} {:?} {}", end.code(), end.trailers().get("t"), end.is_abandoned()));
            });
            Ok(())
        }
    }
}

#[test]
fn an_interceptor_sees_all_of_a_call_of_each_shape() {
    virtual_time(async {
        let log = Log::default();
        let (builder, mut acceptor) = pair();
        let builder = builder.interceptor(log.interceptor());
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let expected = |path: &str| {
            let lines = [path, "> Some(b\"hi\") 2", "< Some(b\"there\") 5", "Ok Some(\"1\") false"];
            lines.map(str::to_owned).to_vec()
        };
        let serve = async |server: &mut peregrine_testkit::ServerPeer| {
            let stream = server.request().await.stream;
            server.head(stream, &[]).await;
            server.message(stream, b"there").await;
            server.trailers(stream, &[("grpc-status", "0"), ("t", "1")]).await;
        };
        let (reply, ()) = tokio::join!(unary(&channel, message("hi")), serve(&mut server));
        assert_eq!(reply.unwrap().trailers().get("t"), Some("1"));
        assert_eq!(log.take(), expected("/test.Service/Unary"));
        let (reply, ()) = tokio::join!(collect(&channel, iter([message("hi")])), serve(&mut server));
        reply.unwrap();
        assert_eq!(log.take(), expected("/test.Service/Collect"));
        let mut replies = list(&channel, message("hi")).await.unwrap();
        serve(&mut server).await;
        assert_eq!(replies.message().await.unwrap(), Some(message("there")));
        assert_eq!(replies.message().await.unwrap(), None);
        assert_eq!(log.take(), expected("/test.Service/List"));
        let mut replies = chat(&channel, iter([message("hi")])).await.unwrap();
        serve(&mut server).await;
        assert_eq!(replies.message().await.unwrap(), Some(message("there")));
        assert_eq!(replies.message().await.unwrap(), None);
        assert_eq!(log.take(), expected("/test.Service/Chat"));
    });
}

#[test]
fn the_end_is_told_of_calls_that_fail_and_of_those_that_nobody_waits_for() {
    virtual_time(async {
        let log = Log::default();
        let (builder, mut acceptor) = pair();
        let builder = builder.interceptor(log.interceptor());
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let failing = async {
            let stream = server.request().await.stream;
            server.trailers_only(stream, &[("grpc-status", "5"), ("t", "2")]).await;
        };
        let (reply, ()) = tokio::join!(unary(&channel, message("")), failing);
        assert_eq!(reply.unwrap_err().code(), Code::NotFound);
        assert_eq!(log.take().last().unwrap(), "NotFound Some(\"2\") false");
        // wire-rules 72
        let replies = list(&channel, message("")).await.unwrap();
        let stream = server.request().await.stream;
        drop(replies);
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        assert_eq!(log.take().last().unwrap(), "Cancelled None true");
        let call = tokio::time::timeout(Duration::from_millis(1), unary(&channel, message("")));
        assert!(call.await.is_err());
        assert_eq!(log.take().last().unwrap(), "Cancelled None true");
    });
}

#[test]
fn an_interceptor_adds_refuses_and_answers_before_anything_is_sent() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder
            .interceptor(|call: &mut InterceptedCall<'_>| match call.metadata().get("do") {
                Some("refuse") => Err(Status::failed_precondition("not now")),
                Some("answer") => {
                    call.answer(Response::new(message("from the cache")));
                    Ok(())
                }
                _ => {
                    call.metadata_mut().insert("added", "yes")?;
                    call.options_mut().max_response_size = Some(3);
                    Ok(())
                }
            })
            .interceptor(|call: &mut InterceptedCall<'_>| {
                assert_eq!(
                    call.metadata().get("added"),
                    Some("yes"),
                    "the earlier one has run and let it pass"
                );
                Ok(())
            });
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let asking = |what: &str| {
            let mut request = Request::new(message("hi"));
            request.metadata_mut().insert("do", what).unwrap();
            request
        };
        assert_eq!(unary(&channel, asking("refuse")).await.unwrap_err().code(), Code::FailedPrecondition);
        assert_eq!(list(&channel, asking("refuse")).await.unwrap_err().code(), Code::FailedPrecondition);
        assert_eq!(unary(&channel, asking("answer")).await.unwrap().into_inner(), "from the cache");
        let mut replies = list(&channel, asking("answer")).await.unwrap();
        assert_eq!(replies.message().await.unwrap(), Some(message("from the cache")));
        assert_eq!(replies.message().await.unwrap(), None);
        let served = async {
            let asked = server.request().await;
            assert_eq!((asked.field("do"), asked.field("added")), (Some("go"), Some("yes")));
            assert_eq!(asked.stream.value(), 1, "the calls before have sent nothing");
            server.reply(asked.stream, b"four").await;
        };
        let (reply, ()) = tokio::join!(unary(&channel, asking("go")), served);
        assert_eq!(reply.unwrap_err().code(), Code::ResourceExhausted, "its limit of the interceptor counts");
    });
}

#[test]
fn hooks_end_a_call() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.interceptor(|call: &mut InterceptedCall<'_>| {
            call.on_request_message(|message| match message.encoded_len() {
                3 => Err(Status::invalid_argument("three")),
                _ => Ok(()),
            });
            call.on_response_message(|_| Err(Status::data_loss("not what was asked for")));
            Ok(())
        });
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        assert_eq!(unary(&channel, message("bad")).await.unwrap_err().code(), Code::InvalidArgument);
        let status = collect(&channel, iter([message("ok"), message("bad")])).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        let stream = server.request_head().await.stream;
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
        let mut replies = list(&channel, message("ok")).await.unwrap();
        let stream = server.request().await.stream;
        server.head(stream, &[]).await;
        server.message(stream, b"something").await;
        assert_eq!(replies.message().await.unwrap_err().code(), Code::DataLoss);
        assert_eq!(server.reset_of(stream).await, ErrorCode::CANCEL);
    });
}

#[test]
fn the_time_of_a_call_runs_while_its_interceptors_are_waited_for() {
    // wire-rules 13, 98
    struct Slow(Duration);
    impl Interceptor for Slow {
        async fn intercept(&self, _call: &mut InterceptedCall<'_>) -> Result<(), Status> {
            tokio::time::sleep(self.0).await;
            Ok(())
        }
    }
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let builder = builder.interceptor(Slow(Duration::from_millis(400)));
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let begun = Instant::now();
        let request = Request::new(message("")).timeout(Duration::from_millis(100));
        assert_eq!(unary(&channel, request).await.unwrap_err().code(), Code::DeadlineExceeded);
        assert!(begun.elapsed() < Duration::from_millis(110), "{:?}", begun.elapsed());
        let request = Request::new(message("")).timeout(Duration::from_secs(1));
        let served = async {
            let asked = server.request().await;
            let left = asked.field("grpc-timeout").unwrap().to_owned();
            let nanos: u64 = left.trim_end_matches(['u', 'n']).parse().expect("in microseconds");
            assert!(left.ends_with('u') && nanos <= 600_000, "{left}");
            server.reply(asked.stream, b"").await;
        };
        let (reply, ()) = tokio::join!(unary(&channel, request), served);
        reply.unwrap();
    });
}

#[test]
fn credentials_are_never_sent_over_plaintext() {
    // wire-rules 94
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let asked = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&asked);
        let token = BearerToken::from_fn(move || {
            *counter.lock().expect("nobody panics with it") += 1;
            std::future::ready(Ok("s3cret".to_owned()))
        });
        let (channel, server) = tokio::join!(builder.connect(), acceptor.accept());
        let (channel, mut server) = (channel.unwrap(), server);
        let request = Request::new(message("")).credentials(token);
        let status = unary(&channel, request).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
        assert!(format!("{status:?}").contains("next step: connect with https://"), "{status:?}");
        assert_eq!(*asked.lock().expect("nobody panics with it"), 0, "they are not even asked");
        let served = async {
            let asked = server.request().await;
            assert_eq!((asked.stream.value(), asked.field("authorization")), (1, None));
            server.reply(asked.stream, b"").await;
        };
        let (reply, ()) = tokio::join!(unary(&channel, message("")), served);
        reply.unwrap();

        let (builder, _acceptor) = pair();
        let error = builder.credentials(BearerToken::new("s3cret")).build().unwrap_err();
        assert_eq!(
            format!("{error:?}"),
            format!(
                "{error}\n  phase: configuration\n  next step: write https://, or give the channel .tls(..), or leave \
                 .credentials(..) out"
            )
        );
    });
}
