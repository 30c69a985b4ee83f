//! Compression of messages that are rewritten into another format on their way: what is counted, tried, limited and cut
//! is what stands on the wire (wire-rules T1, M2, B2, N7).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use peregrine_core::compression::{Compression, Packer, Packing, Staged};
use peregrine_core::message::{Deframer, Encoding};
use peregrine_core::{
    DecodeError, DecodeLimits, EncodeError, Format, InterceptedCall, MessageFormat, MethodDescriptor,
    MethodFormat, Response, Status, Transcode,
};
use peregrine_http2::frame::{Data, Frame};
use peregrine_server::{MethodConfig, Server};
use peregrine_testkit::peer::{Ending, message, prefixed, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{Peer, Received, Reply, serve};

use crate::{Stage, code, in_each_mode};

/// Goes by the name of JSON: every message stands there twice.
#[derive(Debug)]
pub(crate) struct Doubled;

impl MessageFormat for Doubled {
    fn format(&self) -> Format {
        Format::Json
    }

    fn method(&self, _method: &MethodDescriptor<'_>) -> Result<MethodFormat, Status> {
        Ok(MethodFormat { format: Format::Json, request: Arc::new(Twice), response: Arc::new(Twice) })
    }
}

#[derive(Debug)]
struct Twice;

impl Transcode for Twice {
    fn read(&self, body: &[u8], _limits: &DecodeLimits) -> Result<Vec<u8>, DecodeError> {
        match body.split_at(body.len() / 2) {
            (one, two) if one == two => Ok(one.to_vec()),
            _ => Err(DecodeError::new("the halves differ")),
        }
    }

    fn write(&self, message: &[u8]) -> Result<Vec<u8>, EncodeError> {
        Ok(message.repeat(2))
    }
}

/// So many equal bytes, compressed, with their prefix.
fn packed(encoding: Encoding, len: usize) -> Vec<u8> {
    let packer = Packer::new(&Compression::only(encoding).always(), encoding);
    let mut staged = Staged::new(len);
    staged.buffer().put_slice(&vec![b'm'; len]);
    let packing = Packing::of(Some(&packer), Some(true)).expect("it was forced");
    let (mut bytes, mut links) = (Vec::new(), std::collections::VecDeque::new());
    staged.pack(packing).expect("as announced").write_to(&mut bytes, &mut links);
    bytes
}

/// Lengths of a reply's messages as a reader has them.
fn lengths(reply: &Reply) -> Vec<usize> {
    let encoding = reply.head_value("grpc-encoding").unwrap_or("identity");
    let mut deframer = Deframer::new(Encoding::from_wire(encoding.as_bytes()).expect("ours"), usize::MAX);
    for (&flag, message) in reply.flags.iter().zip(&reply.messages) {
        deframer.push(&prefixed(flag, message.len() as u32, message));
    }
    std::iter::from_fn(|| deframer.next_message().expect("ours").map(|message| message.len())).collect()
}

/// A call, its body in these pieces.
async fn call(
    peer: &mut Peer,
    path: &str,
    in_json: bool,
    fields: &[(&str, &str)],
    pieces: &[&[u8]],
    padding: Option<u8>,
) -> Reply {
    let mut head = request_head(path);
    head.retain(|(name, _)| name != "content-type");
    let content_type = if in_json { "application/grpc+json" } else { "application/grpc" };
    head.push(("content-type".to_owned(), content_type.into()));
    head.extend(
        fields.iter().map(|&(name, value)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes()))),
    );
    let stream = peer.open();
    peer.headers(stream, &head, false).await;
    let mut frames = Vec::new();
    for (index, data) in pieces.iter().enumerate() {
        let end_stream = index + 1 == pieces.len();
        Frame::Data(Data { stream, data, end_stream, padding }).encode(&mut frames);
    }
    peer.send_bytes(&frames).await;
    let reply = peer.reply(stream).await;
    assert_eq!(reply.head_value("content-type"), Some(content_type), "{path}");
    reply
}

/// Lets every message and every call through, by the slow way.
fn watched(server: Server) -> Server {
    server.interceptor(|call: &mut InterceptedCall<'_>| {
        call.on_request_message(|_| Ok(()));
        call.on_response_message(|_| Ok(()));
        Ok(())
    })
}

