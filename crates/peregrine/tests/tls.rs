//! Our client and our server over TLS, and what each says when the other side is not what it should be.
//!
//! In virtual time over pipes where a timer or a broken peer is the subject, over sockets where targets are.
#![cfg(feature = "_tls")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic, its helpers too")]

use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use peregrine::rt::unary;
use peregrine::{
    BytesCodec, Channel, ChannelBuilder, ClientTls, Error, MethodDescriptor, Phase, Request, Server,
    ServerTls, Status,
};
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{
    Authority, PipeEnd, Recorder, Served, Slicing, TestService, pipe, serve, settle, virtual_time,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::time::Instant;

const NAME: &str = "server.test";

/// A handshake record with nothing but version, 32 random octets, no session, a cipher and no compression.
const SERVER_HELLO_OF_1_1: &[u8] = &[
    0x16, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2, //
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    0, 0xc0, 0x13, 0,
];

/// An authority and a server with a certificate by it.
struct Stage {
    authority: Authority,
    recorder: Recorder,
}

impl Stage {
    fn new() -> Self {
        Self { authority: Authority::new(), recorder: Recorder::default() }
    }

    fn server_tls(&self) -> ServerTls {
        let certificate = self.authority.issue(&[NAME, "localhost", "127.0.0.1", "::1"]);
        ServerTls::from_pem(certificate.chain, certificate.key).unwrap()
    }

    fn server(&self) -> Server {
        plain_server().tls(self.server_tls()).observe(self.recorder.clone())
    }

    fn client_tls(&self) -> ClientTls {
        ClientTls::with_ca_pem(&self.authority.pem).unwrap()
    }

    /// A channel with TLS on a pipe.
    fn channel(&self, end: PipeEnd) -> ChannelBuilder {
        on_pipe(&format!("https://{NAME}:1"), end).tls(self.client_tls())
    }

    /// What an attempt to connect with TLS ends with.
    async fn failure(&self, end: PipeEnd) -> Error {
        self.channel(end).connect().await.expect_err("the attempt fails")
    }
}

fn plain_server() -> Server {
    Server::builder().add_service(TestService::new(Arc::default()))
}

/// A channel whose only connection is over this pipe.
fn on_pipe(target: &str, end: PipeEnd) -> ChannelBuilder {
    let end = Mutex::new(Some(end));
    Channel::builder(target).connector(move || {
        let end = end.lock().unwrap().take();
        ready(end.ok_or_else(|| io::Error::other("the pipe is used up")))
    })
}

async fn echo(channel: &Channel, size: usize) -> Result<usize, Status> {
    let descriptor = MethodDescriptor {
        path: UNARY,
        service: "test.Test",
        name: "Unary",
        client_streaming: false,
        server_streaming: false,
        file_descriptor_set: &[],
    };
    let request = Request::new(Bytes::from(vec![b'x'; size]));
    Ok(unary::<BytesCodec, Bytes, Bytes>(channel, &descriptor, request).await?.len())
}

/// A peer that reads something, says this and then waits.
fn saying(words: &'static [u8]) -> PipeEnd {
    let (near, mut far) = pipe();
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        assert_ne!(far.read(&mut buffer).await.unwrap(), 0);
        far.write_all(words).await.unwrap();
        while far.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
    });
    near
}

async fn end(served: Served, channel: Channel) {
    drop(channel);
    assert!(served.stop().await.is_clean());
}

#[test]
fn calls_go_over_sockets_by_name_and_by_address() {
    // bug-reports 91
    let stage = Stage::new();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        for (bind, host) in [("127.0.0.1:0", "localhost"), ("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]")]
        {
            let Ok(listener) = TcpListener::bind(bind).await else { continue };
            let port = listener.local_addr().unwrap().port();
            let serving = tokio::spawn(stage.server().serve(listener));
            let target = format!("https://{host}:{port}");
            let channel = Channel::builder(&target).tls(stage.client_tls()).connect().await.unwrap();
            for size in [0, 1, 20_000, 3_000_000] {
                assert_eq!(echo(&channel, size).await.unwrap(), size, "{target}");
            }
            serving.abort();
        }
    });
}

