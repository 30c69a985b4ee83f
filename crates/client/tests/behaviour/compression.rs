//! Compressed responses, against a scripted server.

use bytes::Bytes;
use peregrine_core::compression::{Compression, compress_next};
use peregrine_core::message::{Deframer, Encoding};
use peregrine_core::{CallOptions, Code, Request, unfold};
use peregrine_testkit::peer::prefixed;
use peregrine_testkit::virtual_time;

use crate::{chat, connected, list, message, pair, unary};

/// "hello" by other implementations.
const HELLO: [(&str, &[u8]); 4] = [
    ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"),
    ("deflate", b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15"),
    ("zstd", b"\x28\xb5\x2f\xfd\0\x58\x29\0\0hello"),
    ("snappy", b"\xff\x06\0\0sNaPpY\x01\x09\0\0\xbb\x1f\x1c\x19hello"),
];

fn framed(flag: u8, body: &[u8]) -> Vec<u8> {
    prefixed(flag, body.len() as u32, body)
}

// wire-rules 33, 38, F2 and the table "Header versus flag"; bug-reports 80
#[test]
fn header_and_flag_decide_together() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (encoding, packed) in HELLO {
            let rows = [
                ("raw", framed(0, b"hello"), Ok("hello")),
                ("compressed", framed(1, packed), Ok("hello")),
                ("an empty message", framed(1, b""), Ok("")),
                ("raw with flag 1", framed(1, b"hello"), Err(Code::Internal)),
                ("cut short", framed(1, &packed[..packed.len() - 3]), Err(Code::Internal)),
                ("bytes behind", framed(1, &[packed, b"?"].concat()), Err(Code::Internal)),
                ("flag 2", framed(2, packed), Err(Code::Internal)),
            ];
            for (what, body, expected) in rows {
                let answer = async |server: &mut peregrine_testkit::ServerPeer| {
                    let stream = server.request().await.stream;
                    server.head(stream, &[("grpc-encoding", encoding)]).await;
                    server.data(stream, &body, false).await;
                    server.trailers(stream, &[("grpc-status", "0")]).await;
                };
                let (reply, ()) = tokio::join!(unary(&channel, message("hi")), answer(&mut server));
                let reply = reply.map(peregrine_core::Response::into_inner).map_err(|status| status.code());
                assert_eq!(reply, expected.map(message), "{encoding}, {what}");
                let (replies, ()) = tokio::join!(list(&channel, message("hi")), answer(&mut server));
                let reply = replies.unwrap().message().await.map_err(|status| status.code());
                assert_eq!(reply, expected.map(|text| Some(message(text))), "{encoding}, {what}, streamed");
            }
        }
    });
}

// wire-rules 39, S1: each message by itself; the encoding is known only when the head comes, long after the stream
// was made.
#[test]
fn a_response_stream_mixes_compressed_and_raw_messages() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for (encoding, packed) in HELLO {
            let mut replies = list(&channel, message("hi")).await.unwrap();
            let stream = server.request().await.stream;
            let script = async {
                server.head(stream, &[("grpc-encoding", encoding)]).await;
                for piece in [framed(1, packed), framed(0, b"raw"), framed(1, packed)].concat().chunks(7) {
                    server.data(stream, piece, false).await;
                }
                server.trailers(stream, &[("grpc-status", "0")]).await;
            };
            let read = async {
                let mut texts = Vec::new();
                while let Some(text) = replies.message().await.unwrap() {
                    texts.push(text);
                }
                texts
            };
            let (texts, ()) = tokio::join!(read, script);
            assert_eq!(texts, ["hello", "raw", "hello"].map(message), "{encoding}");
        }
    });
}

