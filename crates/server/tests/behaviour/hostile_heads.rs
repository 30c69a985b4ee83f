//! Request heads as a hostile or careless client makes them: pseudo-header fields in every combination, fields of HTTP/1,
//! lists at their limits, values that nearly are what they should be.

use bytes::Bytes;
use peregrine_http2::ErrorCode;
use peregrine_http2::frame::Setting;
use peregrine_testkit::peer::{Ending, Peer, PeerConfig, Reply, message, request_head};
use peregrine_testkit::service::{BIDI, CLIENT_STREAM, SERVER_STREAM, UNARY};
use peregrine_testkit::{serve, settle};

use crate::{Stage, code, in_each_mode};

type Fields = Vec<(String, Bytes)>;
/// Values of `:authority`, values of `host`.
type Hosts = (&'static [&'static [u8]], &'static [&'static [u8]]);
/// Fields that are sent, and what the handler sees of them.
type Seen = (&'static [(&'static str, &'static [u8])], &'static str);

fn field(name: &str, value: &[u8]) -> (String, Bytes) {
    (name.to_owned(), Bytes::copy_from_slice(value))
}

fn set(fields: &mut Fields, name: &str, value: &[u8]) {
    for (other, place) in fields.iter_mut() {
        if other == name {
            *place = Bytes::copy_from_slice(value);
        }
    }
}

fn without(name: &str) -> Fields {
    let mut fields = request_head(UNARY);
    fields.retain(|(other, _)| other != name);
    fields
}

/// Sends a head and one message, and reads the reply, whatever ends it.
async fn send(peer: &mut Peer, fields: &Fields) -> Reply {
    let stream = peer.open();
    peer.headers(stream, fields, false).await;
    peer.data(stream, &message(b"hello"), true).await;
    peer.reply(stream).await
}

async fn is_alive(peer: &mut Peer) {
    assert_eq!(peer.call(UNARY, &[], b"alive").await.texts(), ["alive"]);
}

// wire-rules 2
#[test]
fn every_method_but_post_is_answered_405_with_and_without_a_body() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for method in
            ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PRI", "post", "Post", "POSTS"]
        {
            let mut fields = request_head(UNARY);
            set(&mut fields, ":method", method.as_bytes());
            for has_body in [true, false] {
                let stream = peer.open();
                peer.headers(stream, &fields, !has_body).await;
                if has_body {
                    peer.data(stream, &message(b"hello"), true).await;
                }
                let reply = peer.reply(stream).await;
                assert_eq!((reply.http_status(), reply.code()), (405, code::INTERNAL), "{method} {has_body}");
            }
        }
        // CONNECT has neither scheme nor path (RFC 9113 8.5).
        let connect = vec![field(":method", b"CONNECT"), field(":authority", b"a:1")];
        let reply = send(&mut peer, &connect).await;
        assert!(matches!(reply.ending, Some(Ending::Reset(_))) || reply.http_status() == 405, "{reply:?}");
        assert_eq!(stage.counts().started, 0);
        is_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// wire-rules 3, 7, 11
#[test]
fn pseudo_fields_that_are_missing_twice_empty_or_late_are_malformed() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let mut heads: Vec<(String, Fields)> = Vec::new();
        for name in [":method", ":scheme", ":path"] {
            heads.push((format!("no {name}"), without(name)));
            let mut late = without(name);
            late.push(request_head(UNARY).into_iter().find(|(other, _)| other == name).unwrap());
            heads.push((format!("{name} last"), late));
        }
        for name in [":method", ":scheme", ":path", ":authority"] {
            let mut twice = request_head(UNARY);
            let copy = twice.iter().find(|(other, _)| other == name).unwrap().clone();
            twice.insert(0, copy);
            heads.push((format!("{name} twice"), twice));
        }
        for (name, value) in [(":status", "200"), (":protocol", "websocket"), (":", ""), (":Path", "/")] {
            let mut unknown = request_head(UNARY);
            unknown.insert(0, field(name, value.as_bytes()));
            heads.push((format!("{name} in a request"), unknown));
        }
        let mut empty = request_head(UNARY);
        set(&mut empty, ":path", b"");
        heads.push((":path empty".to_owned(), empty));
        for (what, head) in heads {
            let reply = send(&mut peer, &head).await;
            assert_eq!(reply.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)), "{what}: {reply:?}");
        }
        settle().await;
        assert_eq!(stage.counts().started, 0);
        is_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// wire-rules 11, bug-reports 89
