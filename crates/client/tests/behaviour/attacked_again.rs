//! Request streams attacked where messages join the ones before them: sizes that leave a few bytes of a frame, windows of
//! a few bytes, codecs that go wrong in the middle of a batch. A naive server compares what comes with what was sent.

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::stream::pipe;
use peregrine_core::{Code, Request, Response, Status, Stream, iter};
use peregrine_http2::StreamId;
use peregrine_http2::frame::Setting;
use peregrine_testkit::peer::{PeerConfig, message};
use peregrine_testkit::{Moody, Received, ServerPeer, settle, virtual_time};

use crate::{COLLECT, collect, connected_with, pair};

async fn collect_moody(
    channel: Channel,
    source: impl Stream<Item = Bytes> + Send + 'static,
) -> Result<Response<Bytes>, Status> {
    peregrine_client::client_streaming::<Moody, Bytes, Bytes, _>(&channel, &COLLECT, Request::new(source))
        .await
}

fn framed(messages: &[Bytes]) -> Vec<u8> {
    messages.iter().flat_map(|bytes| message(bytes)).collect()
}

/// All of a request's body, its longest frame, and whether it ended well.
async fn body_of(server: &mut ServerPeer, stream: StreamId) -> (Vec<u8>, usize, bool) {
    let (mut body, mut longest) = (Vec::new(), 0);
    loop {
        match server.frame_of(stream).await {
            Some(Received::Data { data, end_stream, .. }) => {
                body.extend_from_slice(&data);
                longest = longest.max(data.len());
                if end_stream {
                    return (body, longest, true);
                }
            }
            Some(Received::Reset { .. }) => return (body, longest, false),
            other => panic!("{other:?}"),
        }
    }
}

const FRAME: usize = 16_384;

/// Lengths of messages around everything that there is a border at.
fn borders() -> Vec<Vec<usize>> {
    let mut rows = vec![
        vec![0; 50],
        vec![
            1, 0, 4_095, 4_096, 4_097, 0, 8_192, 16_374, 16_378, 16_379, 16_380, FRAME, 20_000, 3, 33_000, 1,
        ],
        vec![32_763, 5, 32_768, 32_758, 0, 0, 1],
        vec![5_000; 12],
        vec![37; 1_000],
    ];
    rows.extend((0..=12).map(|left| vec![FRAME - 5 - left, 0, 1, FRAME - 5 - left, 3, 4_100]));
    rows
}

// wire-rules B1, B5, B7, Z2, Z3: every message arrives as it was, in order, and its codec was asked for it once, from a
// source that is always ready and from one that is written to and flushed; compressed too.
#[test]
fn requests_around_every_border_arrive_whole_and_are_encoded_once() {
    for compresses in [false, true] {
        virtual_time(async {
            let (mut builder, mut acceptor) = pair();
            if compresses {
                builder = builder.compression(Compression::only(Encoding::Gzip).threshold(1 << 30));
            }
            let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
            let channel = channel.unwrap();
            for lengths in borders() {
                let all = Moody::messages(&lengths);
                for is_piped in [false, true] {
                    Moody::take_encoded();
                    let call = if is_piped {
                        let (sender, receiver) = pipe(5);
                        let all = all.clone();
                        tokio::spawn(async move {
                            for (index, message) in all.into_iter().enumerate() {
                                sender.send(message).await.unwrap();
                                if index % 4 == 1 {
                                    sender.flush().await.unwrap();
                                }
                            }
                        });
                        tokio::spawn(collect_moody(channel.clone(), receiver))
                    } else {
                        tokio::spawn(collect_moody(channel.clone(), iter(all.clone())))
                    };
                    let stream = server.request_head().await.stream;
                    let (body, longest, is_whole) = body_of(&mut server, stream).await;
                    let row = format!("{lengths:?}, piped {is_piped}, compresses {compresses}");
                    assert!(is_whole && body == framed(&all) && longest <= FRAME, "{row}");
                    assert_eq!(Moody::take_encoded(), all.len(), "{row}");
                    server.reply(stream, b"done").await;
                    assert_eq!(call.await.unwrap().unwrap().into_inner(), "done", "{row}");
                }
            }
        });
    }
}