// wire-rules 43
#[test]
fn a_response_that_inflates_past_the_limit_ends_the_call() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        // Seventeen bytes in eleven.
        let packed = b"\x78\x9c\xab\xa8\x40\x03\0\x47\xc9\x07\xf9";
        for (limit, expected) in [(17, Code::Ok), (16, Code::ResourceExhausted)] {
            let request = Request::new(message("hi")).max_response_size(limit);
            let script = async {
                let stream = server.request().await.stream;
                server.head(stream, &[("grpc-encoding", "deflate")]).await;
                server.data(stream, &framed(1, packed), false).await;
                server.trailers(stream, &[("grpc-status", "0")]).await;
            };
            let (reply, ()) = tokio::join!(unary(&channel, request), script);
            assert_eq!(reply.map_or_else(|status| status.code(), |_| Code::Ok), expected, "limit {limit}");
        }
    });
}

// wire-rules 36, P3: what the channel accepts is told, and can be told otherwise.
#[test]
fn accepted_encodings_are_named_unless_turned_off() {
    let named = |encodings: Option<&[Encoding]>| {
        virtual_time(async {
            let (mut builder, mut acceptor) = pair();
            if let Some(encodings) = encodings {
                builder = builder.accept_encodings(encodings.iter().copied());
            }
            let channel = builder.build().unwrap();
            let script = async {
                let mut server = acceptor.accept().await;
                let asked = server.request().await;
                assert_eq!(asked.field("grpc-encoding"), None, "requests go as they are unless told");
                let named = asked.field("grpc-accept-encoding").map(str::to_owned);
                server.reply(asked.stream, b"").await;
                (named, server)
            };
            let (reply, (named, _server)) = tokio::join!(unary(&channel, message("hi")), script);
            reply.unwrap();
            named
        })
    };
    assert_eq!(named(None).as_deref(), Some("zstd,gzip,deflate,snappy,identity"));
    assert_eq!(named(Some(&[Encoding::Gzip])).as_deref(), Some("gzip,identity"));
    assert_eq!(named(Some(&[])), None);
    assert_eq!(named(Some(&[Encoding::Identity])), None);
}

/// Flags and messages of a request's body, read with the encoding that its head names.
fn sent(encoding: Option<&str>, body: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let encoding = Encoding::from_wire(encoding.unwrap_or("identity").as_bytes()).expect("ours");
    let mut deframer = Deframer::new(encoding, usize::MAX);
    deframer.push(body);
    let (mut flags, mut messages) = (Vec::new(), Vec::new());
    loop {
        let flag = deframer.unread().first().copied();
        let Some(message) = deframer.next_message().expect("ours") else { return (flags, messages) };
        flags.extend(flag);
        messages.push(message.as_slice().to_vec());
    }
}

// wire-rules S1, F1, B4, B7, T1, 39, 40, bug-reports 82
#[test]
fn sizes_decide_the_flags_of_a_request() {
    let messages: Vec<_> =
        [10, 5_000, 0, 1_024, 1_023, 40_000].into_iter().map(|len| Bytes::from(vec![b'a'; len])).collect();
    for (name, _) in HELLO {
        let encoding = Encoding::from_name(name.as_bytes()).unwrap();
        virtual_time(async {
            let (builder, mut acceptor) = pair();
            let channel = builder.compression(encoding).build().unwrap();
            let requests = peregrine_core::iter(messages.clone());
            let script = async {
                let mut server = acceptor.accept().await;
                let asked = server.request().await;
                assert_eq!(asked.field("grpc-encoding"), Some(name));
                let (flags, texts) = sent(asked.field("grpc-encoding"), &asked.body);
                assert_eq!(flags, [0, 1, 0, 1, 0, 1], "{name}");
                assert!(texts == messages, "{name}");
                server.trailers_only(asked.stream, &[("grpc-status", "0")]).await;
                server
            };
            let (replies, _server) = tokio::join!(chat(&channel, Request::new(requests)), script);
            assert_eq!(replies.unwrap().message().await.unwrap(), None);
        });
    }
}