#[test]
fn authority_and_host_in_every_combination() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let ok: [Hosts; 9] = [
            (&[b"a.example"], &[]),
            (&[], &[b"h.example"]),
            (&[b"a.example"], &[b"a.example"]),
            (&[b"a.example"], &[b"other.example:99"]),
            (&[], &[]),
            // What clients over Unix sockets send.
            (&[b"%2Ftmp%2Fsocket"], &[]),
            (&[b"/tmp/socket"], &[]),
            (&[b"localhost"], &[]),
            (&[b"[fe80::1]:50051"], &[]),
        ];
        for (authorities, hosts) in ok {
            let mut fields = without(":authority");
            for authority in authorities {
                fields.insert(0, field(":authority", authority));
            }
            for host in hosts {
                fields.push(field("host", host));
            }
            fields.push(field("script", b"tell"));
            let reply = send(&mut peer, &fields).await;
            let case = format!("{authorities:?} {hosts:?}");
            assert_eq!((reply.code(), reply.texts()), (code::OK, vec![""]), "host is no metadata: {case}");
        }
        let wrong: [Hosts; 4] =
            [(&[b"a", b"a"], &[]), (&[b"a", b"b"], &[]), (&[], &[b"a", b"a"]), (&[b"a"], &[b"a", b"b"])];
        for (authorities, hosts) in wrong {
            let mut fields = without(":authority");
            for authority in authorities {
                fields.insert(0, field(":authority", authority));
            }
            for host in hosts {
                fields.push(field("host", host));
            }
            let reply = send(&mut peer, &fields).await;
            let is_reset = reply.ending == Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR));
            let is_400 = !is_reset && (reply.http_status(), reply.code()) == (400, code::INTERNAL);
            assert!(is_reset || is_400, "{authorities:?} {hosts:?}: {reply:?}");
        }
        served.finish([peer]).await;
    });
}

// wire-rules 8, 12
#[test]
fn fields_of_http_1_are_malformed_in_heads_and_in_trailers() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for (name, value) in [
            ("connection", ""),
            ("connection", "te"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("transfer-encoding", "identity"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("te", "trailers, deflate"),
            ("te", ""),
        ] {
            let mut fields = request_head(UNARY);
            if name == "te" {
                set(&mut fields, "te", value.as_bytes());
            } else {
                fields.push(field(name, value.as_bytes()));
            }
            let reply = send(&mut peer, &fields).await;
            let malformed = Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR));
            assert_eq!(reply.ending, malformed, "{name}: {value}");
            if name != "te" {
                let stream = peer.request(CLIENT_STREAM, &[], &message(b"x"), false).await;
                peer.headers(stream, &[(name, value)], true).await;
                assert_eq!(peer.reply(stream).await.ending, malformed, "{name} in trailers");
            }
        }
        // Trailers are trailers: no pseudo-header fields, no second block, none without END_STREAM.
        let stream = peer.request(CLIENT_STREAM, &[], &message(b"x"), false).await;
        peer.headers(stream, &[(":path", "/")], true).await;
        assert_eq!(peer.reply(stream).await.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)));
        let stream = peer.request(CLIENT_STREAM, &[], &message(b"x"), false).await;
        peer.headers(stream, &[("k", "v")], false).await;
        assert_eq!(peer.reply(stream).await.ending, Some(Ending::Reset(ErrorCode::PROTOCOL_ERROR)));
        settle().await;
        assert_eq!(stage.counts().running(), 0);
        is_alive(&mut peer).await;
        served.finish([peer]).await;
    });
}

