//! One body, delivered in two ways, must mean the same (wire-rules M2, M3).
//!
//! Whole servers and whole channels have a fast path for the body that lies in one DATA frame with END_STREAM, and a
//! slow one for everything else. Here the same body goes both ways on one connection: once in one write and as few
//! frames as can be, once cut anywhere, padded, between empty frames, with its end in a frame of its own, in small
//! writes. What the other side makes of it, how often the handler ran, what it read: all of it has to be equal. So does
//! what comes back, whatever of it is compressed, and what is compressed has to be so for a reason.

use std::future::ready;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::compression::Compression;
use peregrine_core::message::Encoding;
use peregrine_core::{BytesCodec, DecodeLimits, Format, MetadataMap, MethodDescriptor, Request, Status};
use peregrine_http2::StreamId;
use peregrine_server::Server;
use peregrine_testkit::peer::{Ending, Reply, prefixed, request_head, response_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{
    Counts, Journal, Peer, PeerConfig, ServerPeer, TestService, pipe, serve, virtual_time,
};

use crate::bodies::{Everything, data_frame, messages, piece};
use crate::bytes::Choices;
use crate::json;

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
    format: Format,
    encoding: Option<&'static str>,
    /// How this side's own messages are compressed: the server's replies, the client's requests.
    packing: Packing,
    /// What a client says it accepts.
    accepts: Option<&'static str>,
    /// What a client sends.
    requests: Vec<Bytes>,
    body: Vec<u8>,
    cuts: Vec<Cut>,
    end: End,
    /// Bytes a write.
    write: usize,
    /// What the server's trailers say.
    status: &'static str,
    /// How often a client makes the call before it counts: heads that have come before take a shorter way.
    earlier: usize,
    /// What a client sends beside its messages.
    metadata: MetadataMap,
}

/// Compression as both sides are told to use it.
#[derive(Clone, Copy, Debug)]
struct Packing {
    encoding: Option<Encoding>,
    threshold: u32,
    /// With it the second of two equal messages may be left as it is.
    backs_off: bool,
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

const ENCODINGS: [Option<&str>; 9] = [
    None,
    None,
    Some("identity"),
    Some("gzip"),
    Some("gzip"),
    Some("foo"),
    Some("deflate"),
    Some("zstd"),
    Some("snappy"),
];
const ACCEPTS: [Option<&str>; 6] = [
    None,
    Some("gzip"),
    Some("zstd, gzip"),
    Some("zstd,gzip,deflate,snappy,identity"),
    Some("foo"),
    Some(""),
];
const LIMITS: [usize; 4] = [4 << 20, 0, 20, 300];
const LONGEST: usize = 4_000;
const PADDINGS: [Option<u8>; 6] = [None, None, None, Some(0), Some(1), Some(255)];

impl Case {
    fn read(choices: &mut Choices<'_>) -> Self {
        let path = choices.pick(&[UNARY, UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI]);
        let limit = choices.pick(&LIMITS);
        let format = choices.pick(&[Format::Proto, Format::Proto, Format::Proto, Format::Json]);
        let encoding = choices.pick(&ENCODINGS);
        let packing = Packing::read(choices);
        let accepts = choices.pick(&ACCEPTS);
        let requests = (0..choices.below(4)).map(|_| request(choices, format)).collect();
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
            body.extend(piece(choices, format, encoding));
        }
        body.truncate(LONGEST);
        let earlier = choices.pick(&[0, 0, 4]);
        let metadata = metadata(choices);
        Self {
            path,
            limit,
            format,
            encoding,
            packing,
            accepts,
            requests,
            body,
            cuts,
            end,
            write,
            status,
            earlier,
            metadata,
        }
    }

    /// The head of a request for the server.
    fn head(&self) -> Vec<(String, Bytes)> {
        let mut head = request_head(self.path);
        let mut set = |name: &str, value: &'static str| {
            head.retain(|(other, _)| other != name);
            head.push((name.to_owned(), Bytes::from_static(value.as_bytes())));
        };
        set("content-type", self.format.content_type());
        if let Some(encoding) = self.encoding {
            set("grpc-encoding", encoding);
        }
        if let Some(accepts) = self.accepts {
            set("grpc-accept-encoding", accepts);
        }
        head
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
        let server = Server::builder().max_receive_message_size(self.limit).json(Everything);
        let server = server.compression(self.packing.setting());
        let served = serve(server.add_service(TestService::new(Arc::clone(&journal))));
        let mut peer = served.peer().await;
        let head = self.head();

        let stream = peer.open();
        let mut bytes = Vec::new();
        peer.encode_headers(stream, &head, false, &mut bytes);
        bytes.extend(data_frame(stream, &self.body, None, true));
        peer.send_bytes(&bytes).await;
        let fast = self.answer(&mut peer, stream, &journal, Counts::default()).await;
        let before = journal.counts();

