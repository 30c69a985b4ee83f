//! What an observer of a channel hears of messages, and of what compression makes of them.

use std::cell::RefCell;
use std::task::{Context, Waker};

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::observe::{MessageCompression, MessageEvent, MessageSize};
use peregrine_core::{CallOptions, Code, Observe, Request};
use peregrine_http2::ErrorCode;
use peregrine_testkit::peer::prefixed;
use peregrine_testkit::{MessageRecorder, ServerPeer, virtual_time};

use crate::{chat, collect, list, message, pair, unary};

/// "hello" by another implementation.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
const PACKED: (usize, usize, MessageCompression) = (5, GZIP.len(), MessageCompression::With(Encoding::Gzip));
const PLAIN: (usize, usize, MessageCompression) = (3, 3, MessageCompression::NotByPeer);

type Sizes = Vec<(usize, usize, MessageCompression)>;

/// What was heard of sent and of received messages, all of which have to be of the method with this path.
fn heard(recorder: &MessageRecorder, path: &str) -> [Sizes; 2] {
    let heard = recorder.take();
    let parts = |size: &MessageSize| (size.raw_len, size.wire_len, size.compression);
    let of = |direction: &str| -> Sizes {
        let what = format!("{direction} {path}");
        heard.iter().filter(|(name, _)| *name == what).map(|(_, size)| parts(size)).collect()
    };
    let [sent, received] = [of("Sent"), of("Received")];
    assert_eq!(received.len() + sent.len(), heard.len(), "of other methods: {heard:?}");
    [sent, received]
}

/// Reads a request and answers it with `hello`, compressed, and, if there may be more, `raw`. Returns the body.
async fn answer(server: &mut ServerPeer, is_stream: bool) -> Vec<u8> {
    let asked = server.request().await;
    server.head(asked.stream, &[("grpc-encoding", "gzip")]).await;
    server.data(asked.stream, &prefixed(1, GZIP.len() as u32, GZIP), false).await;
    if is_stream {
        server.message(asked.stream, b"raw").await;
    }
    server.trailers(asked.stream, &[("grpc-status", "0")]).await;
    asked.body
}

/// The lengths of the messages in a body, without their prefixes.
fn wire_lens(mut body: &[u8]) -> Vec<usize> {
    let mut lens = Vec::new();
    while let [_, a, b, c, d, rest @ ..] = body {
        let len = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        lens.push(len);
        body = rest.get(len..).expect("a whole message");
    }
    lens
}

// wire-rules T8: the setting of the channel, of services and of methods, each once.
#[test]
fn what_the_settings_came_to_is_told_once_when_the_channel_is_built() {
    virtual_time(async {
        let options = |setting| CallOptions::new().compression(setting);
        let recorder = MessageRecorder::default();
        let (builder, mut acceptor) = pair();
        let channel = builder
            .compression(Compression::prefer([Encoding::Deflate, Encoding::Snappy]).min_saving(0))
            .configure("test.Service/Unary", options(Compression::only(Encoding::Gzip)))
            .configure("test.Service/List", CallOptions::new().max_request_size(9))
            .configure(
                "/test.Service/Unary",
                options(Compression::only(Encoding::Zstd).level(9).back_off(false)),
            )
            .configure("test.Service", options(Compression::off()))
            .observe(recorder.clone())
            .build()
            .unwrap();
        let told = [
            "Client Default: deflate@1,snappy from 1024, saving 0",
            "Client Service(\"test.Service\"): off",
            "Client Method(\"test.Service/Unary\"): zstd@9 from 1024, saving 5, never backing off",
        ];
        assert_eq!(recorder.take_settings(), told);
        let (reply, _server) = tokio::join!(unary(&channel, message("hi")), async {
            let mut server = acceptor.accept().await;
            answer(&mut server, false).await;
            server
        });
        reply.unwrap();
        assert_eq!(recorder.take_settings(), [""; 0]);
    });
}

#[test]
fn a_channel_without_a_setting_tells_that_it_does_not_compress() {
    let recorder = MessageRecorder::default();
    let _channel = pair().0.observe(recorder.clone()).build().unwrap();
    assert_eq!(recorder.take_settings(), ["Client Default: off"]);
}