// wire-rules 13 to 16
#[test]
fn timeouts_that_nearly_are_ones() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        for value in [
            "1h",
            "1\u{b5}",
            "000000001S",
            "1e3S",
            "1_0S",
            "1,2S",
            "\u{661}S",
            "1S;",
            "NaN",
            "infinity",
            "-0S",
        ] {
            for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                let stream = peer.request(path, &[("grpc-timeout", value)], &message(b""), true).await;
                let reply = peer.reply(stream).await;
                let (status, text) = reply.status();
                assert_eq!((reply.http_status(), status), (400, code::INTERNAL), "{value} {path}");
                assert!(text.contains("malformed grpc-timeout"), "{text}");
            }
        }
        // More than one is refused, whether or not they agree (wire-rules 14, N3), and again when the block repeats.
        for values in
            [&["1S", "2S"][..], &["1S", "1S"], &["1S", "soon"], &["soon", "1S"], &["0n", "1S", "1S"]]
        {
            for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI, UNARY] {
                let fields: Vec<_> = values.iter().map(|value| ("grpc-timeout", *value)).collect();
                let stream = peer.request(path, &fields, &message(b""), true).await;
                let reply = peer.reply(stream).await;
                assert_eq!((reply.http_status(), reply.code()), (400, code::INTERNAL), "{values:?} {path}");
                assert!(reply.is_trailers_only() && reply.status().1.contains("grpc-timeout"), "{reply:?}");
            }
        }
        // No units add up to more than the clock has.
        for value in ["99999999H", "99999999M", "99999999S"] {
            for path in [UNARY, SERVER_STREAM, CLIENT_STREAM, BIDI] {
                assert_eq!(peer.call(path, &[("grpc-timeout", value)], b"").await.code(), code::OK);
            }
        }
        assert_eq!(stage.counts().cancelled, 0);
        served.finish([peer]).await;
    });
}

