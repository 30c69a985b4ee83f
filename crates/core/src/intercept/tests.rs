//! Interceptors and hooks without a server or a client around them.

use std::pin::pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::*;
use crate::call::{MethodDescriptor, PeerAddr, Request, Response};
use crate::codec::BytesCodec;
use crate::metadata::MetadataMap;
use crate::status::Code;
use crate::stream::tests::{Wakes, block_on, poll_once};

const METHOD: MethodDescriptor<'static> = MethodDescriptor {
    path: "/a.S/M",
    service: "a.S",
    name: "M",
    client_streaming: false,
    server_streaming: false,
    file_descriptor_set: &[],
};

/// What happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

fn call() -> InterceptedCall<'static> {
    InterceptedCall::on_server(METHOD, MetadataMap::new(), None, PeerAddr::Unknown, false)
}

/// Notes itself, leaves an end hook, and does what `then` says.
fn noted(
    log: &Log,
    name: &'static str,
    then: impl Fn(&mut InterceptedCall<'_>) -> Result<(), Status> + Send + Sync + 'static,
) -> impl Interceptor {
    let log = Arc::clone(log);
    move |call: &mut InterceptedCall<'_>| {
        log.lock().unwrap().push(name.to_owned());
        let log = Arc::clone(&log);
        call.on_end(move |end| log.lock().unwrap().push(format!("{name} {:?}", end.code())));
        then(call)
    }
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

#[test]
fn interceptors_run_in_order_and_end_hooks_in_reverse() {
    let log = Log::default();
    let mut interceptors = Interceptors::default();
    interceptors.push(noted(&log, "one", |_| Ok(())));
    interceptors.push(noted(&log, "two", |_| Ok(())));
    let mut call = call();
    block_on(interceptors.run(&mut call)).unwrap();
    assert_eq!(taken(&log), ["one", "two"]);
    let result = call.into_parts().end_hooks.run(Err(Status::not_found("no")));
    assert_eq!(result.unwrap_err().code(), Code::NotFound);
    assert_eq!(taken(&log), ["two NotFound", "one NotFound"]);
}

#[test]
fn the_first_that_fails_or_answers_is_the_last_that_runs() {
    let log = Log::default();
    let mut interceptors = Interceptors::default();
    interceptors.push(noted(&log, "one", |call| {
        if call.metadata().get("do") == Some("fail") {
            return Err(Status::unauthenticated("who are you?"));
        }
        call.answer(Response::new(Bytes::from_static(b"answer")));
        Ok(())
    }));
    interceptors.push(noted(&log, "two", |_| Ok(())));
    let mut answered = call();
    block_on(interceptors.run(&mut answered)).unwrap();
    assert_eq!(answered.into_parts().answer.unwrap().into_inner(), "answer");
    let mut failed = call();
    failed.metadata_mut().insert("do", "fail").unwrap();
    assert_eq!(block_on(interceptors.run(&mut failed)).unwrap_err().code(), Code::Unauthenticated);
    drop(failed);
    assert!(!taken(&log).contains(&"two".to_owned()));
}

#[test]
fn an_end_hook_has_the_last_word_but_cannot_make_a_status_of_ok() {
    let mut call = call();
    call.on_end(|end| {
        assert_eq!(end.trailers().get("k"), Some("v"));
        end.trailers_mut().insert("from", "hook").unwrap();
    });
    let mut trailers = MetadataMap::new();
    trailers.insert("k", "v").unwrap();
    let trailers = call.into_parts().end_hooks.run(Ok(trailers)).unwrap();
    assert_eq!(trailers.get("from"), Some("hook"));

    let mut hooks = EndHooks::default();
    hooks.push(|end| end.fail(Status::ok()));
    assert_ne!(hooks.run(Ok(MetadataMap::new())).unwrap_err().code(), Code::Ok);
    assert!(hooks.is_empty());
}

#[test]
fn hooks_of_a_call_that_nobody_ended_hear_that_it_was_given_up() {
    let log = Log::default();
    let mut interceptors = Interceptors::default();
    interceptors.push(noted(&log, "one", |call| {
        call.on_end(|end| assert!(end.is_abandoned()));
        Ok(())
    }));
    let mut call = call();
    block_on(interceptors.run(&mut call)).unwrap();
    drop(call);
    assert_eq!(taken(&log), ["one", "one Cancelled"]);
}

// wire-rules Z3: what the codec announces is the length, and nothing is encoded for it.
// wire-rules E1
#[test]
fn a_hook_that_panics_makes_the_end_unknown_and_the_others_hear_it() {
    for is_given_up in [false, true] {
        let log = Log::default();
        let mut call = call();
        let lines = Arc::clone(&log);
        call.on_end(move |end| lines.lock().unwrap().push(format!("outer {:?}", end.code())));
        call.on_end(|_| panic!("secret"));
        let lines = Arc::clone(&log);
        call.on_end(move |end| lines.lock().unwrap().push(format!("inner {:?}", end.code())));
        let mut parts = call.into_parts();
        if is_given_up {
            drop(parts);
        } else {
            let status = parts.end_hooks.run(Ok(MetadataMap::new())).unwrap_err();
            assert!(status.code() == Code::Unknown && !status.message().contains("secret"), "{status}");
        }
        let first = if is_given_up { "inner Cancelled" } else { "inner Ok" };
        assert_eq!(taken(&log), [first, "outer Unknown"]);
    }
}

#[test]
fn a_message_is_known_by_its_type_and_its_encoded_length() {
    let bytes = Bytes::from(vec![0; 20_000]);
    let outgoing = Message::outgoing::<BytesCodec, _>(&bytes);
    assert_eq!(outgoing.encoded_len(), 20_000);
    assert_eq!(outgoing.downcast_ref::<Bytes>(), Some(&bytes));
    assert!(outgoing.downcast_ref::<String>().is_none());
    assert_eq!(Message::decoded(&1_u8, 7).encoded_len(), 7);
}

#[test]
fn message_hooks_see_every_message_until_one_fails() {
    let mut call = call();
    let log = Log::default();
    for name in ["one", "two"] {
        let log = Arc::clone(&log);
        call.on_request_message(move |message| {
            log.lock().unwrap().push(format!("{name} {}", message.encoded_len()));
            if message.encoded_len() > 9 { Err(Status::resource_exhausted("long")) } else { Ok(()) }
        });
    }
    let mut hooks = call.into_parts().request_hooks;
    hooks.run(&Message::decoded(&(), 9)).unwrap();
    assert_eq!(hooks.run(&Message::decoded(&(), 10)).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(taken(&log), ["one 9", "two 9", "one 10"]);
}

#[test]
fn a_client_request_gets_back_what_it_carried_with_the_changes() {
    let mut request = Request::new(1).max_response_size(5);
    request.metadata_mut().insert("k", "v").unwrap();
    request.extensions_mut().insert("kept");
    let mut call = InterceptedCall::on_client(METHOD, &mut request, true);
    assert_eq!((call.metadata().get("k"), call.is_secure()), (Some("v"), true));
    assert_eq!(call.extensions().get::<&str>(), Some(&"kept"));
    call.metadata_mut().insert("more", "w").unwrap();
    call.options_mut().wait_for_ready = Some(true);
    call.into_parts().restore(&mut request);
    assert_eq!((request.metadata().get("k"), request.metadata().get("more")), (Some("v"), Some("w")));
    assert_eq!(request.extensions().get::<&str>(), Some(&"kept"));
    let options = request.options();
    assert_eq!((options.max_response_size, options.wait_for_ready), (Some(5), Some(true)));
}

#[test]
fn an_interceptor_may_wait() {
    struct Slow;
    impl Interceptor for Slow {
        async fn intercept(&self, call: &mut InterceptedCall<'_>) -> Result<(), Status> {
            std::future::pending::<()>().await;
            call.extensions_mut().insert(1);
            Ok(())
        }
    }
    let mut interceptors = Interceptors::default();
    interceptors.push(Slow);
    let mut call = call();
    let wakes: Arc<Wakes> = Arc::default();
    assert!(poll_once(pin!(interceptors.run(&mut call)), &wakes).is_pending());
}