// wire-rules 83, 84, B1, B5
#[test]
fn requests_arrive_whole_through_windows_of_a_few_bytes() {
    let rows: [(u32, &[usize]); 6] = [
        (1, &[3, 0, 0, 7, 1]),
        (5, &[0, 1, 0, 5, 10, 0, 0, 4]),
        (6, &[1, 1, 1, 0, 2, 7]),
        (1_000, &[990, 0, 0, 995, 996, 5_000, 1, 994, 1]),
        (FRAME as u32 - 1, &[16_373, 0, 16_378, 16_379, 1, 40_000, 2]),
        (65_535, &[65_530, 0, 65_531, 1, 16_374, 4_100, 4_100, 4_100, 0]),
    ];
    for (window, lengths) in rows {
        for capacity in [7, 100, 1 << 20] {
            virtual_time(async {
                let mut config = PeerConfig::server();
                config.settings.push(Setting::InitialWindowSize(window));
                let (channel, mut server) = connected_with(config).await;
                server.io().set_capacity(capacity);
                let all = Moody::messages(lengths);
                let call = tokio::spawn(collect_moody(channel.clone(), iter(all.clone())));
                let stream = server.request_head().await.stream;
                let (body, longest, is_whole) = body_of(&mut server, stream).await;
                let row = format!("window {window}, capacity {capacity}");
                assert!(is_whole && body == framed(&all) && longest <= window as usize, "{row}: {longest}");
                server.reply(stream, b"done").await;
                assert_eq!(call.await.unwrap().unwrap().into_inner(), "done", "{row}");
            });
        }
    }
}

// wire-rules B3, Z3, E1, 83: what goes wrong anywhere in a batch takes nothing of the messages before it along, leaves
// nothing of itself, and costs nothing of the connection's window.
#[test]
fn a_codec_that_goes_wrong_in_a_batch_sends_the_messages_before_it_and_nothing_of_its_own() {
    const WINDOW: usize = 65_535;
    let rows: [(&[usize], usize); 8] = [
        (&[], 10),
        (&[10], 10),
        (&[10, 0, 10], 6_000),
        // Room for the prefix, and no more; and for one byte of the message.
        (&[FRAME - 10], 4),
        (&[FRAME - 11], 4),
        (&[16_000, 370, 4], 30),
        (&[4_096, 4_096], 4_096),
        (&[20_000, 3], 10),
    ];
    for (before, bad_len) in rows {
        for mood in *b"!?+-20" {
            virtual_time(async {
                let settings = vec![Setting::InitialWindowSize(0x7fff_ffff)];
                let config = PeerConfig {
                    connection_window: 0,
                    refill_windows: false,
                    settings,
                    ..PeerConfig::server()
                };
                let (channel, mut server) = connected_with(config).await;
                let good = Moody::messages(before);
                let mut all = good.clone();
                all.extend([Bytes::from(vec![mood; bad_len]), Bytes::from_static(b"never")]);
                let call = tokio::spawn(collect_moody(channel.clone(), iter(all)));
                let stream = server.request_head().await.stream;
                let (body, _longest, is_whole) = body_of(&mut server, stream).await;
                let row = format!("{before:?}, then {bad_len} of {:?}", mood as char);
                // A panic gives the call up as its caller would, and what was not on its way yet with it.
                let is_all =
                    if mood == b'!' { framed(&good).starts_with(&body) } else { body == framed(&good) };
                assert!(!is_whole && is_all, "{row}: {} bytes", body.len());
                match call.await {
                    Ok(result) => assert_eq!(result.unwrap_err().code(), Code::Internal, "{row}"),
                    Err(error) => assert!(mood == b'!' && error.is_panic(), "{row}"),
                }
                // All that is left of the connection's window can be used.
                let rest = Bytes::from(vec![b'x'; WINDOW - body.len() - 5]);
                let other = channel.clone();
                let call = tokio::spawn(async move { collect(&other, iter([rest])).await });
                let stream = server.request_head().await.stream;
                let (rest, _longest, is_whole) = body_of(&mut server, stream).await;
                assert!(is_whole && rest.len() == WINDOW - body.len(), "{row}");
                server.reply(stream, b"done").await;
                assert_eq!(call.await.unwrap().unwrap().into_inner(), "done", "{row}");
                settle().await;
            });
        }
    }
}
