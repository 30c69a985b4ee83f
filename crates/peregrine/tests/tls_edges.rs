//! The edges of TLS: names that nearly fit, sockets of other kinds under it, connections that are cut in the middle, and
//! secrets that must not leave without it.
#![cfg(feature = "_tls")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic, its helpers too")]

use std::future::ready;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use peregrine::rt::{server_streaming, unary};
use peregrine::{
    BearerToken, BytesCodec, Channel, ChannelBuilder, ClientTls, Code, MethodDescriptor, Phase, Request,
    Server, ServerTls, Status,
};
use peregrine_testkit::service::{SERVER_STREAM, UNARY};
use peregrine_testkit::{Authority, PipeEnd, TestService, serve, virtual_time};
use tokio::net::UnixListener;
use tokio::runtime::Builder;

fn method(path: &str, server_streaming: bool) -> MethodDescriptor<'_> {
    MethodDescriptor {
        path,
        service: "test.Test",
        name: "Method",
        client_streaming: false,
        server_streaming,
        file_descriptor_set: &[],
    }
}

fn plain_server() -> Server {
    Server::builder().add_service(TestService::new(Arc::default()))
}

fn with_names(authority: &Authority, names: &[&str]) -> ServerTls {
    let certificate = authority.issue(names);
    ServerTls::from_pem(certificate.chain, certificate.key).unwrap()
}

/// A channel whose only connection is over this pipe.
fn on_pipe(target: &str, end: PipeEnd) -> ChannelBuilder {
    let end = Mutex::new(Some(end));
    Channel::builder(target).connector(move || {
        let end = end.lock().unwrap().take();
        ready(end.ok_or_else(|| io::Error::other("the pipe is used up")))
    })
}

async fn tell(channel: &Channel, mut request: Request<Bytes>) -> Result<String, Status> {
    request.metadata_mut().insert("script", "tell").unwrap();
    let reply = unary::<BytesCodec, Bytes, Bytes>(channel, &method(UNARY, false), request).await?;
    let text = String::from_utf8(reply.into_inner().to_vec()).unwrap();
    Ok(text.lines().filter(|line| !line.starts_with("user-agent")).collect())
}

fn plain() -> Request<Bytes> {
    Request::new(Bytes::new())
}

// wire-rules 95, bug-reports 91
#[test]
fn a_name_fits_as_a_whole_or_not_at_all() {
    virtual_time(async {
        let authority = Authority::new();
        let served =
            serve(plain_server().tls(with_names(&authority, &["one.test", "*.two.test", "10.1.2.3", "::1"])));
        for (host, fits) in [
            ("one.test", true),
            ("ONE.Test", true),
            ("a.two.test", true),
            ("10.1.2.3", true),
            ("[::1]", true),
            ("[0:0::1]", true),
            ("two.test", false),
            ("a.b.two.test", false),
            ("one.test.evil", false),
            ("xone.test", false),
            ("10.1.2.4", false),
            ("[::2]", false),
        ] {
            let tls = ClientTls::with_ca_pem(&authority.pem).unwrap();
            let result = on_pipe(&format!("https://{host}:1"), served.connect()).tls(tls).connect().await;
            match result {
                Ok(channel) => {
                    assert!(fits, "{host} is taken");
                    tell(&channel, plain()).await.unwrap();
                }
                Err(error) => {
                    assert!(!fits, "{host}: {error:?}");
                    assert_eq!(error.phase(), Phase::Tls);
                    // The names as people write them.
                    let names = "one.test, *.two.test, 10.1.2.3, ::1";
                    assert!(error.message().ends_with(names), "{error}");
                }
            }
        }
        assert!(served.stop().await.is_clean());
    });
}

// wire-rules 95, 94: TLS over a Unix socket, by the name that it has there or another.
#[test]
fn a_unix_socket_may_have_tls_and_carries_credentials_then_only() {
    let directory = std::env::temp_dir().join(format!("peregrine-tls-edges-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (with, without) = (directory.join("with.sock"), directory.join("without.sock"));
    let authority = Authority::new();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let tls = with_names(&authority, &["localhost", "one.test"]);
        let secure = tokio::spawn(plain_server().tls(tls).serve(UnixListener::bind(&with).unwrap()));
        let open = tokio::spawn(plain_server().serve(UnixListener::bind(&without).unwrap()));
        let token = || BearerToken::new("s3cret");
        let trusting = || ClientTls::with_ca_pem(&authority.pem).unwrap();
        for tls in [trusting(), trusting().server_name("one.test")] {
            let builder = Channel::builder(format!("unix:{}", with.display()));
            let channel = builder.tls(tls).credentials(token()).build().unwrap();
            assert_eq!(tell(&channel, plain()).await.unwrap(), "authorization: Bearer s3cret");
        }
        let channel = Channel::builder(format!("unix:{}", without.display())).build().unwrap();
        let status = tell(&channel, plain().credentials(token())).await.unwrap_err();
        assert_eq!(status.code(), Code::Unauthenticated);
        assert_eq!(tell(&channel, plain()).await.unwrap(), "");
        let wrong = Channel::builder(format!("unix:{}", with.display()));
        let error = wrong.tls(trusting().server_name("two.test")).connect().await.unwrap_err();
        assert!(error.message().contains("two.test"), "{error}");
        secure.abort();
        open.abort();
    });
    std::fs::remove_dir_all(&directory).unwrap();
}