// wire-rules M2, M3, 38, 45, N7: by every way through the server.
#[test]
fn a_compressed_body_has_one_outcome_in_every_format_however_it_is_cut() {
    in_each_mode(async |stage: Stage| {
        for watch in [|server: Server| server, watched] {
            let served = serve(watch(stage.server().json(Doubled).compression(Compression::adaptive())));
            let mut peer = served.peer().await;
            for encoding in Encoding::COMPRESSED {
                let (body, name) = (packed(encoding, 3_000), encoding.name());
                let fields = [("grpc-encoding", name), ("grpc-accept-encoding", name)];
                for (in_json, path) in [(false, UNARY), (true, UNARY), (true, SERVER_STREAM), (true, BIDI)] {
                    for cut in (0..=body.len()).step_by(3) {
                        let row = format!("{path}, JSON {in_json}, {name}, cut at {cut}");
                        let (a, b) = body.split_at(cut);
                        let padding = [None, Some(0), Some(200)][cut / 3 % 3];
                        let reply = call(&mut peer, path, in_json, &fields, &[a, b], padding).await;
                        assert_eq!((reply.code(), &reply.flags[..]), (code::OK, &[1][..]), "{row}");
                        assert_eq!(lengths(&reply), [3_000], "{row}");
                        if !a.is_empty() && !b.is_empty() {
                            let reply = call(&mut peer, path, in_json, &fields, &[a], padding).await;
                            let got = (reply.code(), reply.messages.len());
                            assert_eq!(got, (code::INTERNAL, 0), "{row}, and no more");
                        }
                        // Empty DATA frames come out of an allowance that refills with time, virtual here.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules T1, T2, 42, 43, 44: the threshold and the limits count what stands on the wire, before compression.
#[test]
fn thresholds_and_limits_count_the_message_as_it_is_written() {
    in_each_mode(async |stage: Stage| {
        for threshold in [1_u32, 21, 1_024, 4_096] {
            let setting =
                Compression::only(Encoding::Gzip).threshold(threshold).min_saving(0).back_off(false);
            let server = stage.server().json(Doubled).compression(setting);
            let served = serve(server.max_receive_message_size(4_000).max_send_message_size(9_000));
            let mut peer = served.peer().await;
            for in_json in [false, true] {
                let at = threshold as usize;
                // What is below some 25 bytes does not get smaller.
                for len in
                    [at / 2, at - 1, at, at + 1, 2 * at].into_iter().filter(|&len| len == 0 || len > 30)
                {
                    let written = if in_json { 2 * len } else { len };
                    let script = format!("many 1 {len}");
                    let fields = [("grpc-accept-encoding", "gzip"), ("script", script.as_str())];
                    for path in [UNARY, SERVER_STREAM] {
                        let reply = call(&mut peer, path, in_json, &fields, &[&message(b"")], None).await;
                        let row = format!("{path}, threshold {threshold}, {len}, JSON {in_json}");
                        if written > 9_000 {
                            assert_eq!(reply.code(), code::RESOURCE_EXHAUSTED, "{row}");
                            continue;
                        }
                        let tried = u8::from(written >= at && written > 0);
                        assert_eq!(
                            (&reply.flags[..], lengths(&reply)),
                            (&[tried][..], vec![written]),
                            "{row}"
                        );
                    }
                }
                for (len, expected) in [(4_000, code::OK), (4_002, code::RESOURCE_EXHAUSTED)] {
                    for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                        let body = packed(Encoding::Gzip, len);
                        let fields = [("grpc-encoding", "gzip")];
                        let reply = call(&mut peer, path, in_json, &fields, &[&body], None).await;
                        assert_eq!(reply.code(), expected, "{path}, {len} bytes, JSON {in_json}");
                    }
                }
            }
            served.finish([peer]).await;
        }
    });
}

// wire-rules T8, N7, P2: what an interceptor answers in the handler's place goes by the method's setting too.
#[test]
fn answers_and_replies_of_a_method_are_compressed_alike() {
    in_each_mode(async |stage: Stage| {
        let of = |encoding| MethodConfig::new().compression(Compression::only(encoding));
        let server = stage
            .server()
            .json(Doubled)
            .configure("test.Test/Unary", of(Encoding::Snappy))
            .configure("test.Test/Unary", of(Encoding::Deflate))
            .configure("test.Test", of(Encoding::Gzip))
            .interceptor(|call: &mut InterceptedCall<'_>| {
                if call.metadata().get("answer").is_some() {
                    call.answer(Response::new(Bytes::from(vec![b'm'; 2_000])));
                }
                Ok(())
            });
        let served = serve(server);
        let mut peer = served.peer().await;
        for in_json in [false, true] {
            for who in ["handler", "answer"] {
                for (path, name) in
                    [(UNARY, "deflate"), (SERVER_STREAM, "gzip"), (CLIENT_STREAM, "gzip"), (BIDI, "gzip")]
                {
                    let fields = [
                        ("grpc-accept-encoding", "snappy, gzip ,deflate"),
                        ("script", "many 1 2000"),
                        (who, "1"),
                    ];
                    let reply = call(&mut peer, path, in_json, &fields, &[&message(b"")], None).await;
                    let got = (reply.head_value("grpc-encoding"), &reply.flags[..]);
                    assert_eq!(got, (Some(name), &[1][..]), "{path}, {who}, JSON {in_json}");
                }
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules B2, B3, S3, B1: whatever the batch may hold.
#[test]
fn compressed_messages_leave_while_their_source_waits_and_come_before_its_error() {
    in_each_mode(async |stage: Stage| {
        for batch in [0, 1, usize::MAX] {
            for encoding in Encoding::COMPRESSED {
                let server = stage.server().compression(encoding).stream_batch_size(batch);
                let served = serve(watched(server));
                let mut peer = served.peer().await;
                let script = "many 1 3000; many 1 10; gate; many 1 4000; sleep 5; fail 5 no more";
                let fields = [("grpc-accept-encoding", encoding.name()), ("script", script)];
                let stream = peer.request(SERVER_STREAM, &fields, &message(b""), true).await;
                assert_eq!(peer.messages(stream, 2).await.flags, [1, 0], "{encoding}, batch {batch}");
                stage.journal.open_gate(1);
                let data = peer.frame_of(stream).await;
                assert!(
                    matches!(&data, Some(Received::Data { data, .. }) if data[0] == 1),
                    "{encoding}: {data:?}"
                );
                let rest = peer.reply(stream).await;
                assert_eq!(rest.ending, Some(Ending::Stream), "{encoding}, batch {batch}");
                assert_eq!(rest.code(), code::NOT_FOUND, "{encoding}, batch {batch}");
                served.finish([peer]).await;
            }
        }
    });
}
