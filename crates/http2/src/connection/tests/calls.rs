//! Whole calls between two connections.

use super::pair::Pair;
use super::scripted::write;
use super::{REQUEST, RESPONSE, Seen, TRAILERS, fields};
use crate::{CachedBlock, ErrorCode, StreamError};

#[test]
fn a_unary_call_comes_and_goes() {
    // wire-rules 1, 49
    let mut pair = Pair::ready();
    for round in 0..10 {
        let client = pair.client.connection.open(fields(&REQUEST), false).unwrap();
        write(&mut pair.client.connection, client, b"request").unwrap();
        pair.client.connection.end_stream(client).unwrap();

        let happened = pair.settle();
        let [
            Seen::Headers { stream: server, head, end_stream: false },
            Seen::Data { data, end_stream: true, .. },
        ] = &happened.server[..]
        else {
            panic!("{happened:?}")
        };
        assert_eq!(head.path(), Some(&b"/pkg.Service/Method"[..]));
        assert_eq!(head.field(b"te"), Some(&b"trailers"[..]));
        assert_eq!(data, b"request");
        assert_eq!(client.id(), server.id());
        assert_eq!(server.index(), 0, "round {round}");

        let connection = &mut pair.server.connection;
        connection.send_headers(*server, fields(&RESPONSE), false).unwrap();
        write(connection, *server, b"reply").unwrap();
        connection.send_headers(*server, fields(&TRAILERS), true).unwrap();
        assert!(!connection.is_open(*server));

        let happened = pair.settle();
        let [Seen::Headers { head, .. }, Seen::Data { data, .. }, Seen::Trailers { head: trailers, .. }] =
            &happened.client[..]
        else {
            panic!("{happened:?}")
        };
        assert_eq!(head.status(), Some(200));
        assert_eq!(data, b"reply");
        assert_eq!(trailers.field(b"grpc-status"), Some(&b"0"[..]));
        assert_eq!(pair.client.connection.open_streams() + pair.server.connection.open_streams(), 0);
    }
}

#[test]
fn heads_repeat_as_a_few_octets_and_come_out_of_the_memo() {
    let mut pair = Pair::ready();
    let (mut request, mut head, mut trailers) =
        (CachedBlock::default(), CachedBlock::default(), CachedBlock::default());
    let mut last = None;
    for round in 0..6 {
        let client = pair.client.connection.open_cached(&mut request, || fields(&REQUEST), true).unwrap();
        if round > 1 {
            assert_eq!(pair.client.connection.output_len(), 9 + REQUEST.len());
        }
        let happened = pair.settle();
        let [Seen::Headers { stream, head: found, .. }] = &happened.server[..] else {
            panic!("{happened:?}")
        };
        if round > 3 {
            assert!(last.is_some_and(|last| std::sync::Arc::ptr_eq(&last, found)), "round {round}");
        }
        last = Some(std::sync::Arc::clone(found));
        let connection = &mut pair.server.connection;
        connection.send_cached_headers(*stream, &mut head, || fields(&RESPONSE), false).unwrap();
        connection.send_cached_headers(*stream, &mut trailers, || fields(&TRAILERS), true).unwrap();
        let happened = pair.settle();
        assert!(
            matches!(&happened.client[..], [Seen::Headers { .. }, Seen::Trailers { stream, .. }] if *stream == client)
        );
    }
}

#[test]
fn a_trailers_only_response_is_one_frame() {
    // wire-rules 50
    let mut pair = Pair::ready();
    let client = pair.client.connection.open(fields(&REQUEST), true).unwrap();
    let happened = pair.settle();
    let [Seen::Headers { stream, end_stream: true, .. }] = happened.server[..] else {
        panic!("{happened:?}")
    };
    let only = [&RESPONSE[..], &TRAILERS[..]].concat();
    pair.server.connection.send_headers(stream, fields(&only), true).unwrap();
    let happened = pair.settle();
    assert!(
        matches!(happened.client[..], [Seen::Headers { stream, end_stream: true, .. }] if stream == client)
    );
    assert!(!pair.client.connection.is_open(client));
}

#[test]
fn commands_out_of_order_are_refused_and_send_nothing() {
    // [9113-5.1-3]
    let mut pair = Pair::ready();
    let client = pair.client.connection.open(fields(&REQUEST), false).unwrap();
    let happened = pair.settle();
    let Seen::Headers { stream, .. } = happened.server[0] else { panic!("{happened:?}") };
    let connection = &mut pair.server.connection;
    assert_eq!(write(connection, stream, b"x"), Err(StreamError::OutOfOrder));
    assert_eq!(connection.end_stream(stream), Err(StreamError::OutOfOrder));
    connection.send_headers(stream, fields(&RESPONSE), false).unwrap();
    assert_eq!(connection.send_headers(stream, fields(&RESPONSE), false), Err(StreamError::OutOfOrder));
    connection.end_stream(stream).unwrap();
    assert_eq!(write(connection, stream, b"x"), Err(StreamError::Ended));
    assert_eq!(connection.send_headers(stream, fields(&TRAILERS), true), Err(StreamError::Ended));
    connection.reset(stream, ErrorCode::CANCEL);
    assert_eq!(write(connection, stream, b"x"), Err(StreamError::Gone));
    assert!(connection.is_remote_ended(stream) && !connection.poll_writable(stream));
    let happened = pair.settle();
    assert!(matches!(
        happened.client[..],
        [
            Seen::Headers { .. },
            Seen::Data { end_stream: true, .. },
            Seen::Reset { code: ErrorCode::CANCEL, .. }
        ]
    ));
    assert!(!pair.client.connection.is_open(client));
}