// wire-rules 94: neither a channel's nor a call's credentials are asked for where they could not be sent.
#[test]
fn credentials_are_asked_for_once_a_call_and_only_over_tls() {
    virtual_time(async {
        let authority = Authority::new();
        let asked = Arc::new(AtomicUsize::new(0));
        let token = || {
            let asked = Arc::clone(&asked);
            BearerToken::from_fn(move || {
                asked.fetch_add(1, Ordering::Relaxed);
                ready(Ok("s3cret".to_owned()))
            })
        };
        let served = serve(plain_server());
        for target in ["http://a:1", "a:1"] {
            let error = on_pipe(target, served.connect()).credentials(token()).build().unwrap_err();
            assert_eq!(error.phase(), Phase::Config, "{error}");
            let channel = on_pipe(target, served.connect()).build().unwrap();
            for request in [plain().credentials(token()), plain().credentials(token()).wait_for_ready()] {
                assert_eq!(tell(&channel, request).await.unwrap_err().code(), Code::Unauthenticated);
            }
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert!(served.stop().await.is_clean());

        let served = serve(plain_server().tls(with_names(&authority, &["a"])));
        let tls = ClientTls::with_ca_pem(&authority.pem).unwrap();
        let channel = on_pipe("https://a:1", served.connect()).tls(tls).credentials(token()).build().unwrap();
        for _ in 0..3 {
            assert_eq!(tell(&channel, plain()).await.unwrap(), "authorization: Bearer s3cret");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        drop(channel);
        assert!(served.stop().await.is_clean());
    });
}

// wire-rules 81, 21: a line that is cut in the middle, without goodbye from TLS or HTTP/2, is no success.
#[test]
fn a_cut_in_the_middle_of_a_call_is_unavailable() {
    virtual_time(async {
        let authority = Authority::new();
        for script in ["never", "send one; never", "many 1 50000; never"] {
            let served = serve(plain_server().tls(with_names(&authority, &["a"])));
            let end = served.connect();
            let (near, mut far) = peregrine_testkit::pipe();
            // A line through which bytes go until it is cut.
            let through = tokio::spawn(async move {
                let mut end = end;
                let _either = tokio::time::timeout(
                    Duration::from_secs(5),
                    tokio::io::copy_bidirectional(&mut far, &mut end),
                )
                .await;
                far.cut();
                end.cut();
            });
            let tls = ClientTls::with_ca_pem(&authority.pem).unwrap();
            let channel = on_pipe("https://a:1", near).tls(tls).connect().await.unwrap();
            let mut request = plain();
            request.metadata_mut().insert("script", script).unwrap();
            let descriptor = method(SERVER_STREAM, true);
            let mut replies =
                server_streaming::<BytesCodec, Bytes, Bytes>(&channel, &descriptor, request).await.unwrap();
            let status = loop {
                match replies.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{script}: a success"),
                    Err(status) => break status,
                }
            };
            assert_eq!(status.code(), Code::Unavailable, "{script}: {status}");
            through.await.unwrap();
            drop(channel);
            let report = served.stop().await;
            assert_eq!(report.cut_calls, 0, "{report}");
        }
    });
}

/// A ClientHello whose offer of protocols is left out.
fn without_alpn(hello: &[u8]) -> Vec<u8> {
    const ALPN_H2: &[u8] = b"\x00\x10\x00\x05\x00\x03\x02h2";
    let at = hello.windows(ALPN_H2.len()).position(|window| window == ALPN_H2).unwrap();
    let mut cut = [&hello[..at], &hello[at + ALPN_H2.len()..]].concat();
    // The lengths of the record, of the message (its low octets) and of the extensions.
    let session = 43 + 1 + usize::from(hello[43]);
    let ciphers = session + 2 + usize::from(u16::from_be_bytes([hello[session], hello[session + 1]]));
    let extensions = ciphers + 1 + usize::from(hello[ciphers]);
    for place in [3, 7, extensions] {
        let length = u16::from_be_bytes([cut[place], cut[place + 1]]) - ALPN_H2.len() as u16;
        cut[place..place + 2].copy_from_slice(&length.to_be_bytes());
    }
    cut
}

// wire-rules 95: both sides say that it was ALPN, and the client how to go on.
#[test]
fn a_side_that_speaks_no_alpn_is_told_so() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    virtual_time(async {
        let authority = Authority::new();
        let recorder = peregrine_testkit::Recorder::default();
        let tls = with_names(&authority, &["a"]);
        let trusting = ClientTls::with_ca_pem(&authority.pem).unwrap();
        let served = serve(plain_server().tls(tls.clone()).observe(recorder.clone()));
        let lenient = serve(plain_server().tls(tls.allow_missing_alpn()));
        for (server, is_strict) in [(&served, true), (&lenient, false)] {
            let (near, mut far) = peregrine_testkit::pipe();
            let channel = on_pipe("https://a:1", near).tls(trusting.clone());
            let connecting = tokio::spawn(async move { channel.connect().await.err() });
            let mut hello = vec![0; 8192];
            let count = far.read(&mut hello).await.unwrap();
            let mut end = server.connect();
            end.write_all(&without_alpn(&hello[..count])).await.unwrap();
            let mut answer = vec![0; 8192];
            let count = end.read(&mut answer).await.unwrap();
            far.write_all(&answer[..count]).await.unwrap();
            if is_strict {
                assert_eq!(&answer[..count], [0x15, 3, 3, 0, 2, 2, 120]);
                let error = connecting.await.unwrap().unwrap();
                assert_eq!(error.phase(), Phase::Tls);
                assert!(error.message().contains("did not agree to HTTP/2 (ALPN h2)"), "{error}");
                assert!(error.hint().unwrap().contains("allow_missing_alpn"), "{error:?}");
            } else {
                assert_eq!(answer[0], 0x16, "a ServerHello");
                connecting.abort();
            }
        }
        peregrine_testkit::settle().await;
        let heard = recorder.take().join("; ");
        assert!(heard.contains("ALPN h2"), "{heard}");
    });
}
