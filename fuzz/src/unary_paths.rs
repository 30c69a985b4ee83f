//! One body, delivered in two ways, must mean the same (wire-rules M2, M3).
//!
//! Whole servers and whole channels have a fast path for the body that lies in one DATA frame with END_STREAM, and a
//! slow one for everything else. Here the same body goes both ways on one connection: once in one write and as few
//! frames as can be, once cut anywhere, padded, between empty frames, with its end in a frame of its own, in small
//! writes. What the other side makes of it, how often the handler ran, what it read: all of it has to be equal.

use std::future::ready;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use peregrine_client::Channel;
use peregrine_core::{BytesCodec, MethodDescriptor, Request, Status};
use peregrine_http2::StreamId;
use peregrine_server::Server;
use peregrine_testkit::peer::{Ending, prefixed, raw_frame, request_head, response_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{
    Counts, Journal, Peer, PeerConfig, ServerPeer, TestService, pipe, serve, virtual_time,
};

use crate::bytes::Choices;

/// Reads `input` as a body and as a way to deliver it, and tries both on a server and on a client.
pub fn run(input: &[u8]) {
    let case = Case::read(&mut Choices::new(input));
    virtual_time(case.try_server());
    virtual_time(case.try_client());
}

#[derive(Debug)]
struct Case {
    path: &'static str,
    /// Largest message that is taken, in bytes.
    limit: usize,
    encoding: Option<&'static str>,
    body: Vec<u8>,
    cuts: Vec<Cut>,
    end: End,
    /// Bytes a write.
    write: usize,
    /// What the server's trailers say.
    status: &'static str,
}

/// A DATA frame of the slow way.
#[derive(Clone, Copy, Debug)]
struct Cut {
    len: usize,
    padding: Option<u8>,
    /// An empty frame goes before it, padded or not.
    #[expect(clippy::option_option, reason = "no frame, a frame without padding, one with padding")]
    empty_before: Option<Option<u8>>,
}

/// Where END_STREAM stands.
#[derive(Clone, Copy, Debug)]
enum End {
    LastData,
    EmptyData,
    Trailers,
}

const LIMITS: [usize; 4] = [4 << 20, 0, 20, 300];
const LONGEST: usize = 4_000;
const PADDINGS: [Option<u8>; 6] = [None, None, None, Some(0), Some(1), Some(255)];

impl Case {
    fn read(choices: &mut Choices<'_>) -> Self {
        let path = choices.pick(&[UNARY, UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI]);
        let limit = choices.pick(&LIMITS);
        let encoding = choices.pick(&[None, None, Some("identity"), Some("gzip"), Some("gzip"), Some("foo")]);
        let end = choices.pick(&[End::LastData, End::EmptyData, End::Trailers]);
        let write = choices.pick(&[usize::MAX, 1, 7, 100]);
        let status = choices.pick(&["0", "0", "5", ""]);
        let mut cuts = Vec::new();
        for _ in 0..choices.below(12) {
            let len = match choices.below(4) {
                0 => 1,
                1 => choices.below(8),
                _ => choices.below(256),
            };
            let padding = choices.pick(&PADDINGS);
            let empty_before = choices.pick(&[None, None, Some(None), Some(Some(3))]);
            cuts.push(Cut { len, padding, empty_before });
        }
        let mut body = Vec::new();
        // Most calls that are to succeed have one message.
        for _ in 0..choices.pick(&[1, 1, 1, 1, 0, 2, 3, 40]) {
            body.extend(piece(choices));
        }
        body.truncate(LONGEST);
        Self { path, limit, encoding, body, cuts, end, write, status }
    }

    /// The DATA frames of the slow way.
    fn frames(&self, stream: StreamId, end_stream: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = &self.body[..];
        let mut cuts = self.cuts.iter().copied();
        let data_ends = end_stream && matches!(self.end, End::LastData);
        loop {
            // Cuts that reach beyond the body change nothing; what is left when there are no more goes in one.
            let cut = cuts.next().unwrap_or(Cut { len: rest.len(), padding: None, empty_before: None });
            let (now, later) = rest.split_at(cut.len.min(rest.len()));
            rest = later;
            if let Some(padding) = cut.empty_before {
                out.extend(data_frame(stream, b"", padding, false));
            }
            out.extend(data_frame(stream, now, cut.padding, data_ends && rest.is_empty()));
            if rest.is_empty() {
                break;
            }
        }
        if end_stream && matches!(self.end, End::EmptyData) {
            out.extend(data_frame(stream, b"", Some(0), true));
        }
        out
    }

    async fn try_server(&self) {
        let journal = Arc::new(Journal::default());
        let server = Server::builder().max_receive_message_size(self.limit);
        let served = serve(server.add_service(TestService::new(Arc::clone(&journal))));
        let mut peer = served.peer().await;
        let fields: Vec<_> = self.encoding.iter().map(|name| ("grpc-encoding", *name)).collect();

        let stream = peer.request(self.path, &fields, &self.body, true).await;
        let fast = Answer::read(&mut peer, stream, &journal, Counts::default()).await;
        let before = journal.counts();

        let stream = peer.open();
        let mut bytes = Vec::new();
        let mut head = request_head(self.path);
        head.extend(
            fields.iter().map(|(name, value)| ((*name).to_owned(), Bytes::from_static(value.as_bytes()))),
        );
        peer.encode_headers(stream, &head, false, &mut bytes);
        bytes.extend(self.frames(stream, true));
        if matches!(self.end, End::Trailers) {
            peer.encode_headers(stream, &[("x-last", "1")], true, &mut bytes);
        }
        for piece in bytes.chunks(self.write) {
            peer.send_bytes(piece).await;
            tokio::task::yield_now().await;
        }
        let slow = Answer::read(&mut peer, stream, &journal, before).await;
        assert_eq!(fast, slow, "{self:?}");
        served.finish([peer]).await;
    }

    async fn try_client(&self) {
        let (client, server) = pipe();
        let client = Mutex::new(Some(client));
        let open = move || {
            let taken = client.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            ready(taken.ok_or_else(|| std::io::ErrorKind::NotConnected.into()))
        };
        let channel = Channel::builder("server.test:50051").connector(open);
        let mut server = ServerPeer::server(server, PeerConfig::server());
        let (channel, _settings) = tokio::join!(channel.connect(), server.start());
        let channel = channel.expect("the pipe is open");

        let fast = self.answered(&channel, &mut server, false).await;
        let slow = self.answered(&channel, &mut server, true).await;
        assert_eq!(fast, slow, "{self:?}");
    }

    /// What a call makes of the body as its response.
    async fn answered(&self, channel: &Channel, server: &mut ServerPeer, slowly: bool) -> Received {
        let answering = async {
            let stream = server.request().await.stream;
            let encoding: Vec<_> = self.encoding.iter().map(|name| ("grpc-encoding", *name)).collect();
            let mut bytes = Vec::new();
            server.encode_headers(stream, &response_head(&encoding), false, &mut bytes);
            // Without trailers the response is cut short, whichever frame it ends with.
            let is_cut = self.status.is_empty();
            if slowly {
                bytes.extend(self.frames(stream, is_cut));
                if is_cut && matches!(self.end, End::Trailers) {
                    bytes.extend(data_frame(stream, b"", None, true));
                }
            } else {
                bytes.extend(data_frame(stream, &self.body, None, is_cut));
            }
            if !is_cut {
                let trailers = [("grpc-status", self.status), ("grpc-message", "its%20own"), ("k", "v")];
                server.encode_headers(stream, &trailers, true, &mut bytes);
            }
            for piece in bytes.chunks(if slowly { self.write } else { usize::MAX }) {
                server.send_bytes(piece).await;
                tokio::task::yield_now().await;
            }
        };
        let (received, ()) = tokio::join!(self.receive(channel), answering);
        received
    }

    async fn receive(&self, channel: &Channel) -> Received {
        let streams = self.path == SERVER_STREAM || self.path == BIDI;
        let method = MethodDescriptor {
            path: self.path,
            service: "test.Test",
            name: "Method",
            client_streaming: false,
            server_streaming: streams,
            file_descriptor_set: &[],
        };
        let request = Request::new(Bytes::new()).max_response_size(self.limit);
        let mut messages = Vec::new();
        let end = if streams {
            let replies =
                peregrine_client::server_streaming::<BytesCodec, Bytes, Bytes>(channel, &method, request);
            let mut replies = replies.await.expect("the call is made");
            let end = loop {
                match replies.message().await {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break Ok(()),
                    Err(status) => break Err(status),
                }
            };
            end.map(|()| replies.trailers().and_then(|trailers| trailers.get("k")).map(str::to_owned))
        } else {
            let reply = peregrine_client::unary::<BytesCodec, Bytes, Bytes>(channel, &method, request).await;
            reply.map(|reply| {
                let last = reply.trailers().get("k").map(str::to_owned);
                messages.push(reply.into_inner());
                last
            })
        };
        Received { messages, end: end.map_err(|status| said(&status)) }
    }
}

/// What a client's caller saw of a response: messages, then an entry of the trailers or the status.
#[derive(Debug, PartialEq)]
struct Received {
    messages: Vec<Bytes>,
    end: Result<Option<String>, String>,
}

fn said(status: &Status) -> String {
    format!("{status} {:?}", status.metadata())
}

/// What a server made of a request.
#[derive(Debug, PartialEq)]
struct Answer {
    http_status: u16,
    ending: Option<Ending>,
    status: (u32, String),
    is_trailers_only: bool,
    messages: Vec<Bytes>,
    /// Handlers that began, messages that they took and made.
    handlers: [usize; 3],
}

impl Answer {
    async fn read(peer: &mut Peer, stream: StreamId, journal: &Journal, before: Counts) -> Self {
        let reply = peer.reply(stream).await;
        let counts = journal.counts();
        Self {
            http_status: reply.http_status(),
            status: reply.status(),
            is_trailers_only: reply.is_trailers_only(),
            handlers: [counts.started - before.started, counts.read - before.read, counts.made - before.made],
            messages: reply.messages,
            ending: reply.ending,
        }
    }
}

/// A message, one whose prefix lies, or octets that need not be one.
fn piece(choices: &mut Choices<'_>) -> Vec<u8> {
    let kind = choices.below(8);
    let len = if choices.below(4) == 0 { usize::from(choices.pair()) % 600 } else { choices.below(24) };
    let octet = choices.octet();
    let payload = vec![octet; len];
    match kind {
        // Nothing but the messages of a call with `grpc-encoding: gzip` may be so (wire-rules 32).
        4 => compressed(choices, &payload),
        0 => choices.take(len).to_vec(),
        1 => prefixed(0, u32::from(choices.pair()), &payload),
        2 => prefixed(0, 0x8000_0000 | len as u32, &payload),
        3 => prefixed(choices.pick(&[1, 2, 0x80]), len as u32, &payload),
        _ => prefixed(0, len as u32, &payload),
    }
}

/// A message in gzip, whole or with one octet of it changed, cut or one too many.
fn compressed(choices: &mut Choices<'_>, payload: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(payload).expect("memory takes what is written");
    let mut packed = gzip.finish().expect("memory takes what is written");
    let at = choices.below(256) % packed.len();
    match choices.below(6) {
        0 => packed[at] ^= 1 << choices.below(8),
        1 => packed.truncate(at),
        2 => packed.push(0),
        _ => {}
    }
    prefixed(1, packed.len() as u32, &packed)
}

/// RFC 9113 6.1
fn data_frame(stream: StreamId, data: &[u8], padding: Option<u8>, end_stream: bool) -> Vec<u8> {
    const DATA: u8 = 0;
    const END_STREAM: u8 = 1;
    const PADDED: u8 = 8;

    let mut flags = if end_stream { END_STREAM } else { 0 };
    let mut payload = Vec::new();
    if let Some(padding) = padding {
        flags |= PADDED;
        payload.push(padding);
    }
    payload.extend_from_slice(data);
    payload.resize(payload.len() + usize::from(padding.unwrap_or(0)), 0);
    raw_frame(DATA, flags, stream, &payload)
}