#[test]
fn a_client_offers_h2_alone_tls_1_2_and_newer_and_names_the_server() {
    // [9113-3.2-1] [9113-9.2-1]
    virtual_time(async {
        let stage = Stage::new();
        let (near, mut far) = pipe();
        let connecting = tokio::spawn({
            let channel = stage.channel(near);
            async move { channel.connect().await.err() }
        });
        let mut hello = vec![0; 4096];
        let count = far.read(&mut hello).await.unwrap();
        hello.truncate(count);
        let name = NAME.as_bytes();
        for extension in [
            // application_layer_protocol_negotiation: one name
            &b"\x00\x10\x00\x05\x00\x03\x02h2"[..],
            // supported_versions: 1.3 and 1.2
            b"\x00\x2b\x00\x05\x04\x03\x04\x03\x03",
            // server_name: a list of one host name
            &[&[0, 0, 0, name.len() as u8 + 5, 0, name.len() as u8 + 3, 0, 0, name.len() as u8][..], name]
                .concat(),
        ] {
            let found = hello.windows(extension.len()).any(|window| window == extension);
            assert!(found, "{extension:02x?} in {hello:02x?}");
        }
        drop(far);
        assert!(connecting.await.unwrap().is_some());
    });
}

#[test]
fn bytes_may_come_in_any_pieces_and_the_socket_may_be_small() {
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server());
        // Less than TLS holds back in one go, and more: what stays behind must leave as the socket takes it.
        for (slicing, capacity, size) in [
            (Slicing::Every(1), 100_000, 500),
            (Slicing::Every(7), 50, 500),
            (Slicing::AsWritten, 1, 100),
            (Slicing::AsWritten, 5_000, 200_000),
        ] {
            let near = served.connect();
            near.set_slicing(slicing);
            near.set_capacity(capacity);
            let channel = stage.channel(near).connect().await.unwrap();
            assert_eq!(echo(&channel, size).await.unwrap(), size);
        }
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn certificates_that_do_not_fit_say_how() {
    virtual_time(async {
        let stage = Stage::new();
        let wrong = stage.authority.issue(&["one.test", "*.two.test"]);
        let expired = stage.authority.issue_expired(&[NAME]);
        let early = stage.authority.issue_early(&[NAME]);
        let strange = Authority::new().issue(&[NAME]);
        for (certificate, message, hint) in [
            (wrong, "the certificate is not for server.test but for one.test, *.two.test", "server_name"),
            (expired, "out of date", "clocks"),
            (early, "not valid yet", "clocks"),
            (strange, "not issued by an authority", "with_ca_pem"),
        ] {
            let tls = ServerTls::from_pem(certificate.chain, certificate.key).unwrap();
            let recorder = Recorder::default();
            let served = serve(plain_server().tls(tls).observe(recorder.clone()));
            let error = stage.failure(served.connect()).await;
            assert_eq!(error.phase(), Phase::Tls);
            assert!(error.message().contains(message), "{error}");
            assert!(error.hint().unwrap().contains(hint), "{error:?}");
            assert_eq!((error.attempt(), error.peer().is_some()), (1, true), "{error:?}");
            settle().await;
            let heard = recorder.take().join("; ");
            assert!(heard.contains("closed, Peer: TLS: the peer refused with the alert"), "{heard}");
            assert!(served.stop().await.is_clean());
        }
    });
}

#[test]
fn abuse_46_a_request_for_a_host_that_the_certificate_does_not_cover_is_misdirected() {
    // http2-abuse 46, RFC 9113 9.1.1
    virtual_time(async {
        let stage = Stage::new();
        let strict = plain_server().tls(stage.server_tls().refuse_foreign_authorities());
        let served = serve(strict);
        for own in [NAME, "server.test:443", "SERVER.test", "127.0.0.1:50051", "[::1]:50051"] {
            let channel = stage.channel(served.connect()).authority(own).build().unwrap();
            assert_eq!(echo(&channel, 1).await.unwrap(), 1, "{own}");
        }
        for foreign in ["other.test", "sub.server.test", "server.test.evil", "10.0.0.1:1", "[::2]"] {
            let channel = stage.channel(served.connect()).authority(foreign).build().unwrap();
            let status = echo(&channel, 1).await.unwrap_err();
            assert_eq!(status.code(), peregrine::Code::FailedPrecondition, "{foreign}: {status}");
            assert!(status.message().contains(foreign), "{status}");
            // The answer is the call's; the connection serves whoever asks for the right host.
            assert_eq!(echo(&channel, 1).await.unwrap_err().code(), peregrine::Code::FailedPrecondition);
        }
        assert!(served.stop().await.is_clean());

        // Told nothing, a server answers to every name: balancers rewrite them.
        let served = serve(stage.server());
        let channel = stage.channel(served.connect()).authority("other.test").build().unwrap();
        assert_eq!(echo(&channel, 1).await.unwrap(), 1);
        end(served, channel).await;
    });
}