// wire-rules 20 to 25
#[test]
fn metadata_at_its_edges() {
    in_each_mode(async |stage: Stage| {
        let (served, mut peer) = stage.start().await;
        let cases: [Seen; 12] = [
            (&[("k-bin", b"AQ==,AgM,,BA")], "k-bin: 01\nk-bin: 0203\nk-bin: \nk-bin: 04\n"),
            (&[("k-bin", b"AQ"), ("j", b"1"), ("k-bin", b"Ag==")], "k-bin: 01\nj: 1\nk-bin: 02\n"),
            (&[("k-bin", b"")], "k-bin: \n"),
            (&[("k-bin", b"AQ , Ag")], "k-bin: 01\nk-bin: 02\n"),
            (&[("k", b"")], "k: \n"),
            (&[("k", b"a,b"), ("k", b"c")], "k: a,b\nk: c\n"),
            (&[("a_b.c-d0", b"~ !")], "a_b.c-d0: ~ !\n"),
            (&[("grpc-previous-rpc-attempts", b"2")], "grpc-previous-rpc-attempts: 2\n"),
            (&[("grpc-foo", b"x"), ("grpc-message", b"y"), ("grpc-status", b"0")], ""),
            (&[("k", b"caf\xc3\xa9"), ("j", b"1")], "j: 1\n"),
            (&[("cookie", b"a=1"), ("cookie", b"b=2")], "cookie: a=1\ncookie: b=2\n"),
            (&[("authorization", b"Bearer x")], "authorization: Bearer x\n"),
        ];
        let mut wrong = Vec::new();
        for (fields, expected) in cases {
            let mut head = request_head(UNARY);
            head.extend(fields.iter().map(|(name, value)| field(name, value)));
            head.push(field("script", b"tell"));
            let reply = send(&mut peer, &head).await;
            if (reply.code(), reply.texts()) != (code::OK, vec![expected]) {
                wrong.push(format!("{fields:?}: {:?}, not {expected:?}", reply.texts()));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        for value in ["A", "A===", "A*", "AQ==AQ==", "AQ,*", "=", "AQ\u{e9}"] {
            for path in [UNARY, BIDI] {
                let stream = peer.request(path, &[("k-bin", value)], &message(b""), true).await;
                let reply = peer.reply(stream).await;
                assert_eq!((reply.http_status(), reply.code()), (400, code::INTERNAL), "{value} {path}");
            }
        }
        served.finish([peer]).await;
    });
}

fn size(fields: &[(String, Bytes)]) -> usize {
    fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
}

// wire-rules 26, 27
#[test]
fn a_request_head_of_exactly_the_limit_is_served_and_one_octet_more_is_not() {
    in_each_mode(async |stage: Stage| {
        for limit in [1_000_usize, 16_384] {
            // The larger one is the default.
            let server = stage.server();
            let served =
                serve(if limit == 16_384 { server } else { server.max_header_list_size(limit as u32) });
            let mut peer = served.peer().await;
            for extra in [0, 1] {
                let fixed = size(&request_head(UNARY));
                let value = "v".repeat(limit + extra - fixed - 33);
                let reply = peer.call(UNARY, &[("k", &value)], b"hello").await;
                if extra == 0 {
                    assert_eq!(reply.texts(), ["hello"], "{limit}");
                } else {
                    let (status, text) = reply.status();
                    assert_eq!((reply.http_status(), status), (431, code::RESOURCE_EXHAUSTED), "{limit}");
                    let (ours, theirs) = (limit.to_string(), (limit + 1).to_string());
                    assert!(text.contains(&ours) && text.contains(&theirs), "{text}");
                }
            }
            // Trailers of a request have the same limit; over it the call ends, and only that.
            for extra in [0, 1] {
                let value = "v".repeat(limit + extra - 33);
                let stream = peer.request(CLIENT_STREAM, &[], &message(b"x"), false).await;
                peer.headers(stream, &[("k", &value)], true).await;
                let reply = peer.reply(stream).await;
                if extra == 0 {
                    assert_eq!(reply.texts(), ["1 messages, 1 bytes"], "{limit}");
                } else {
                    let is_refused = reply.ending != Some(Ending::Stream) || reply.code() != code::OK;
                    assert!(is_refused, "{limit}: {reply:?}");
                }
                is_alive(&mut peer).await;
            }
            settle().await;
            assert_eq!(stage.counts().running(), 0);
            served.finish([peer]).await;
        }
    });
}

// wire-rules 26, 27
#[test]
fn response_blocks_of_exactly_the_clients_limit_are_sent_whole() {
    in_each_mode(async |stage: Stage| {
        let served = stage.serve();
        let mut peer = served.peer().await;
        for path in [UNARY, SERVER_STREAM] {
            let long = "v".repeat(400);
            for script in [
                format!("head k {long}; echo"),
                format!("trail k {long}; echo"),
                format!("fail-with 5 k {long}"),
                format!("head k-bin {long}; trail k-bin {long}1; echo"),
            ] {
                peer.settings(&[Setting::MaxHeaderListSize(1 << 20)]).await;
                let fields = [("script", script.as_str())];
                let whole = peer.call(path, &fields, b"hello").await;
                let largest = size(&whole.head).max(whole.trailers.as_deref().map_or(0, size));
                peer.settings(&[Setting::MaxHeaderListSize(largest as u32)]).await;
                let exact = peer.call(path, &fields, b"hello").await;
                assert_eq!(
                    (exact.head, exact.trailers),
                    (whole.head.clone(), whole.trailers.clone()),
                    "{script}"
                );
                peer.settings(&[Setting::MaxHeaderListSize(largest as u32 - 1)]).await;
                let less = peer.call(path, &fields, b"hello").await;
                let size = size(&less.head).max(less.trailers.as_deref().map_or(0, size));
                assert!(size < largest, "{script}: {size} of {largest}");
                // The code is never lost; a success that cannot be told whole is none.
                let expected =
                    if script.starts_with("fail") { code::NOT_FOUND } else { code::RESOURCE_EXHAUSTED };
                assert_eq!(less.code(), expected, "{path} {script}");
            }
        }
        served.finish([peer]).await;
    });
}

// wire-rules 27, bug-reports 75: whatever a call comes to, no block is larger than the client takes.
#[test]
fn no_refusal_is_larger_than_the_client_takes() {
    let mut config = PeerConfig::default();
    for limit in [0, 1, 50, 100, 150, 200, 300] {
        config.settings = vec![Setting::MaxHeaderListSize(limit), Setting::InitialWindowSize(1 << 20)];
        in_each_mode(async |stage: Stage| {
            let served = stage.serve();
            let mut peer = served.peer_with(config.clone()).await;
            let long = format!("/no.Service/{}", "x".repeat(1_000));
            for (path, fields) in [
                (UNARY, vec![]),
                (long.as_str(), vec![]),
                (UNARY, vec![("grpc-timeout", "x")]),
                (UNARY, vec![("grpc-encoding", "foo")]),
                (UNARY, vec![("k-bin", "*")]),
                (UNARY, vec![("grpc-timeout", "0n")]),
                (UNARY, vec![("script", "panic x")]),
                (SERVER_STREAM, vec![("script", "send a; fail 5 some words that are rather long for this")]),
            ] {
                let reply = peer.call(path, &fields, b"").await;
                for block in [Some(&reply.head), reply.trailers.as_ref()].into_iter().flatten() {
                    assert!(size(block) <= limit as usize, "{limit}: {block:?}");
                }
                assert!(reply.is_over());
            }
            served.finish([peer]).await;
        });
    }
}
