//! Limits of header lists and messages to the octet, in both directions, and what a request head is made of.

use bytes::Bytes;
use peregrine_client::Channel;
use peregrine_core::{Code, Request, Status, iter};
use peregrine_http2::frame::Setting;
use peregrine_testkit::peer::{Asked, PeerConfig, Received, ServerPeer};
use peregrine_testkit::virtual_time;

use crate::{chat, connected, connected_with, message, pair, unary};

/// Name, value and 32 for each field (wire-rules 26).
fn size(fields: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> usize {
    fields.iter().map(|(name, value)| name.as_ref().len() + value.as_ref().len() + 32).sum()
}

fn decorated() -> Request<Bytes> {
    let mut request = Request::new(message(""));
    let metadata = request.metadata_mut();
    metadata.append("k", "one").expect("legal metadata");
    metadata.append("k", "two").expect("legal metadata");
    // Counted after base64, unpadded: 3 bytes are 4, 4 bytes are 6.
    metadata.append_bin("b-bin", &[1, 2, 3]).expect("legal metadata");
    metadata.append_bin("b-bin", &[1, 2, 3, 4]).expect("legal metadata");
    request
}

async fn asked(channel: &Channel, server: &mut ServerPeer) -> Asked {
    let (reply, asked) = tokio::join!(unary(channel, decorated()), async {
        let asked = server.request().await;
        server.reply(asked.stream, b"").await;
        asked
    });
    reply.expect("the server answers");
    asked
}

// wire-rules 26, 27
#[test]
fn a_request_head_of_exactly_the_servers_limit_is_sent_and_one_octet_more_is_not() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        let exact = size(&asked(&channel, &mut server).await.head) as u32;
        // The limit may come and go while the connection is open.
        // The other method's name is one octet shorter.
        for limit in [exact, exact - 1, exact, exact - 2, exact, 0, u32::MAX] {
            server.settings(&[Setting::MaxHeaderListSize(limit)]).await;
            server.drain().await;
            if limit >= exact {
                asked(&channel, &mut server).await;
                continue;
            }
            let status = unary(&channel, decorated()).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted);
            let (ours, theirs) = (exact.to_string(), limit.to_string());
            assert!(status.message().contains(&ours) && status.message().contains(&theirs), "{status}");
            assert_eq!(server.drain().await, []);
            if limit == exact - 1 {
                continue;
            }
            // A stream of requests is told the same, and its source is not asked for anything.
            let result = chat(&channel, decorated().map(|_| iter([message("a")]))).await;
            let status = match result {
                Err(status) => status,
                Ok(mut replies) => replies.message().await.unwrap_err(),
            };
            assert_eq!(status.code(), Code::ResourceExhausted);
            assert_eq!(server.drain().await, []);
        }
    });
}

/// What a unary call comes to whose head or trailers are so large, with a limit of 1,000.
fn with_block(bytes: usize, place: &str) -> Result<(), Status> {
    const LIMIT: u32 = 1_000;
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.max_header_list_size(LIMIT).build().expect("the target is one");
        let (result, ()) = tokio::join!(unary(&channel, message("")), async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            let head = [(":status", "200"), ("content-type", "application/grpc")];
            let status = [("grpc-status", "0")];
            let fixed = match place {
                "head" => size(&head),
                "trailers" => size(&status),
                _ => size(&head) + size(&status),
            };
            let value = "v".repeat(bytes - fixed - 33);
            let filler = [("k", value.as_str())];
            match place {
                "head" => {
                    server.headers(stream, &[&head[..], &filler].concat(), false).await;
                    server.message(stream, b"").await;
                    server.trailers(stream, &status).await;
                }
                "trailers" => {
                    server.head(stream, &[]).await;
                    server.message(stream, b"").await;
                    server.trailers(stream, &[&status[..], &filler].concat()).await;
                }
                _ => {
                    let failed = [("grpc-status", "5")];
                    server.headers(stream, &[&head[..], &failed, &filler].concat(), true).await;
                }
            }
            // The table is in step and the connection as good as before.
            let served = async {
                loop {
                    let asked = server.request_head().await;
                    if asked.stream != stream {
                        server.reply(asked.stream, b"").await;
                        break;
                    }
                }
            };
            let (next, ()) = tokio::join!(unary(&channel, message("")), served);
            next.expect("another call's fault");
        });
        result.map(|_| ())
    })
}

// wire-rules 26, 27
#[test]
fn a_response_block_of_exactly_our_limit_is_read_and_one_octet_more_is_not() {
    for place in ["head", "trailers", "only"] {
        let result = with_block(1_000, place);
        match place {
            "only" => assert_eq!(result.unwrap_err().code(), Code::NotFound),
            _ => result.unwrap(),
        }
        let status = with_block(1_001, place).unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{place}: {status}");
        assert!(status.message().contains("1001") && status.message().contains("1000"), "{place}: {status}");
    }
}

// wire-rules 42, 48: of both limits and none.
#[test]
fn a_response_message_of_exactly_the_limit_is_read() {
    for limit in [0, 1, 5, 1_000, usize::MAX] {
        for size in [limit.min(70_000), (limit.min(70_000)).saturating_add(1)] {
            let result = virtual_time(async {
                let (channel, mut server) = connected().await;
                let request = Request::new(message("")).max_response_size(limit);
                let (result, ()) = tokio::join!(unary(&channel, request), async {
                    let stream = server.request().await.stream;
                    server.head(stream, &[]).await;
                    server.message(stream, &vec![0; size]).await;
                    server.trailers(stream, &[("grpc-status", "0")]).await;
                });
                result
            });
            if size <= limit {
                assert_eq!(result.unwrap().into_inner().len(), size);
            } else {
                let status = result.unwrap_err();
                assert_eq!(status.code(), Code::ResourceExhausted);
                let (size, limit) = (size.to_string(), limit.to_string());
                assert!(status.message().contains(&size) && status.message().contains(&limit), "{status}");
            }
        }
    }
}