#[test]
fn files_that_hold_no_certificate_or_key_are_mistakes_of_the_caller() {
    let stage = Stage::new();
    let (one, other) = (stage.authority.issue(&[NAME]), stage.authority.issue(&[NAME]));
    for (error, words) in [
        (ServerTls::from_pem("", &one.key).unwrap_err(), "no certificate"),
        (ServerTls::from_pem(&one.chain, &one.chain).unwrap_err(), "no private key"),
        (ServerTls::from_pem(&one.chain, &other.key).unwrap_err(), "the key"),
        (ServerTls::from_files("/no/cert.pem", "/no/key.pem").unwrap_err(), "/no/cert.pem"),
        (ClientTls::with_ca_pem("-----BEGIN CERTIFICATE-----\n!").unwrap_err(), "cannot be read"),
        (ClientTls::with_ca_file("/no/ca.pem").unwrap_err(), "/no/ca.pem"),
        (
            Channel::builder("http://a:1").tls(stage.client_tls()).build().unwrap_err(),
            "http:// means plaintext",
        ),
        (
            Channel::builder("https://a:1").tls(stage.client_tls().server_name("a b")).build().unwrap_err(),
            "`a b` is no name",
        ),
    ] {
        assert_eq!(error.phase(), Phase::Config, "{error}");
        assert!(error.to_string().contains(words) && error.hint().is_some(), "{error:?}");
    }
}

#[test]
fn a_client_with_tls_names_what_answers_instead() {
    // wire-rules 86
    virtual_time(async {
        let stage = Stage::new();
        let begun = Instant::now();
        for (words, message) in [
            (
                &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
                "HTTP/1 without TLS; it said \"HTTP/1.1 400 Bad Request\"",
            ),
            (b"\0\0\0\x04\0\0\0\0\0", "HTTP/2 without TLS"),
            (b"220 mail.test ESMTP\r\n", "does not speak TLS; it said \"220 mail.test ESMTP\""),
            (b"\xff\xfe\xfd\xfc\xfb\xfa", "does not speak TLS"),
            (&[0x15, 3, 3, 0, 2, 2, 40], "refused with the alert"),
            (&[0x15, 3, 3, 0, 2, 2, 70], "no version of TLS in common"),
            // A ServerHello of TLS 1.1.
            (SERVER_HELLO_OF_1_1, "no version of TLS in common"),
            (&[0x15, 3, 3, 0, 2, 2, 120], "did not agree to HTTP/2"),
        ] {
            let error = stage.failure(saying(words)).await;
            assert_eq!(error.phase(), Phase::Tls);
            assert!(error.message().contains(message), "{error}");
        }
        let served = serve(plain_server());
        let error = stage.failure(served.connect()).await;
        assert!(error.message().contains("HTTP/2 without TLS"), "{error}");
        assert!(served.stop().await.is_clean());
        let (near, far) = pipe();
        drop(far);
        assert!(stage.failure(near).await.message().contains("closed the connection"));
        assert!(begun.elapsed() < Duration::from_secs(1), "none of these has to be waited for");
    });
}