        let stream = peer.open();
        let mut bytes = Vec::new();
        peer.encode_headers(stream, &head, false, &mut bytes);
        bytes.extend(self.frames(stream, true));
        if matches!(self.end, End::Trailers) {
            peer.encode_headers(stream, &[("x-last", "1")], true, &mut bytes);
        }
        for piece in bytes.chunks(self.write) {
            peer.send_bytes(piece).await;
            tokio::task::yield_now().await;
        }
        let slow = self.answer(&mut peer, stream, &journal, before).await;
        assert_eq!(fast, slow, "{self:?}");

        // Now that the head is known: the shortest way.
        for _ in 0..3 {
            let before = journal.counts();
            let stream = peer.open();
            let mut bytes = Vec::new();
            peer.encode_headers(stream, &head, false, &mut bytes);
            bytes.extend(data_frame(stream, &self.body, None, true));
            peer.send_bytes(&bytes).await;
            let known = self.answer(&mut peer, stream, &journal, before).await;
            assert_eq!(fast, known, "{self:?}");
        }
        served.finish([peer]).await;
    }

    /// What the server made of the request on `stream`.
    async fn answer(&self, peer: &mut Peer, stream: StreamId, journal: &Journal, before: Counts) -> Answer {
        let reply = peer.reply(stream).await;
        let counts = journal.counts();
        let name = reply.head_value("grpc-encoding");
        // wire-rules 36, P1
        let accepted = self.accepts.unwrap_or_default();
        assert!(
            name.is_none_or(|name| accepted.split(',').any(|one| one.trim() == name)),
            "{name:?}: {self:?}"
        );
        let messages = self.packing.check(name, &body(&reply));
        Answer {
            http_status: reply.http_status(),
            status: reply.status(),
            is_trailers_only: reply.is_trailers_only(),
            handlers: [counts.started - before.started, counts.read - before.read, counts.made - before.made],
            flags: self.packing.comparable(&reply.flags),
            messages,
            ending: reply.ending,
        }
    }

    async fn try_client(&self) {
        let (client, server) = pipe();
        let client = Mutex::new(Some(client));
        let open = move || {
            let taken = client.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            ready(taken.ok_or_else(|| std::io::ErrorKind::NotConnected.into()))
        };
        let channel =
            Channel::builder("server.test:50051").connector(open).compression(self.packing.setting());
        let channel = channel.json(Everything).format(self.format);
        let mut server = ServerPeer::server(server, PeerConfig::server());
        let (channel, _settings) = tokio::join!(channel.connect(), server.start());
        let channel = channel.expect("the pipe is open");

        let first = self.answered(&channel, &mut server, false).await;
        for _ in 0..self.earlier {
            assert_eq!(first, self.answered(&channel, &mut server, false).await, "{self:?}");
        }
        let slow = self.answered(&channel, &mut server, true).await;
        assert_eq!(first, slow, "{self:?}");
    }

    /// What a call makes of the body as its response.
    async fn answered(&self, channel: &Channel, server: &mut ServerPeer, slowly: bool) -> Received {
        let answering = async {
            let asked = server.request().await;
            let stream = asked.stream;
            let requests = self.packing.check(asked.field("grpc-encoding"), &asked.body);
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
            (asked.head, requests)
        };
        let (received, (head, requests)) = tokio::join!(self.receive(channel), answering);
        if self.format == Format::Proto {
            assert_eq!(requests, self.sent(), "{self:?}");
        }
        Received { head, requests, ..received }
    }

    /// The messages that a call of this case sends.
    fn sent(&self) -> Vec<Bytes> {
        if self.path == CLIENT_STREAM || self.path == BIDI {
            return self.requests.clone();
        }
        vec![self.requests.first().cloned().unwrap_or_default()]
    }

    async fn receive(&self, channel: &Channel) -> Received {
        let method = MethodDescriptor {
            path: self.path,
            service: "test.Test",
            name: "Method",
            client_streaming: self.path == CLIENT_STREAM || self.path == BIDI,
            server_streaming: self.path == SERVER_STREAM || self.path == BIDI,
            file_descriptor_set: &[],
        };
        let one = || self.request(self.sent().swap_remove(0));
        let many = || self.request(peregrine_core::iter(self.sent()));
        let mut messages = Vec::new();
        let end = if method.server_streaming {
            let replies = if method.client_streaming {
                peregrine_client::bidi::<BytesCodec, Bytes, Bytes, _>(channel, &method, many()).await
            } else {
                peregrine_client::server_streaming::<BytesCodec, Bytes, Bytes>(channel, &method, one()).await
            };
            let mut replies = replies.expect("the call is made");
            let end = loop {
                match replies.message().await {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break Ok(()),
                    Err(status) => break Err(status),
                }
            };
            end.map(|()| replies.trailers().and_then(|trailers| trailers.get("k")).map(str::to_owned))
        } else {
            let reply = if method.client_streaming {
                peregrine_client::client_streaming::<BytesCodec, Bytes, Bytes, _>(channel, &method, many())
                    .await
            } else {
                peregrine_client::unary::<BytesCodec, Bytes, Bytes>(channel, &method, one()).await
            };
            reply.map(|reply| {
                let last = reply.trailers().get("k").map(str::to_owned);
                messages.push(reply.into_inner());
                last
            })
        };
        let end = end.map_err(|status| said(&status));
        Received { head: Vec::new(), requests: Vec::new(), messages, end }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message).max_response_size(self.limit);
        *request.metadata_mut() = self.metadata.clone();
        request
    }
}