// wire-rules F1, T1, T6, M3: what is not worth a try takes the short way, from the second call on with a head that is at
// hand; nobody can tell.
#[test]
fn requests_of_any_size_are_the_same_on_every_call() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.compression(Encoding::Gzip).build().unwrap();
        let mut server = None;
        for round in 0..6 {
            for (len, flag) in [(10, 0), (1_023, 0), (1_024, 1), (0, 0), (5_000, 1)] {
                let request = Bytes::from(vec![b'a'; len]);
                let script = async {
                    if server.is_none() {
                        server = Some(acceptor.accept().await);
                    }
                    let server = server.as_mut().unwrap();
                    let asked = server.request().await;
                    assert_eq!(asked.field("grpc-encoding"), Some("gzip"), "round {round}, {len} bytes");
                    let (flags, texts) = sent(asked.field("grpc-encoding"), &asked.body);
                    assert_eq!(
                        (flags, texts),
                        (vec![flag], vec![request.to_vec()]),
                        "round {round}, {len} bytes"
                    );
                    server.reply(asked.stream, b"m").await;
                };
                let (reply, ()) = tokio::join!(unary(&channel, request.clone()), script);
                assert_eq!(reply.unwrap().into_inner(), message("m"));
            }
        }
        // A setting that cannot be used is an error however warm the connection is (wire-rules T4).
        let request = Request::new(message("x")).compress(Compression::only(Encoding::Gzip).level(99));
        let status = unary(&channel, request).await.unwrap_err();
        assert_eq!(status.code(), Code::Internal, "{status}");
    });
}

// wire-rules P1, P3: nothing is compressed before the server has said what it accepts, unless the caller names an
// encoding; a call and a method may say otherwise.
#[test]
fn a_request_is_compressed_when_told_or_once_the_server_accepts_it() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let chat_is_off = CallOptions::new().compression(Compression::off());
        let channel = builder
            .compression(Compression::prefer([Encoding::Zstd, Encoding::Gzip]))
            .configure("test.Service/Chat", chat_is_off)
            .build()
            .unwrap();
        let large = || Request::new(Bytes::from(vec![b'a'; 3_000]));
        let mut server = None;
        let mut ask = async |request: Request<Bytes>, answer: &[(&str, &str)]| {
            let script = async {
                if server.is_none() {
                    server = Some(acceptor.accept().await);
                }
                let server = server.as_mut().unwrap();
                let asked = server.request().await;
                server.head(asked.stream, answer).await;
                server.message(asked.stream, b"").await;
                server.trailers(asked.stream, &[("grpc-status", "0")]).await;
                let encoding = asked.field("grpc-encoding").map(str::to_owned);
                let (flags, messages) = sent(encoding.as_deref(), &asked.body);
                assert_eq!(messages, [[b'a'; 3_000]]);
                (encoding, flags)
            };
            let (reply, asked) = tokio::join!(unary(&channel, request), script);
            reply.unwrap();
            asked
        };
        let encoded =
            |encoding: Option<&str>| (encoding.map(str::to_owned), vec![u8::from(encoding.is_some())]);
        assert_eq!(ask(large(), &[]).await, encoded(None), "nothing is known");
        assert_eq!(ask(large().compress(Encoding::Gzip), &[]).await, encoded(Some("gzip")), "told");
        let accepts = [("grpc-accept-encoding", "identity,gzip")];
        assert_eq!(ask(large(), &accepts).await, encoded(None), "it is said only now");
        assert_eq!(ask(large(), &[]).await, encoded(Some("gzip")));
        assert_eq!(ask(large().compress(Compression::off()), &[]).await, encoded(None));
        assert_eq!(ask(large(), &[("grpc-accept-encoding", "zstd,gzip")]).await, encoded(Some("gzip")));
        assert_eq!(ask(large(), &[]).await, encoded(Some("zstd")));
        let small = large().compress(Compression::adaptive().threshold(3_001));
        assert_eq!(ask(small, &[]).await, (Some("zstd".to_owned()), vec![0]), "below its threshold");
        let requests = Request::new(peregrine_core::iter([Bytes::from(vec![b'a'; 3_000])]));
        let replies = chat(&channel, requests).await.unwrap();
        let asked = server.as_mut().unwrap().request().await;
        assert_eq!(asked.field("grpc-encoding"), None, "the method's own setting");
        drop(replies);
    });
}