#[test]
fn a_plaintext_client_is_told_that_the_port_speaks_tls() {
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server());
        let begun = Instant::now();
        let error = on_pipe("http://a:1", served.connect()).connect().await.unwrap_err();
        assert_eq!(error.phase(), Phase::Http2Start);
        assert!(error.message().contains("this port speaks TLS"), "{error}");
        assert!(error.hint().unwrap().contains("https://"), "{error:?}");
        // Other TLS servers answer with an alert.
        let alert = saying(&[0x15, 3, 3, 0, 2, 2, 10]);
        let error = on_pipe("http://a:1", alert).connect().await.unwrap_err();
        assert!(error.message().contains("the peer speaks TLS"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(1));
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn the_tls_port_answers_each_protocol_in_its_own() {
    // http2-abuse 44, 45
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server());
        for (first, answer, reason) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], &b"HTTP/1.1 400 Bad Request\r\n"[..], "HTTP/1 without TLS"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0", "HTTP/2 without TLS"),
            (b"SSH-2.0-x\r\n", &[0x15, 3, 3, 0, 2, 2, 10], "does not speak TLS"),
            // A handshake record whose content is no ClientHello.
            (b"\x16\x03\x01\0\x05\x02\0\0\x01\0", &[0x15, 3], "the handshake went wrong"),
        ] {
            let mut client = served.connect();
            client.write_all(first).await.unwrap();
            let mut said = Vec::new();
            client.read_to_end(&mut said).await.unwrap();
            assert!(said.starts_with(answer), "{:?}", String::from_utf8_lossy(&said));
            drop(client);
            settle().await;
            let heard = stage.recorder.take().join("; ");
            assert!(heard.contains(reason), "{heard}");
        }
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn half_a_handshake_ends_in_time_and_holds_nobody_up() {
    // http2-abuse 42, 44
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server().handshake_timeout(Duration::from_secs(3)));
        let mut halves = Vec::new();
        for first in [&b""[..], b"\x16", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"] {
            let mut half = served.connect();
            half.write_all(first).await.unwrap();
            halves.push(half);
        }
        let begun = Instant::now();
        let channel = stage.channel(served.connect()).connect().await.unwrap();
        assert_eq!(echo(&channel, 10).await.unwrap(), 10);
        assert!(begun.elapsed().is_zero(), "others do not wait");
        for mut half in halves {
            let mut said = Vec::new();
            half.read_to_end(&mut said).await.unwrap();
            assert!(said.is_empty());
        }
        assert_eq!(begun.elapsed().as_secs(), 3);
        let heard = stage.recorder.take();
        assert_eq!(
            heard.iter().filter(|line| line.contains("limit handshake_timeout")).count(),
            3,
            "{heard:?}"
        );
        end(served, channel).await;
    });
}

#[test]
fn a_shutdown_does_not_wait_for_a_handshake() {
    // bug-reports 60
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server());
        let mut half = served.connect();
        half.write_all(b"\x16\x03\x01\x02\0").await.unwrap();
        settle().await;
        let begun = Instant::now();
        let report = served.stop().await;
        assert_eq!((report.cut_connections, report.cut_calls), (0, 0), "{report}");
        assert!(begun.elapsed() < Duration::from_secs(1));
    });
}

#[test]
fn a_server_that_is_silent_in_the_handshake_is_given_up() {
    virtual_time(async {
        let stage = Stage::new();
        let (near, far) = pipe();
        let error = stage.failure(near).await;
        assert_eq!((error.phase(), error.message()), (Phase::Tls, "no answer within 10.0s"));
        drop(far);
        let (near, far) = pipe();
        let error = stage.channel(near).connect_timeout(Duration::from_secs(2)).connect().await.unwrap_err();
        assert_eq!((error.phase(), error.message()), (Phase::Tls, "no answer within 2.0s"));
        drop(far);
    });
}

#[test]
fn bug_67_a_cut_without_close_notify_between_calls_is_a_clean_end() {
    // bug-reports 67
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server());
        let (near, mut middle) = pipe();
        let mut server = served.connect();
        let relay = tokio::spawn(async move {
            // Until the client has its answer; then the line goes dead in good TCP order, without TLS's goodbye.
            let _cut = tokio::time::timeout(
                Duration::from_secs(1),
                tokio::io::copy_bidirectional(&mut middle, &mut server),
            )
            .await;
        });
        let channel = stage.channel(near).connect().await.unwrap();
        assert_eq!(echo(&channel, 10).await.unwrap(), 10);
        relay.await.unwrap();
        settle().await;
        let heard = stage.recorder.take();
        assert_eq!(heard.last().unwrap(), "1 closed, Peer: closed by the peer", "{heard:?}");
        end(served, channel).await;
    });
}

#[test]
fn a_client_that_stops_reading_does_not_keep_its_connection_from_closing() {
    // wire-rules 77, http2-abuse 16: the reply and the goodbye lie in TLS's buffer, and the engine has no output left
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server().max_connection_age(Duration::from_mins(1)));
        let (near, middle) = pipe();
        let server = served.connect();
        server.set_capacity(1_000);
        let (mut from_client, mut to_client) = tokio::io::split(middle);
        let (mut from_server, mut to_server) = tokio::io::split(server);
        tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
        let reading = tokio::spawn(async move {
            let _end = tokio::io::copy(&mut from_server, &mut to_client).await;
        });
        let channel = stage.channel(near).connect().await.unwrap();
        assert_eq!(echo(&channel, 10).await.unwrap(), 10);
        // From now on nothing is read of what the server says. Its side of the pipe stays open.
        reading.abort();
        let call = tokio::spawn({
            let channel = channel.clone();
            async move { echo(&channel, 20_000).await }
        });
        tokio::time::sleep(Duration::from_mins(10)).await;
        let heard = stage.recorder.take();
        assert!(heard.last().unwrap().starts_with("1 closed, Local:"), "{heard:?}");
        call.abort();
        end(served, channel).await;
    });
}