impl Packing {
    fn read(choices: &mut Choices<'_>) -> Self {
        let encodings = Encoding::COMPRESSED.map(Some);
        let encoding = choices.pick(&[encodings[0], encodings[1], encodings[2], encodings[3], None, None]);
        Self { encoding, threshold: choices.pick(&[0, 21, 1024]), backs_off: choices.below(4) == 0 }
    }

    fn setting(self) -> Compression {
        let setting = self.encoding.map_or(Compression::off(), Compression::only);
        setting.threshold(self.threshold).back_off(self.backs_off)
    }

    /// The messages of a body that this side wrote under a head that names an encoding, or none. What is compressed is
    /// smaller for it and not below the threshold (wire-rules F1, T1, T2, T5).
    fn check(self, name: Option<&str>, body: &[u8]) -> Vec<Bytes> {
        let encoding = name.map_or(Encoding::Identity, |name| {
            Encoding::from_wire(name.as_bytes()).expect("an encoding that is compiled in")
        });
        assert!(encoding == Encoding::Identity || self.encoding == Some(encoding), "{encoding}: {self:?}");
        let check = |(flag, on_wire, message): (u8, usize, Bytes)| {
            let has_shrunk = on_wire < message.len() && message.len() >= self.threshold as usize;
            assert!(
                if flag == 1 { has_shrunk } else { on_wire == message.len() },
                "{flag} {on_wire}: {self:?}"
            );
            message
        };
        messages(body, encoding).into_iter().map(check).collect()
    }

    /// The flags of messages, where the same message has the same one each time.
    fn comparable(self, flags: &[u8]) -> Vec<u8> {
        if self.backs_off { Vec::new() } else { flags.to_vec() }
    }
}

/// A message that a client sends.
fn request(choices: &mut Choices<'_>, format: Format) -> Bytes {
    if format == Format::Json {
        let text = choices.pick(&json::TEXTS);
        // Those of another type are as good as none.
        return json::everything().read(text.as_bytes(), &DecodeLimits::default()).unwrap_or_default().into();
    }
    let len = choices.pick(&[0, 1, 20, 21, 22, 1_023, 1_024, 3_000]);
    let octet = choices.octet();
    // Half of them do not shrink, or not by much.
    let step = choices.pick(&[0, 0, 1, 91]);
    (0..len).map(|at: u32| octet.wrapping_add((at.wrapping_mul(step).wrapping_mul(at) >> 3) as u8)).collect()
}

/// What a client sends beside its messages.
fn metadata(choices: &mut Choices<'_>) -> MetadataMap {
    let mut metadata = MetadataMap::new();
    for _ in 0..choices.pick(&[0, 0, 1, 3, 70]) {
        let octet = choices.octet();
        let added = match choices.below(3) {
            0 => metadata.append("k", &octet.to_string()),
            1 => metadata.append_bin("k-bin", &[octet, 0, 255]),
            _ => metadata.append("secret", "s"),
        };
        added.expect("names and values are good");
    }
    metadata.set_sensitive("secret");
    metadata
}

/// The messages of a reply with their prefixes.
fn body(reply: &Reply) -> Vec<u8> {
    let whole = |(flag, message): (&u8, &Bytes)| prefixed(*flag, message.len() as u32, message);
    reply.flags.iter().zip(&reply.messages).flat_map(whole).collect()
}

/// What a client sent, inflated, and what its caller saw of the response: messages, then an entry of the trailers or the
/// status.
#[derive(Debug, PartialEq)]
struct Received {
    head: Vec<(String, Bytes)>,
    requests: Vec<Bytes>,
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
    /// The messages' flags, if they can be compared.
    flags: Vec<u8>,
    /// Inflated.
    messages: Vec<Bytes>,
    /// Handlers that began, messages that they took and made.
    handlers: [usize; 3],
}