// wire-rules P2, 39
#[test]
fn one_message_of_a_request_can_be_told_otherwise() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.compression(Encoding::Gzip).build().unwrap();
        let wishes = [(2_000, None), (2_000, Some(false)), (50, None), (50, Some(true)), (2_000, None)];
        let requests = unfold(wishes.into_iter(), |mut wishes| async {
            let (len, wish) = wishes.next()?;
            if let Some(wish) = wish {
                compress_next(wish);
            }
            Some((Bytes::from(vec![b'a'; len]), wishes))
        });
        let script = async {
            let mut server = acceptor.accept().await;
            let asked = server.request().await;
            server.trailers_only(asked.stream, &[("grpc-status", "0")]).await;
            (sent(asked.field("grpc-encoding"), &asked.body).0, server)
        };
        let (_replies, (flags, _server)) = tokio::join!(chat(&channel, Request::new(requests)), script);
        assert_eq!(flags, [1, 0, 0, 1, 1]);
    });
}

// wire-rules T4
#[test]
fn a_setting_that_cannot_be_meant_is_an_error_of_the_builder() {
    let wrong = Compression::only(Encoding::Deflate).min_saving(100);
    let of_channel = pair().0.compression(wrong);
    let of_method = pair().0.configure("a.S/M", CallOptions::new().compression(wrong));
    for (builder, of) in [(of_channel, "the channel"), (of_method, "a.S/M")] {
        let error = format!("{:#}", builder.build().unwrap_err());
        assert!(error.contains(of) && error.contains("100 %"), "{error}");
    }
}

// wire-rules N2, N5, N7: which of two fields counts must not depend on their order, so neither does.
#[test]
fn a_response_that_names_its_encoding_or_its_type_twice_fails_in_any_order() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let rows = [
            ("grpc-encoding", ["gzip", "gzip"], Code::Internal),
            ("grpc-encoding", ["identity", "gzip"], Code::Internal),
            ("grpc-encoding", ["gzip", "br"], Code::Internal),
            ("content-type", ["application/grpc", "text/html"], Code::Unknown),
            ("content-type", ["application/grpc", "application/grpc"], Code::Unknown),
        ];
        for (name, [one, two], expected) in rows {
            for values in [[one, two], [two, one]] {
                let script = async |server: &mut peregrine_testkit::ServerPeer| {
                    let stream = server.request().await.stream;
                    let mut head = vec![(":status", "200")];
                    if name != "content-type" {
                        head.push(("content-type", "application/grpc"));
                    }
                    head.extend(values.map(|value| (name, value)));
                    server.headers(stream, &head, false).await;
                    server.data(stream, &framed(0, b"hello"), false).await;
                    server.trailers(stream, &[("grpc-status", "0")]).await;
                };
                let (reply, ()) = tokio::join!(unary(&channel, message("hi")), script(&mut server));
                assert_eq!(reply.unwrap_err().code(), expected, "{name}: {values:?}");
                let (replies, ()) = tokio::join!(list(&channel, message("hi")), script(&mut server));
                let first = replies.unwrap().message().await;
                assert_eq!(first.unwrap_err().code(), expected, "{name}: {values:?}, streamed");
            }
        }
    });
}

