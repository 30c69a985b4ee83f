//! Response bodies, right and wrong, in every number of pieces (wire-rules M2, 45, 48).

use std::time::Duration;

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::{Code, Status, Streaming, iter};
use peregrine_http2::frame::{Data, Frame};
use peregrine_testkit::peer::prefixed;
use peregrine_testkit::{ServerPeer, virtual_time};

use crate::{chat, collect, connected, list, message, unary};

/// "hello" in gzip, by another implementation.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";

fn framed(flag: u8, body: &[u8]) -> Vec<u8> {
    prefixed(flag, body.len() as u32, body)
}

/// A body, what a call for one message makes of it, and what one for a stream does: its messages and its end.
type Row = (&'static str, Vec<u8>, Result<&'static str, Code>, (&'static [&'static str], Code));

fn rows() -> Vec<Row> {
    vec![
        ("compressed", framed(1, GZIP), Ok("hello"), (&["hello"], Code::Ok)),
        ("raw", framed(0, b"hello"), Ok("hello"), (&["hello"], Code::Ok)),
        ("empty", framed(0, b""), Ok(""), (&[""], Code::Ok)),
        ("none", vec![], Err(Code::Unimplemented), (&[], Code::Ok)),
        (
            "two",
            [framed(0, b"a"), framed(1, GZIP)].concat(),
            Err(Code::Unimplemented),
            (&["a", "hello"], Code::Ok),
        ),
        ("cut short", framed(1, GZIP)[..20].to_vec(), Err(Code::Internal), (&[], Code::Internal)),
        ("a cut prefix", vec![0; 3], Err(Code::Internal), (&[], Code::Internal)),
        (
            "stray bytes",
            [framed(0, b"a"), vec![0; 2]].concat(),
            Err(Code::Internal),
            (&["a"], Code::Internal),
        ),
        ("not gzip", framed(1, b"hello"), Err(Code::Internal), (&[], Code::Internal)),
        ("flag 2", framed(2, b"hello"), Err(Code::Internal), (&[], Code::Internal)),
        (
            "too large",
            prefixed(0, u32::MAX, b"x"),
            Err(Code::ResourceExhausted),
            (&[], Code::ResourceExhausted),
        ),
    ]
}

async fn answer(server: &mut ServerPeer, pieces: [&[u8]; 2], padding: Option<u8>, among_empty: bool) {
    let stream = server.request().await.stream;
    server.head(stream, &[("grpc-encoding", "gzip")]).await;
    let mut frames = Vec::new();
    for data in pieces {
        if among_empty {
            Frame::Data(Data { stream, data: b"", end_stream: false, padding }).encode(&mut frames);
        }
        Frame::Data(Data { stream, data, end_stream: false, padding }).encode(&mut frames);
    }
    server.send_bytes(&frames).await;
    server.trailers(stream, &[("grpc-status", "0")]).await;
    // Empty DATA frames come out of an allowance that refills with time, virtual here.
    tokio::time::sleep(Duration::from_secs(1)).await;
}

async fn single(channel: &Channel, streams: bool) -> Result<Bytes, Code> {
    let reply = if streams {
        collect(channel, iter([message("x")])).await
    } else {
        unary(channel, message("x")).await
    };
    reply.map(peregrine_core::Response::into_inner).map_err(|status| status.code())
}

async fn stream(channel: &Channel, streams: bool) -> (Vec<Bytes>, Code) {
    async fn read(replies: Result<Streaming<Bytes>, Status>, texts: &mut Vec<Bytes>) -> Result<(), Status> {
        let mut replies = replies?;
        while let Some(text) = replies.message().await? {
            texts.push(text);
        }
        Ok(())
    }
    let replies =
        if streams { chat(channel, iter([message("x")])).await } else { list(channel, message("x")).await };
    let mut texts = Vec::new();
    let end = read(replies, &mut texts).await;
    (texts, end.map_or_else(|status| status.code(), |()| Code::Ok))
}

// wire-rules M2, 29, 30, 31, 45, 48, 85: on this side too, for every shape.
#[test]
fn a_response_has_one_outcome_however_it_is_cut() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (name, body, one, (texts, end)) in rows() {
            for cut in 0..=body.len() {
                let (a, b) = body.split_at(cut);
                for (padding, among_empty) in
                    [(None, false), (None, true), (Some(0), false), (Some(255), false), (Some(3), true)]
                {
                    for streams in [false, true] {
                        let row =
                            format!("{name}, cut at {cut}, padding {padding:?}, {among_empty} {streams}");
                        let script = answer(&mut server, [a, b], padding, among_empty);
                        let (got, ()) = tokio::join!(single(&channel, streams), script);
                        assert_eq!(got, one.map(message), "{row}");
                        let script = answer(&mut server, [a, b], padding, among_empty);
                        let (got, ()) = tokio::join!(stream(&channel, streams), script);
                        assert_eq!(got, (texts.iter().map(|text| message(text)).collect(), end), "{row}");
                    }
                }
            }
        }
    });
}

// wire-rules 57: bytes that are no gRPC are no empty success, whatever the trailers say.
#[test]
fn a_page_with_a_good_status_behind_it_is_no_success() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for content_type in ["text/html", "application/grpc-web", ""] {
            for streams in [false, true] {
                let script = async |server: &mut ServerPeer| {
                    let stream = server.request().await.stream;
                    let head = [(":status", "200"), ("content-type", content_type)];
                    server.headers(stream, &head, false).await;
                    server.data(stream, &framed(0, b"hello"), false).await;
                    server.trailers(stream, &[("grpc-status", "0")]).await;
                };
                let (got, ()) = tokio::join!(single(&channel, streams), script(&mut server));
                assert_eq!(got, Err(Code::Unknown), "{content_type:?}");
                let (got, ()) = tokio::join!(stream(&channel, streams), script(&mut server));
                assert_eq!(got, (vec![], Code::Unknown), "{content_type:?}");
            }
        }
    });
}