// wire-rules 44
#[test]
fn a_request_message_of_exactly_the_limit_is_sent() {
    virtual_time(async {
        let (channel, mut server) = connected().await;
        for limit in [0, 1, 70_000] {
            let request = Request::new(Bytes::from(vec![0; limit])).max_request_size(limit);
            let (result, ()) = tokio::join!(unary(&channel, request), async {
                let asked = server.request().await;
                assert_eq!(asked.body.len(), limit + 5);
                server.reply(asked.stream, b"").await;
            });
            result.unwrap();
            let request = Request::new(Bytes::from(vec![0; limit + 1])).max_request_size(limit);
            let status = unary(&channel, request).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted);
            // Nothing of it is on the wire, but perhaps a stream that was opened and reset.
            drop(server.drain().await);
        }
    });
}

// wire-rules 28
#[test]
fn blocks_in_many_continuations_are_read_whole() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.max_header_list_size(200_000).build().unwrap();
        let value = "v".repeat(63_000);
        let (reply, ()) = tokio::join!(unary(&channel, message("")), async {
            let mut server = acceptor.accept().await;
            let stream = server.request().await.stream;
            server.head(stream, &[("k", &value)]).await;
            server.message(stream, b"").await;
            server.trailers(stream, &[("grpc-status", "0"), ("t", &value)]).await;
        });
        let reply = reply.unwrap();
        assert_eq!(reply.metadata().get("k"), Some(value.as_str()));
        assert_eq!(reply.trailers().get("t"), Some(value.as_str()));
    });
}

// wire-rules 1 to 3, 8, 9, 11, 12, 17, 20, 21
#[test]
fn no_metadata_makes_a_request_head_that_is_not_grpc() {
    virtual_time(async {
        let (builder, mut acceptor) = pair();
        let channel = builder.user_agent("mine/1 (x; y)").authority("other.example:1").build().unwrap();
        let mut request = Request::new(message(""));
        let metadata = request.metadata_mut();
        let mut refused = Vec::new();
        for name in [
            "connection",
            "proxy-connection",
            "keep-alive",
            "transfer-encoding",
            "upgrade",
            "te",
            "host",
            "content-type",
            "content-length",
            "user-agent",
            "grpc-timeout",
            "grpc-encoding",
            "grpc-accept-encoding",
            "grpc-status",
            "grpc-message",
            "grpc-message-type",
            "grpc-status-details-bin",
            "grpc-anything",
            ":path",
            ":authority",
            "authority",
            "",
        ] {
            let added = if name.ends_with("-bin") {
                metadata.append_bin(name, b"x")
            } else {
                metadata.append(name, "chunked")
            };
            if added.is_err() {
                refused.push(name);
            }
        }
        metadata.append("UPPER-Case", "v").unwrap();
        let (reply, asked) = tokio::join!(unary(&channel, request), async {
            let mut server = acceptor.accept().await;
            let asked = server.request().await;
            server.reply(asked.stream, b"").await;
            asked
        });
        reply.unwrap();
        for name in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "host"] {
            assert_eq!(asked.field(name), None, "{name} is sent; refused were {refused:?}");
        }
        let names: Vec<_> = asked.head.iter().map(|(name, _)| name.as_str()).collect();
        let of = |name: &str| names.iter().filter(|other| **other == name).count();
        assert_eq!([of("te"), of("content-type"), of("user-agent"), of(":path"), of(":authority")], [1; 5]);
        assert_eq!(asked.field("te"), Some("trailers"));
        assert_eq!(asked.field("content-type"), Some("application/grpc"));
        assert!(asked.field("user-agent").unwrap().starts_with("mine/1 (x; y) grpc-rust"));
        assert_eq!(asked.field(":authority"), Some("other.example:1"));
        assert_eq!(asked.field("upper-case"), Some("v"));
        let ours = ["grpc-accept-encoding"];
        let reserved: Vec<_> =
            names.iter().filter(|name| name.starts_with("grpc-") && !ours.contains(name)).collect();
        assert!(reserved.is_empty(), "{reserved:?}");
        assert!(asked.field("content-length").is_none_or(|length| length == "5"), "{:?}", asked.head);
    });
}

// wire-rules 42, 27: the peer's limits of frames.
#[test]
fn frames_are_never_larger_than_the_server_takes() {
    for max in [16_384, 16_385, 1 << 20, (1 << 24) - 1] {
        virtual_time(async {
            let mut config = PeerConfig::server();
            config.settings.extend([Setting::MaxFrameSize(max), Setting::InitialWindowSize(1 << 30)]);
            config.connection_window = 1 << 30;
            let (channel, mut server) = connected_with(config).await;
            let size = 3 << 20;
            let (reply, largest) = tokio::join!(unary(&channel, Bytes::from(vec![1; size])), async {
                let stream = server.request_head().await.stream;
                let (mut got, mut largest) = (0, 0);
                while got < size + 5 {
                    match server.next().await {
                        Some(Received::Data { data, .. }) => {
                            got += data.len();
                            largest = largest.max(data.len());
                        }
                        other => panic!("{other:?}"),
                    }
                }
                server.reply(stream, b"").await;
                largest
            });
            reply.unwrap();
            assert!(largest <= max as usize, "{largest} with {max}");
        });
    }
}