#[test]
fn an_open_handshake_costs_the_others_nothing_even_when_the_list_is_full() {
    // http2-abuse 42: the oldest is cut, so a full list of silent clients locks nobody out
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server().pending_handshakes(2));
        let mut silent: Vec<_> = (0..3).map(|_| served.connect()).collect();
        settle().await;
        let mut said = Vec::new();
        silent[0].read_to_end(&mut said).await.unwrap();
        let channel = stage.channel(served.connect()).connect().await.unwrap();
        assert_eq!(echo(&channel, 10).await.unwrap(), 10);
        let heard = stage.recorder.take();
        assert!(heard.contains(&"limit pending_handshakes x1".to_owned()), "{heard:?}");
        drop(silent);
        end(served, channel).await;
    });
}

/// A TLS record.
fn record(kind: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[kind, 3, 3, high, low], payload].concat()
}

#[test]
fn abuse_44_a_first_message_without_end_is_not_collected() {
    // http2-abuse 44
    let begin = [&[1, 0xff, 0xff, 0xff, 3, 3][..], &[7; 10]].concat();
    let attacks = [
        ("one of 16 MiB in the largest records", record(22, &begin), record(22, &[7; 16_384])),
        ("one of 16 MiB octet by octet", record(22, &begin), record(22, &[7])),
        ("records with nothing in them", record(22, &begin), record(22, &[])),
        ("warnings", record(22, &begin[..1]), record(21, &[1, 0])),
        ("changes of cipher", record(22, &begin[..1]), record(20, &[1])),
    ];
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server().handshake_timeout(Duration::from_secs(3)));
        for (what, first, again) in attacks {
            let mut hostile = served.connect();
            let mut sent = first.len();
            hostile.write_all(&first).await.unwrap();
            // What comes after the alert is read and dropped for a while, so that the alert is not lost.
            while sent < 4 << 20 {
                let write = tokio::time::timeout(Duration::from_secs(5), hostile.write_all(&again));
                if !matches!(write.await, Ok(Ok(()))) {
                    break;
                }
                sent += again.len();
            }
            assert!(sent <= 2 << 20, "{what}: {sent} bytes were taken");
            let mut said = Vec::new();
            // An alert, or nothing: the line may be cut.
            let _ = hostile.read_to_end(&mut said).await;
            assert!(said.len() <= 7, "{what}: {said:?}");
        }
        let channel = stage.channel(served.connect()).connect().await.unwrap();
        assert_eq!(echo(&channel, 10).await.unwrap(), 10);
        end(served, channel).await;
    });
}

// wire-rules 94: over TLS credentials are sent; those of the channel and of the call, and they are not for logs.
#[test]
fn credentials_travel_over_tls() {
    virtual_time(async {
        let stage = Stage::new();
        let served = serve(stage.server());
        let channel = stage
            .channel(served.connect())
            .credentials(peregrine::BearerToken::from_fn(|| async {
                tokio::task::yield_now().await;
                Ok("of-the-channel".to_owned())
            }))
            .build()
            .unwrap();
        let mut request = Request::new(Bytes::new()).credentials(peregrine::BearerToken::new("of-the-call"));
        request.metadata_mut().insert("script", "tell").unwrap();
        let method = MethodDescriptor {
            path: UNARY,
            service: "test.Test",
            name: "Unary",
            client_streaming: false,
            server_streaming: false,
            file_descriptor_set: &[],
        };
        let told = unary::<BytesCodec, Bytes, Bytes>(&channel, &method, request).await.unwrap().into_inner();
        let told = String::from_utf8(told.to_vec()).unwrap();
        let both = "authorization: Bearer of-the-channel\nauthorization: Bearer of-the-call\n";
        assert!(told.contains(both), "{told}");
        let failing = Request::new(Bytes::new())
            .credentials(peregrine::BearerToken::from_fn(|| ready(Err(Status::not_found("none")))));
        let status = unary::<BytesCodec, Bytes, Bytes>(&channel, &method, failing).await.unwrap_err();
        // wire-rules 93
        assert_eq!(status.code(), peregrine::Code::Internal);
    });
}
