//! `bench-floor PORT`: what no server can be cheaper than. It answers unary calls of the bench service's Echo, whose
//! message lies in one DATA frame, on tokio's current-thread runtime with a task a connection: one read, one write, and
//! between them a copy of each message between canned heads. It knows no headers, no methods, no messages, no limits
//! and no errors.

use std::io;
use std::process::ExitCode;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn main() -> ExitCode {
    let Some(port) = std::env::args().nth(1).and_then(|port| port.parse().ok()) else {
        return complain("usage: bench-floor PORT", 2);
    };
    match run(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error.to_string(), 1),
    }
}

fn run(port: u16) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (socket, _) = listener.accept().await?;
            // A connection that breaks is over, and nothing else.
            tokio::spawn(async move { serve(socket).await.ok() });
        }
    })
}

async fn serve(mut socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let (mut input, mut output) = (vec![0; INPUT], Vec::new());
    // SETTINGS: INITIAL_WINDOW_SIZE as large as it can be; then the same for the connection.
    frame(SETTINGS, 0, [0; 4], &[0, 4, 0x7f, 0xff, 0xff, 0xff], &mut output);
    frame(WINDOW_UPDATE, 0, [0; 4], &(MOST - 65_535).to_be_bytes(), &mut output);
    let (mut filled, mut skipped, mut taken) = (0, false, 0);
    loop {
        socket.write_all(&output).await?;
        output.clear();
        let read = socket.read(&mut input[filled..]).await?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut rest = &input[..filled];
        if !skipped && rest.len() >= PREFACE {
            rest = &rest[PREFACE..];
            skipped = true;
        }
        while let Some((head, payload, after)) = split(rest) {
            answer(head, payload, &mut output);
            taken += payload.len() as u32;
            rest = after;
        }
        if taken > MOST / 4 {
            frame(WINDOW_UPDATE, 0, [0; 4], &taken.to_be_bytes(), &mut output);
            taken = 0;
        }
        let left = rest.len();
        input.copy_within(filled - left..filled, 0);
        filled = left;
    }
}

/// The first frame's head and payload, and what follows it.
fn split(bytes: &[u8]) -> Option<(&[u8; 9], &[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<9>()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let (payload, after) = rest.split_at_checked(length)?;
    Some((head, payload, after))
}

fn answer(head: &[u8; 9], payload: &[u8], output: &mut Vec<u8>) {
    let [_, _, _, kind, flags, stream @ ..] = *head;
    match kind {
        DATA if flags & END_STREAM != 0 => {
            frame(HEADERS, END_HEADERS, stream, HEAD, output);
            frame(DATA, 0, stream, payload, output);
            frame(HEADERS, END_HEADERS | END_STREAM, stream, TRAILERS, output);
        }
        SETTINGS | PING if flags & ACK == 0 => {
            let answer = if kind == PING { payload } else { &[] };
            frame(kind, ACK, [0; 4], answer, output);
        }
        _ => {}
    }
}

fn frame(kind: u8, flags: u8, stream: [u8; 4], payload: &[u8], out: &mut Vec<u8>) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&[length[1], length[2], length[3], kind, flags]);
    out.extend_from_slice(&stream);
    out.extend_from_slice(payload);
}

#[expect(clippy::print_stderr, reason = "the program's only words, before it ends")]
fn complain(message: &str, code: u8) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(code)
}

/// Frames (RFC 9113 6) and their flags.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// Bytes of the client's preface (RFC 9113 3.4).
const PREFACE: usize = 24;
/// The largest window.
const MOST: u32 = (1 << 31) - 1;
/// Bytes read at once; a frame and its head fit.
const INPUT: usize = 64 << 10;
/// `:status: 200`, `content-type: application/grpc`, nothing of it for the table.
const HEAD: &[u8] = b"\x88\x0f\x10\x10application/grpc";
/// `grpc-status: 0`.
const TRAILERS: &[u8] = b"\x00\x0bgrpc-status\x010";
