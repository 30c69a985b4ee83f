//! The caller's code going wrong inside of a call: codecs and hooks. Each costs its own call and no other on the
//! connection (wire-rules E1, Z3, B3).

use bytes::Bytes;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::{
    Code, Codec, DecodeError, DecodeLimits, EncodeError, EncodeTarget, InterceptedCall, Payload, Request,
    Status, iter,
};
use peregrine_testkit::{Received, ServerPeer, virtual_time};

use crate::{CHAT, COLLECT, LIST, UNARY, chat, collect, list, message, pair, unary};

/// What goes wrong is named by the message.
struct Bad;

impl Codec<String> for Bad {
    fn encode<E: EncodeTarget>(value: &String, target: &mut E) -> Result<(), EncodeError> {
        match value.as_str() {
            "no room" => {}
            "no room got" => drop(target.begin(usize::MAX)),
            "twice" => {
                target.begin(1)?.put_slice(b"a");
                target.begin(1)?.put_slice(b"b");
            }
            "over" => target.begin(1)?.put_slice(b"ab"),
            "under" => target.begin(3)?.put_slice(b"ab"),
            "half" => {
                target.begin(10)?.put_slice(b"ab");
                return Err(EncodeError::codec("no further"));
            }
            "panic" => {
                let mut room = target.begin(20_000)?;
                room.put_slice(b"ab");
                room.put_shared(Bytes::from(vec![1; 10_000]));
                panic!("the caller's own");
            }
            text => target.begin(text.len())?.put_slice(text.as_bytes()),
        }
        Ok(())
    }

    fn decode(body: Payload<'_>, _limits: &DecodeLimits) -> Result<String, DecodeError> {
        Ok(String::from_utf8_lossy(body.as_slice()).into_owned())
    }
}

/// Body bytes that came, and whether every stream that was opened was reset.
async fn left(server: &mut ServerPeer) -> (usize, bool) {
    let (mut bytes, mut open) = (0, 0_i32);
    for frame in server.drain().await {
        match frame {
            Received::Headers { .. } => open += 1,
            Received::Data { data, .. } => bytes += data.len(),
            Received::Reset { .. } => open -= 1,
            other => panic!("{other:?}"),
        }
    }
    (bytes, open == 0)
}

// wire-rules Z3, B3, E1: a unary message that went wrong sends none of itself; of a stream the messages before it leave.
#[test]
fn a_codec_that_goes_wrong_sends_nothing_of_its_message_and_costs_its_own_call() {
    for always in [false, true] {
        virtual_time(async {
            let (mut builder, mut acceptor) = pair();
            if always {
                builder = builder.compression(Compression::only(Encoding::Gzip).always());
            }
            let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
            let channel = channel.unwrap();
            for what in ["no room", "no room got", "twice", "over", "under", "half", "panic"] {
                for shape in 0..4 {
                    let row = format!("{what}, shape {shape}, compressed {always}");
                    let other = channel.clone();
                    let other = tokio::spawn(async move { unary(&other, message("alive")).await });
                    let asked = server.request().await;
                    let (c, one) = (channel.clone(), what.to_owned());
                    let call = tokio::spawn(async move {
                        let many = iter(["one".to_owned(), one.clone(), "three".to_owned()]);
                        match shape {
                            0 => {
                                peregrine_client::unary::<Bad, String, String>(&c, &UNARY, Request::new(one))
                                    .await
                                    .map(drop)
                            }
                            1 => peregrine_client::server_streaming::<Bad, String, String>(
                                &c,
                                &LIST,
                                Request::new(one),
                            )
                            .await
                            .map(drop),
                            2 => peregrine_client::client_streaming::<Bad, String, String, _>(
                                &c,
                                &COLLECT,
                                Request::new(many),
                            )
                            .await
                            .map(drop),
                            _ => {
                                let mut replies = peregrine_client::bidi::<Bad, String, String, _>(
                                    &c,
                                    &CHAT,
                                    Request::new(many),
                                )
                                .await?;
                                replies.message().await.map(drop)
                            }
                        }
                    });
                    match call.await {
                        Ok(result) => assert_eq!(result.unwrap_err().code(), Code::Internal, "{row}"),
                        Err(error) => assert!(what == "panic" && error.is_panic(), "{row}"),
                    }
                    // "one" with its prefix, and nothing of the message that is wrong.
                    let expected = if shape < 2 { 0 } else { 8 };
                    assert_eq!(left(&mut server).await, (expected, true), "{row}");
                    server.reply(asked.stream, b"alive").await;
                    assert_eq!(other.await.unwrap().unwrap().into_inner(), "alive", "{row}");
                }
            }
        });
    }
}

// wire-rules E1: a hook of the end that panics is a call that failed; any other panic is the caller's, who sees it, also
// when both happen at once.
#[test]
fn a_hook_that_panics_ends_its_call_and_leaves_no_stream_behind() {
    virtual_time(async {
        for what in ["end", "request", "response", "itself", "itself end", "response end"] {
            let (builder, mut acceptor) = pair();
            let builder = builder.interceptor(move |call: &mut InterceptedCall<'_>| {
                if call.metadata().get("safe").is_some() {
                    return Ok(());
                }
                let hook = |part: &'static str| {
                    move || if what.contains(part) { panic!("the caller's own") } else { Ok::<_, Status>(()) }
                };
                let (ended, asked, answered) = (hook("end"), hook("request"), hook("response"));
                call.on_end(move |_| drop(ended()));
                call.on_request_message(move |_| asked());
                call.on_response_message(move |_| answered());
                hook("itself")()
            });
            let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
            let channel = channel.unwrap();
            for shape in 0..4 {
                let mut safe = Request::new(message("alive"));
                safe.metadata_mut().insert("safe", "yes").unwrap();
                let other = channel.clone();
                let other = tokio::spawn(async move { unary(&other, safe).await });
                let asked = server.request().await;
                let c = channel.clone();
                let call = tokio::spawn(async move {
                    let many = iter([message("x"), message("y")]);
                    match shape {
                        0 => unary(&c, message("x")).await.map(drop),
                        1 => list(&c, message("x")).await?.message().await.map(drop),
                        2 => collect(&c, many).await.map(drop),
                        _ => chat(&c, many).await?.message().await.map(drop),
                    }
                });
                if what.starts_with("end") || what.starts_with("response") {
                    let stream = server.request_head().await.stream;
                    if what == "end" {
                        server.trailers_only(stream, &[("grpc-status", "5")]).await;
                    } else {
                        server.head(stream, &[]).await;
                        server.message(stream, b"re").await;
                        server.trailers(stream, &[("grpc-status", "0")]).await;
                    }
                }
                match call.await {
                    Ok(result) => {
                        assert_eq!(result.unwrap_err().code(), Code::Unknown, "{what}, shape {shape}");
                    }
                    Err(error) => assert!(error.is_panic() && what != "end", "{what}, shape {shape}"),
                }
                server.drain().await;
                server.reply(asked.stream, b"alive").await;
                assert_eq!(other.await.unwrap().unwrap().into_inner(), "alive", "{what}, shape {shape}");
            }
        }
    });
}
