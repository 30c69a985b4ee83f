//! Peers that are not there, not gRPC servers, or not well: one sentence each, the right exit code, and no waiting.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
};

use crate::process::{Run, file, peregrine};

/// Accepts one connection and hands it to `serve` on a thread of its own.
fn peer(serve: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            serve(stream);
        }
    });
    address
}

fn echo(address: &str, flags: &[&str]) -> Run {
    let proto = file("proto/everything.proto");
    let arguments = ["call", address, "test.v1.Everything/Echo", "--proto", &proto, "-d", "{}"];
    peregrine(&[&arguments, flags].concat())
}

#[test]
fn a_closed_port_says_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let run = echo(&address, &[]).expect(3).says(&[&address, "refused", "phase: connect", "next:"]);
    assert_eq!(run.out, "");
    let run = echo(&address, &["--output", "json"]).expect(3);
    let error = run.error_json();
    assert_eq!((error["kind"].as_str(), error["phase"].as_str()), (Some("connect"), Some("connect")));
}

#[test]
fn a_name_that_does_not_resolve_says_so() {
    peregrine(&["list", "http://no-such-host.invalid:1"])
        .expect(3)
        .says(&["no-such-host.invalid", "phase: resolve"]);
}

#[test]
fn a_socket_that_is_not_there_says_so() {
    peregrine(&["list", "unix:/nonexistent/peregrine.sock"]).expect(3).says(&["/nonexistent/peregrine.sock"]);
}

#[test]
fn an_http1_server_is_recognized() {
    let address = peer(|mut stream| {
        let mut preface = [0; 24];
        let _ = stream.read_exact(&mut preface);
        let _ =
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    echo(&address, &[]).expect(3).says(&["HTTP/1"]);
}

#[test]
fn a_tls_port_is_recognized() {
    let address = peer(|mut stream| {
        let mut preface = [0; 24];
        let _ = stream.read_exact(&mut preface);
        // A fatal alert, unexpected_message: what TLS servers answer to bytes that are no handshake.
        let _ = stream.write_all(&[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x0a]);
    });
    echo(&address, &[]).expect(3).says(&["TLS", "next:"]);
}

#[test]
fn a_server_that_speaks_first_is_not_taken_for_grpc() {
    let address = peer(|mut stream| {
        let _ = stream.write_all(b"220 mail.example.com ESMTP ready\r\n");
        let _ = stream.read(&mut [0; 64]);
    });
    echo(&address, &[]).expect(3).says(&["phase: http2-start"]);
}

#[test]
fn a_silent_peer_does_not_hang_us() {
    let address = peer(|mut stream| {
        // Reads on until the client gives up.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    echo(&address, &["--connect-timeout", "200ms"]).expect(3).says(&[&address]);
    let address = peer(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // The time of the whole call ran out, so that is the status.
    echo(&address, &["--timeout", "200ms"]).expect(68).says(&["DEADLINE_EXCEEDED", "connecting"]);
}

#[test]
fn a_peer_that_hangs_up_in_mid_message_is_unavailable() {
    let address = peer(|stream| h2_reply(stream, &[0, 0, 0, 0, 100, 10, 1]));
    let run =
        echo(&address, &[]).expect(78).says(&["UNAVAILABLE", "test.v1.Everything/Echo", "closed", "next: "]);
    assert_eq!(run.out, "");
}

#[test]
fn a_web_page_in_place_of_a_reply_points_at_the_proxy() {
    // `:status 502` by the name of entry 8 of the static table, `content-type` of entry 31.
    let head = [&[0x08, 3][..], b"502", &[0x0f, 0x10, 9], b"text/html"].concat();
    let address = peer(move |stream| {
        h2_answer(stream, |id| [frame(1, 4, id, &head), frame(0, 1, id, b"<h1>no upstream</h1>")].concat());
    });
    echo(&address, &[]).expect(78).says(&[
        "UNAVAILABLE",
        "502",
        "text/html",
        "no upstream",
        "next: ",
        "proxy",
    ]);
}

#[test]
fn a_server_that_asks_for_calm_is_quoted() {
    let address = peer(|stream| {
        // The call's stream is the last one that was looked at, so the call is not made again elsewhere.
        h2_answer(stream, |id| {
            let reason = [&id.to_be_bytes()[..], &[0, 0, 0, 11], b"too_many_pings"].concat();
            frame(7, 0, 0, &reason)
        });
    });
    echo(&address, &[]).expect(78).says(&["ENHANCE_YOUR_CALM", "too_many_pings", "next: ", "wait"]);
}

/// Answers with a gRPC head and some bytes of a message, and is gone.
fn h2_reply(stream: TcpStream, data: &[u8]) {
    // `:status 200` is entry 8 of the static table; `content-type` is entry 31 with a literal value.
    let mut head = vec![0x88, 0x0f, 0x10, 16];
    head.extend_from_slice(b"application/grpc");
    h2_answer(stream, |id| [frame(1, 4, id, &head), frame(0, 0, id, data)].concat());
}

/// A server without an HTTP/2 engine: waits for a request, answers with what `answer` makes for its stream, and is
/// gone.
fn h2_answer(mut stream: TcpStream, answer: impl FnOnce(u32) -> Vec<u8>) {
    // An empty SETTINGS frame.
    let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let mut preface = [0; 24];
    let _ = stream.read_exact(&mut preface);
    let id = loop {
        let Some((kind, id)) = read_frame(&mut stream) else { return };
        // HEADERS open the call.
        if kind == 1 {
            break id;
        }
    };
    let _ = stream.write_all(&answer(id));
    // Nothing more will come. What the client still sends is read: closing over it would reset the connection.
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// The kind and stream of the next frame, whose payload is skipped.
fn read_frame(stream: &mut TcpStream) -> Option<(u8, u32)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    stream.read_exact(&mut vec![0; length as usize]).ok()?;
    Some((head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]])))
}