// wire-rules T1, T8, 31: raw and wire length of each message of each shape, both ways, and what decided.
#[test]
fn messages_are_told_with_both_sizes_and_what_decided() {
    virtual_time(async {
        let recorder = MessageRecorder::default();
        let (builder, mut acceptor) = pair();
        let channel = builder.compression(Encoding::Gzip).observe(recorder.clone()).build().unwrap();
        let packed = |raw, wire| (raw, wire, MessageCompression::With(Encoding::Gzip));
        let below = (10, 10, MessageCompression::BelowThreshold);
        let (large, small) = (Bytes::from(vec![b'a'; 5_000]), Bytes::from(vec![b'a'; 10]));

        let (reply, (body, mut server)) = tokio::join!(unary(&channel, large.clone()), async {
            let mut server = acceptor.accept().await;
            (answer(&mut server, false).await, server)
        });
        reply.unwrap();
        let [len] = wire_lens(&body)[..] else { panic!("{body:?}") };
        assert!(len < 100);
        assert_eq!(heard(&recorder, "/test.Service/Unary"), [vec![packed(5_000, len)], vec![PACKED]]);

        let (replies, _) = tokio::join!(list(&channel, small.clone()), answer(&mut server, true));
        let mut replies = replies.unwrap();
        let sent = vec![below];
        assert_eq!(
            heard(&recorder, "/test.Service/List"),
            [sent, vec![]],
            "responses are told when they are read"
        );
        while replies.message().await.unwrap().is_some() {}
        assert_eq!(heard(&recorder, "/test.Service/List"), [vec![], vec![PACKED, PLAIN]]);

        let requests = || Request::new(peregrine_core::iter([small.clone(), large.clone(), Bytes::new()]));
        let expected = vec![below, packed(5_000, len), (0, 0, MessageCompression::BelowThreshold)];
        let (reply, body) = tokio::join!(collect(&channel, requests()), answer(&mut server, false));
        reply.unwrap();
        assert_eq!(wire_lens(&body), [10, len, 0]);
        assert_eq!(heard(&recorder, "/test.Service/Collect"), [expected.clone(), vec![PACKED]]);

        let (replies, _) = tokio::join!(chat(&channel, requests()), answer(&mut server, true));
        let mut replies = replies.unwrap();
        while replies.message().await.unwrap().is_some() {}
        assert_eq!(heard(&recorder, "/test.Service/Chat"), [expected, vec![PACKED, PLAIN]]);
    });
}

// wire-rules 44, T8: what was not sent is not told; wire-rules 38: nor what cannot be read.
#[test]
fn messages_that_fail_are_not_told() {
    virtual_time(async {
        let recorder = MessageRecorder::default();
        let (builder, mut acceptor) = pair();
        let channel = builder.max_send_message_size(4).observe(recorder.clone()).build().unwrap();
        let script = async {
            let mut server = acceptor.accept().await;
            let asked = server.request().await;
            server.head(asked.stream, &[("grpc-encoding", "gzip")]).await;
            server.data(asked.stream, &prefixed(1, 3, b"raw"), false).await;
            server.trailers(asked.stream, &[("grpc-status", "0")]).await;
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, message("1234")), script);
        assert_eq!(reply.unwrap_err().code(), Code::Internal);
        let sent = vec![(4, 4, MessageCompression::Off)];
        assert_eq!(heard(&recorder, "/test.Service/Unary"), [sent, vec![]]);
        assert_eq!(unary(&channel, message("12345")).await.unwrap_err().code(), Code::ResourceExhausted);
        assert_eq!(recorder.take(), []);
    });
}

// wire-rules 67: what is sent again is told again.
#[test]
fn a_call_that_is_made_again_sends_its_message_again() {
    virtual_time(async {
        let recorder = MessageRecorder::default();
        let (builder, mut acceptor) = pair();
        let channel = builder.observe(recorder.clone()).build().unwrap();
        let script = async {
            let mut server = acceptor.accept().await;
            let refused = server.request().await.stream;
            server.reset(refused, ErrorCode::REFUSED_STREAM).await;
            answer(&mut server, false).await;
            server
        };
        let (reply, _server) = tokio::join!(unary(&channel, message("again")), script);
        reply.unwrap();
        let sent = (5, 5, MessageCompression::Off);
        assert_eq!(heard(&recorder, "/test.Service/Unary"), [vec![sent, sent], vec![PACKED]]);
    });
}

/// Makes a call wherever it is told of a message, for which no lock may be held, and panics.
#[derive(Debug)]
struct Reentrant;

thread_local! {
    static CHANNEL: RefCell<Option<Channel>> = const { RefCell::new(None) };
}

impl Observe for Reentrant {
    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, _event: &MessageEvent<'_>) {
        // Taken, so that the inner call's own message makes no further one.
        if let Some(channel) = CHANNEL.take() {
            let mut call = Box::pin(unary(&channel, message("inner")));
            // Locks the connection, writes, and is cancelled, which locks it again.
            let _pending = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            drop(call);
            CHANNEL.set(Some(channel));
        }
        panic!("an observer that panics");
    }
}

#[test]
fn an_observer_may_make_calls_of_its_own_and_panic() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.observe(Reentrant).build().unwrap();
        CHANNEL.set(Some(channel.clone()));
        let script = async {
            let mut server = acceptor.accept().await;
            let mut asked = server.request().await;
            // Those of the observer are cancelled and want no answer.
            while !asked.body.ends_with(b"outer") {
                asked = server.request().await;
            }
            server.head(asked.stream, &[]).await;
            server.message(asked.stream, b"raw").await;
            server.trailers(asked.stream, &[("grpc-status", "0")]).await;
            server
        };
        let requests = Request::new(peregrine_core::iter([message("outer")]));
        let (reply, server) = tokio::join!(collect(&channel, requests), script);
        assert_eq!(reply.unwrap().into_inner(), message("raw"));
        CHANNEL.set(None);
        drop(server);
    });
}