// wire-rules F3: whatever a block without messages says of their encoding.
#[test]
fn a_reply_of_one_block_keeps_its_status_whatever_it_names() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let blocks: [&[(&str, &str)]; 3] = [
            &[("grpc-encoding", "br"), ("grpc-status", "5")],
            &[("grpc-status", "5"), ("grpc-encoding", "gzip"), ("grpc-encoding", "br")],
            &[("grpc-encoding", ""), ("grpc-status", "5")],
        ];
        for block in blocks {
            let script = async {
                for _ in 0..2 {
                    let stream = server.request().await.stream;
                    server.trailers_only(stream, block).await;
                }
            };
            let calls = async {
                assert_eq!(unary(&channel, message("hi")).await.unwrap_err().code(), Code::NotFound);
                let mut replies = list(&channel, message("hi")).await.unwrap();
                assert_eq!(replies.message().await.unwrap_err().code(), Code::NotFound);
            };
            tokio::join!(script, calls);
        }
    });
}

// wire-rules N4, P3, N7: the lists of servers are read like those of clients, wherever they stand; a list that no longer
// has an encoding ends its use.
#[test]
fn a_servers_list_is_read_item_by_item_and_the_latest_counts() {
    let lists: [(&[&[u8]], Option<&str>); 9] = [
        (&[b"gzip"], Some("gzip")),
        (&[b"gzip;q=1"], None),
        (&[b"x-gzip,gzipx"], None),
        (&[b"GZIP"], None),
        (&[b"br,\t gzip ,"], Some("gzip")),
        (&[b"deflate", b"gzip"], Some("gzip")),
        (&[b"\xff,gzip"], Some("gzip")),
        (&[b"gzip\xff"], None),
        (&[b"", b"deflate"], Some("deflate")),
    ];
    for (lists, expected) in lists {
        for in_one_block in [false, true] {
            virtual_time(async {
                let (builder, mut acceptor) = pair();
                let builder = builder.compression(Compression::prefer([Encoding::Gzip, Encoding::Deflate]));
                let (channel, mut server) = tokio::join!(builder.connect(), acceptor.accept());
                let channel = channel.unwrap();
                let rounds: [(&[&[u8]], Option<&str>); 3] =
                    [(lists, None), (&[b"identity"], expected), (&[], None)];
                for (said, used) in rounds {
                    let script = async {
                        let asked = server.request().await;
                        assert_eq!(asked.field("grpc-encoding"), used, "{lists:?}");
                        let said =
                            said.iter().map(|list| ("grpc-accept-encoding", Bytes::copy_from_slice(list)));
                        let mut head: Vec<(&str, Bytes)> =
                            vec![(":status", "200".into()), ("content-type", "application/grpc".into())];
                        head.extend(said);
                        if in_one_block {
                            head.push(("grpc-status", "12".into()));
                        }
                        server.headers(asked.stream, &head, in_one_block).await;
                        if !in_one_block {
                            server.message(asked.stream, b"").await;
                            server.trailers(asked.stream, &[("grpc-status", "0")]).await;
                        }
                    };
                    let (_reply, ()) = tokio::join!(unary(&channel, Bytes::from(vec![b'a'; 3_000])), script);
                }
            });
        }
    }
}

// wire-rules P2: what a source said before it waited is said of its next message and of no other.
#[test]
fn what_is_said_of_a_message_outlives_the_wait_for_it() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let (channel, mut server) =
            tokio::join!(builder.compression(Encoding::Gzip).connect(), acceptor.accept());
        let channel = channel.unwrap();
        let source = || {
            unfold(0, |count| async move {
                if count == 1 {
                    compress_next(false);
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                (count < 3).then(|| (Bytes::from(vec![b'a'; 3_000]), count + 1))
            })
        };
        let others = async {
            tokio::join!(
                crate::collect(&channel, Request::new(source())),
                crate::collect(&channel, Request::new(source()))
            )
        };
        let script = async {
            for _ in 0..2 {
                let asked = server.request().await;
                assert_eq!(sent(asked.field("grpc-encoding"), &asked.body).0, [1, 0, 1]);
                server.reply(asked.stream, b"").await;
            }
        };
        let ((one, two), ()) = tokio::join!(others, script);
        assert!(one.is_ok() && two.is_ok());
    });
}
